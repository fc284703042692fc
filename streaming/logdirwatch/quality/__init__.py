"""Data quality of the tables: expectations and their checks."""
