"""The brokers' JMX exporters, an optional source."""
