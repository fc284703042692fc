"""The demonstration on a real local cluster."""
