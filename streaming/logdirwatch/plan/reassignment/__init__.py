"""Which replicas move where, and the reassignments that run already."""
