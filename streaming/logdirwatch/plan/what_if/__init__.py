"""What-if scenarios: changes to a cluster tried on its snapshot, one kind of change per module. Pure."""
