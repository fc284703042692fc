"""Times as few spans: only files of these times are read for the rows of a batch."""

from collections.abc import Iterable

from logdirwatch.store.tables import Span

HOUR_MS = 3_600_000
MOST_SPANS = 12


def joined(spans: Iterable[Span]) -> list[Span]:
    """Return spans in order, merging those less than an hour apart, and then the nearest until few are left.

    >>> joined([(10, 20), (0, 5), (10 * 3_600_000, 10 * 3_600_000)])
    [(0, 20), (36000000, 36000000)]
    """
    whole: list[Span] = []
    for low, high in sorted(spans):
        if whole and low - whole[-1][1] < HOUR_MS:
            whole[-1] = (whole[-1][0], max(whole[-1][1], high))
        else:
            whole.append((low, high))
    while len(whole) > MOST_SPANS:
        at = min(range(1, len(whole)), key=lambda place: whole[place][0] - whole[place - 1][1])
        whole[at - 1 : at + 1] = [(whole[at - 1][0], whole[at][1])]
    return whole
