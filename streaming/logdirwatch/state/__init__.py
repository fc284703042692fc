"""How a query's state is serialized."""
