"""Leadership and in-sync replicas: their present state, what a failure or an action changes, how much more may fail."""
