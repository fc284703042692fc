"""Asking brokers: connections, requests, what they answer, and what one scan's answers amount to."""
