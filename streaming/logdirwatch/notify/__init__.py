"""From alerts to people: who is told what, when, and the sending of it."""
