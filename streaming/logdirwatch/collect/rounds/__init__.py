"""The rounds over one cluster: what is asked how often, and the records made of it."""
