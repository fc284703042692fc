"""Kafka clients, their properties, the network below them, and the telemetry topics."""
