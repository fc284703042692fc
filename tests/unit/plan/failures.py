"""Partitions on the move, under the name that scripts beside this repository import them by."""

from tests.unit.plan.builders import moving

__all__ = ("moving",)
