"""The status of clusters: what may be claimed now, how old it is, and its lines."""
