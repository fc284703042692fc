"""The tables, read without Spark: files by their path, or Unity Catalog by a warehouse."""
