"""How many cases a property draws."""

from typing import Any

from hypothesis import settings

IN_A_JUDGEMENT = 25
"""How many cases a run that judges a change draws at most: always the same ones, so that more of them say little."""
IN_A_SEARCH = 10
"""How many times as many cases as a property names a search draws (make test-search)."""


def examples(number: int, **others: Any) -> settings:
    """Draw up to this many cases in a run that judges a change, and many more in a search."""
    judges = settings.default is not None and settings.default.derandomize
    return settings(max_examples=min(number, IN_A_JUDGEMENT) if judges else number * IN_A_SEARCH, **others)
