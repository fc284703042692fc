"""Capacity for people and programs: what changes would bring, and who uses how much."""
