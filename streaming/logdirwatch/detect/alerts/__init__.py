"""Alerts: opened, updated and resolved; their evidence and their sentences."""
