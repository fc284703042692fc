"""One file a rule: when it fires, and when it ends."""
