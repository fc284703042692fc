"""The snapshot of one cluster (brokers, log directories, replicas, topics) and how it is loaded."""
