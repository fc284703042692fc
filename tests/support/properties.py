"""How many cases a property draws."""

from typing import Any

from hypothesis import settings

IN_A_SEARCH = 20
"""How many times as many cases as a property names a search draws (make test-search)."""


def examples(number: int, **others: Any) -> settings:
    """Draw up to this many cases in a run that judges a change, always the same ones, and many more in a search."""
    judges = settings.default is not None and settings.default.derandomize
    return settings(max_examples=number if judges else number * IN_A_SEARCH, **others)
