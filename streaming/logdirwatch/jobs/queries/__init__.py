"""One streaming query per file: wiring only."""
