"""Watches the log directories of Apache Kafka brokers."""

__version__ = "0.1.0"
