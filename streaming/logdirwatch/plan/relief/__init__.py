"""What gives a filling log directory room, in the order in which it is to be carried out."""
