"""Recommendations: pure functions that propose, validate and bound."""
