"""The base of every section of the configuration."""
