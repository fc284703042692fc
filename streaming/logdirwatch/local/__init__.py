"""A real JBOD Kafka cluster on this machine, for the demo and the tests."""
