"""Notifications: which receiver gets which alert, when, and how it is sent."""
