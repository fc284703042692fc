"""One plan for all open alerts of a cluster."""
