"""The actions that free space in a filling log directory, in the order in which to carry them out."""
