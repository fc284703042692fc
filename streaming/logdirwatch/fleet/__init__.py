"""Alerts about a whole cluster: what no single broker shows."""
