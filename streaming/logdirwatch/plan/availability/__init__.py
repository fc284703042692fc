"""Who leads, who is in sync, what a failure or an action does to that, and how much more may fail."""
