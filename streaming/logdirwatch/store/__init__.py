"""Delta tables: schemas, writes, maintenance."""
