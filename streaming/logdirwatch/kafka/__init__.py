"""Reaching a Kafka cluster: clients, their properties, the network below them, the telemetry topics."""
