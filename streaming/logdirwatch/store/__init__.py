"""Delta tables: definitions, rows, writes, upkeep."""
