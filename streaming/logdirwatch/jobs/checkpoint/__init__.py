"""Checkpoints that were moved, torn, or written by another release."""
