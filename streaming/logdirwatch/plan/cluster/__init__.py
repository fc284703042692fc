"""What is known of one cluster: brokers, log directories, replicas and topics as last seen, and where that is read."""
