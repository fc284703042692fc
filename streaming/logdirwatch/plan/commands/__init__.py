"""Commands of Kafka's own tools, as they are pasted into a shell."""
