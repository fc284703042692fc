"""Which replicas move where to balance a cluster."""
