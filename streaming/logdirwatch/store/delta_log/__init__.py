"""A table's log in Delta Lake's format: the names of its files, what a complete one has, and the features it names."""
