"""What becomes of published actions: decisions, progress, their end, and what follows them."""
