"""What would happen if: changes of a cluster tried on its snapshot, one kind of change a file. Pure."""
