"""Alerts: their lifecycle, evidence and texts."""
