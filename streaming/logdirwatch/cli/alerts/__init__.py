"""The command alerts, and what people say about alerts."""
