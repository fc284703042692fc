"""The tables, read without Spark: as files, or from Unity Catalog through a SQL warehouse."""
