"""Sends records to the telemetry cluster, and keeps them while it is down."""
