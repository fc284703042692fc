"""Commands of Kafka's own tools, ready to be pasted into a shell."""
