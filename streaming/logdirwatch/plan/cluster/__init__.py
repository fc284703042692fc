"""What is known of one cluster: its brokers, log directories, replicas and topics as last seen, and where that is read."""
