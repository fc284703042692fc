"""Grafana dashboards over the tables, as code: ``python -m dashboards`` writes their JSON."""
