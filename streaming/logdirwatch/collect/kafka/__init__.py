"""Querying brokers: connections, requests, responses, and what the answers of one scan show."""
