"""Retention cuts: which limits, which topics, how far, and what must stay."""
