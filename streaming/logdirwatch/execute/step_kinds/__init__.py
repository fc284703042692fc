"""The kinds of steps: what each is, and what to do next about it from what the cluster shows. Pure."""
