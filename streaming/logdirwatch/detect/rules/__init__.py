"""One module per rule: when its alert fires, and when it resolves."""
