"""A real JBOD Kafka cluster on this machine, for the demonstration and the tests of logdirwatch."""
