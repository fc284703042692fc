"""Capacity for people and programs: the effect of changes, and the use by topic and owner."""
