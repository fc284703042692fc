"""Watches the log directories of Apache Kafka brokers."""

__version__ = "0.3.0.dev0"
