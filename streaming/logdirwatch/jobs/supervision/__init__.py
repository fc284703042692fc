"""One query under supervision: its progress, its restarts, its end."""
