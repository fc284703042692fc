"""Vetoes: why something must not be done; each has a name and a reason."""
