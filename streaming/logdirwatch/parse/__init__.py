"""Bytes to accepted records or rejected ones, which keep the original bytes and their position."""
