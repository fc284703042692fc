"""The Spark adapter: state of shards, rows in, records out."""
