"""One streaming query a file: wiring only."""
