"""Maintenance that keeps tables small and fast for years."""
