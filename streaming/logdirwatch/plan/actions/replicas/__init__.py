"""Actions on replicas: where they lie, which are copied, which lead."""
