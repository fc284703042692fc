"""How many cases a property draws."""

from typing import Any

from hypothesis import settings

USUAL = 25
"""What a property draws that names no number, where planted defects are counted (make mutate)."""


def examples(number: int, **others: Any) -> settings:
    """Draw up to this many cases where planted defects are counted, and elsewhere as the profile's share is."""
    drawn = settings().max_examples
    return settings(max_examples=max(1, number * drawn // USUAL), **others)
