"""How a query's state is written down and read."""
