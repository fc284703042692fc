"""The Spark side: state of shards, rows in, records out."""
