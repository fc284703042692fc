"""The command alerts, and decisions about alerts."""
