"""Actions on replicas: where they are stored, which are copied, which lead."""
