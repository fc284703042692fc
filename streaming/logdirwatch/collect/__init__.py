"""Brokers to records: asks every broker on its own and writes what it said, errors included."""
