"""The rounds over one cluster: which requests are made how often, and the records built from the answers."""
