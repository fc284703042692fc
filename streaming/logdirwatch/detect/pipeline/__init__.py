"""What logdirwatch tells of itself: its queries and its heartbeats."""
