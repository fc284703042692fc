"""The history of log directories that a Prometheus server has."""
