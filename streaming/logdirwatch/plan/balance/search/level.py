"""Bring the units of a pool into their band with few bytes and few moves.

If more bytes lie above the band than are missing below it, the units above decide what moves, and each gives as little
more than its excess as it can. Bytes beyond the takers' need then cost nothing, up to the difference of the two sums;
this slack is what a move may waste. If more is missing than in excess, it is the other way round.
"""

import heapq
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

import numpy as np

from logdirwatch.plan.balance.model.cluster import Flags, Ratios
from logdirwatch.plan.balance.search.pool import Pool, Stock

_WASTE_RATIO = 0.05
"""The excess over what a unit must give or take, as a share of that, which is accepted for fewer moves."""
_LAST_WASTE = 10
"""How many times as much the last replica of a unit may waste before a wider circle is asked."""
_Offers = Callable[[Stock, float, float, float], Iterator[int]]
_LARGEST = 20
_FULLEST = 40
"""So many replicas of a unit, and so many units, are looked at for one move."""


class Leveller:
    """The single moves of a pool.

    ``circles`` are sets of replicas that may move (masks by replica), each larger than the one before; the last is used
    only if necessary.
    """

    def __init__(self, pool: Pool, circles: Sequence[Flags]) -> None:
        self._pool, self._circles = pool, circles
        self._widest = len(circles) - 1
        self._admitted: int | None = None
        self._waste = _WASTE_RATIO * np.maximum(pool.excess, pool.deficit)

    def stuck(self) -> list[int]:
        """Return the units above their band that single moves cannot bring in."""
        self._admit(self._widest)
        self._admitted = None
        return [unit for unit in np.flatnonzero(self._pool.excess).tolist() if not self._suffices(unit)]

    def match_large(self) -> None:
        """Move replicas larger than the width of a band from units above to units below, the largest first.

        Later the emptiest units are filled with others, and there is no room for these.
        """
        pool = self._pool
        self._admit(0)
        excess, width = pool.excess, pool.high - pool.low
        large = [
            (size, replica, unit)
            for unit in np.flatnonzero(excess).tolist()
            for size, replica in pool.stock[unit]
            if width[unit] < size <= excess[unit] + self._waste[unit]
        ]
        for size, replica, candidate in sorted(large, reverse=True):
            if size <= pool.excess[candidate] + self._waste[candidate]:
                found = pool.taker(replica, candidate, np.where(pool.deficit > 0, pool.high - pool.used, 0))
                if found is not None:
                    pool.move(replica, candidate, *found)

    def run(self) -> None:
        """Bring the units into their band, as far as single moves do."""
        is_short = bool(self._pool.deficit.sum() > self._pool.excess.sum())
        near = range(self._widest)
        for circle in near:
            self._repeat(circle, fills=is_short, is_tight=True)
        for circle in near[-1:]:
            self._repeat(circle, fills=is_short, is_tight=False)
        self._repeat(self._widest, fills=is_short, is_tight=True)
        self._repeat(self._widest, fills=is_short, is_tight=False)
        for circle in (*near[-1:], self._widest):
            self._repeat(circle, fills=not is_short, is_tight=False)

    def _repeat(self, circle: int, *, fills: bool, is_tight: bool) -> None:
        """Let units above the band give, the largest excess first, until each is within it or has nothing left.

        If it ``fills``, let the units below the band take instead, the largest deficit first.
        """
        step = self._take if fills else self._give

        def amounts() -> Ratios:
            return self._pool.deficit if fills else self._pool.excess

        waiting = [(-float(amount), unit) for unit, amount in enumerate(amounts()) if amount > 0]
        heapq.heapify(waiting)
        if waiting and circle != self._admitted:
            self._admit(circle)
        while waiting:
            _, unit = heapq.heappop(waiting)
            if step(unit, is_tight=is_tight) and (left := float(amounts()[unit])) > 0:
                heapq.heappush(waiting, (-left, unit))

    def _admit(self, circle: int) -> None:
        """Let a set of replicas give; for a unit that it cannot bring into its band, the next larger set that can."""
        pool = self._pool
        pool.admit(self._circles[circle])
        self._admitted = circle
        for wider in self._circles[circle + 1 :]:
            lacking = [unit for unit in np.flatnonzero(pool.excess).tolist() if not self._suffices(unit)]
            if lacking:
                stock = pool.stock
                pool.admit(wider)
                for unit in lacking:
                    stock[unit] = pool.stock[unit]
                pool.stock = stock

    def _suffices(self, unit: int) -> bool:
        """Whether what a unit may give, and others have room for, covers its excess."""
        pool = self._pool
        excess = pool.excess[unit]
        most = min(excess + self._waste[unit], (pool.high - pool.used).max())
        return _have_together(pool.stock[unit], bisect_left(pool.stock[unit], (int(most) + 1,)), float(excess))

    def _give(self, candidate: int, *, is_tight: bool) -> bool:
        pool = self._pool
        room = pool.high - pool.used
        if is_tight:
            room = np.minimum(room, pool.deficit + self._waste + self._slack())
        need = float(pool.used[candidate] - pool.high[candidate])
        most = min(float(pool.used[candidate] - pool.low[candidate]), float(room.max()))
        for offers in self._selections(is_tight=is_tight):
            for replica in offers(pool.stock[candidate], need, most, float(self._waste[candidate])):
                found = pool.taker(replica, candidate, room)
                if found is not None:
                    pool.move(replica, candidate, *found)
                    return True
        return False

    def _take(self, taker: int, *, is_tight: bool) -> bool:
        pool = self._pool
        spare = pool.used - pool.low
        if is_tight:
            spare = np.minimum(spare, pool.excess + self._waste + self._slack())
        candidates = np.argsort(-pool.used / pool.capacity)
        candidates = candidates[spare[candidates] > 0][:_FULLEST]
        room = float(pool.high[taker] - pool.used[taker])
        need = float(pool.low[taker] - pool.used[taker])
        for offers in self._selections(is_tight=is_tight):
            for candidate in candidates.tolist():
                most = min(float(spare[candidate]), room)
                for replica in offers(pool.stock[candidate], need, most, float(self._waste[taker])):
                    directory = pool.directory_for(replica, taker)
                    if directory is not None:
                        pool.move(replica, candidate, taker, directory)
                        return True
        return False

    def _selections(self, *, is_tight: bool) -> tuple[_Offers, ...]:
        """Return the ways to choose a replica, best first.

        One that cannot meet a need is skipped while more may be allowed.
        """
        ways = (_last, _enough, self._beyond)
        return ways if is_tight else (*ways, _largest)

    def _slack(self) -> float:
        """Return the bytes by which the larger side exceeds the smaller one."""
        return abs(float(self._pool.excess.sum() - self._pool.deficit.sum()))

    def _beyond(self, stock: Stock, need: float, most: float, waste: float) -> Iterator[int]:
        """Yield replicas that cover a need, the smallest first; in the largest set whatever the waste."""
        return _last(stock, need, most, most if self._admitted == self._widest else waste * _LAST_WASTE)


def _have_together(stock: Stock, end: int, need: float) -> bool:
    """Whether the first replicas of a stock, up to ``end``, have that many bytes together; the largest soon suffice."""
    return need <= 0 or any(total >= need for total in accumulate(size for size, _ in reversed(stock[:end])))


def _enough(stock: Stock, need: float, most: float, waste: float) -> Iterator[int]:
    """Yield replicas smaller than a need, the largest first, if all smaller ones together can cover it."""
    if _have_together(stock, bisect_left(stock, (min(need, most + 1),)), need):
        yield from _largest(stock, need, most, waste)


def _last(stock: Stock, need: float, most: float, waste: float) -> Iterator[int]:
    """Yield replicas that cover a need with little waste, the smallest first."""
    for size, replica in stock[bisect_left(stock, (need,)) :]:
        if size > min(need + waste, most):
            return
        yield replica


def _largest(stock: Stock, need: float, most: float, _: float) -> Iterator[int]:
    """Yield replicas smaller than a need, the largest first."""
    end = bisect_left(stock, (min(need, most + 1),))
    for _, replica in reversed(stock[max(0, end - _LARGEST) : end]):
        yield replica
