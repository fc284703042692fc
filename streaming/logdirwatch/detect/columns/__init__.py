"""Brokers at rest, judged together: their numbers as columns, instead of a memory for each."""
