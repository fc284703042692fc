"""The sources of the reading commands: topics, tables, and a cluster itself."""
