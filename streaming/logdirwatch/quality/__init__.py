"""What must hold of the tables, and looking whether it does."""
