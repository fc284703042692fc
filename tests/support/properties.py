"""How many cases a property draws."""

from typing import Any

from hypothesis import settings

IN_A_SEARCH = 10
"""How many times as many cases a search draws (make test-search)."""


def examples(number: int, **others: Any) -> settings:
    """Draw this many cases in a run that judges a change, always the same, and many more in a search."""
    judges = settings.default is not None and settings.default.derandomize
    return settings(max_examples=number if judges else number * IN_A_SEARCH, **others)
