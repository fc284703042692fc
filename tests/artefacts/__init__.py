"""What is published, installed and started from nothing but itself: it tells of a broken disk."""
