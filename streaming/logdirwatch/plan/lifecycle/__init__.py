"""Published actions: decisions, progress, how they end, and follow-ups."""
