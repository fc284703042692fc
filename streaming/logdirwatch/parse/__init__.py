"""Parses bytes to accepted or rejected records; rejected ones keep the original bytes and their position."""
