"""Which replicas move where, and the reassignments that are running."""
