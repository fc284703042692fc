"""What the reading commands read: topics, tables, a cluster itself."""
