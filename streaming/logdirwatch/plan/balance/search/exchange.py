"""The last resort for units outside their band: a single move, or a swap of two replicas.

It must reduce the distance of the two units together from their bands, by at least a tenth of the first unit's. It may
change the destination of moves planned before.
"""

from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from logdirwatch.plan.balance.model.cluster import Flags, Numbers, Ratios
from logdirwatch.plan.balance.search.pool import Flow, Pool, Stock

LEAST_SHARE = 0.1
"""The minimum share of a unit's distance from its band that counts as help."""
_AT_ONCE = 64
_PAIR_ATTEMPTS = 20
"""What looking at two units costs, in attempts to move one replica."""


class _Swaps(NamedTuple):
    """The useful swaps between two units, best first.

    ``off_bytes`` is the distance of both units from their bands after the best one, ``cost_bytes`` what that copies.
    ``given`` are replicas of the giver; ``first`` and ``end`` are for each of them the range of the taker's replicas
    that may come back: 0 is none, 1 the smallest.
    """

    off_bytes: float
    cost_bytes: float
    candidate: int
    taker: int
    flow: Flow
    given: Numbers
    first: Numbers
    end: Numbers


def exchange(pool: Pool, movable: Flags, units: Sequence[int] | None = None) -> None:
    """Plan moves and swaps until none helps any unit of the pool, or one for each of ``units``.

    ``movable`` is by replica.
    """
    if pool.is_balanced or units == []:
        return
    planner = _Exchange(pool, movable)
    if units is None:
        planner.run()
    for unit in units or ():
        planner.help(unit)


class _Exchange:
    def __init__(self, pool: Pool, movable: Flags) -> None:
        self._pool = pool
        self._content = pool.content(movable)
        self._sizes = [_sizes(stock) for stock in self._content]
        """By unit: 0 for no replica, and what it has."""
        self._done = 0
        self._changed = np.zeros(len(pool.units), dtype=np.int64)
        self._given_up = np.full(len(pool.units), -1)
        """By unit: how many swaps were planned when it last changed, and when none with any other unit helped it."""

    def run(self) -> None:
        """Help the units nearest to their band first, since they need the least, until none can be helped."""
        while not self._pool.is_balanced and self._pool.board.attempts_left > 0:
            off = self._pool.excess + self._pool.deficit
            outside = [unit for unit in np.argsort(off, kind="stable").tolist() if off[unit] > 0]
            if sum(self.help(unit) for unit in outside) == 0 and not self._reconsider():
                return

    def _reconsider(self) -> bool:
        """Let units given up before the last swap be tried again, as it may have made room; return whether any were."""
        is_old = (self._given_up >= 0) & (self._given_up < self._done)
        self._given_up[is_old] = -1
        return bool(is_old.any())

    def help(self, unit: int) -> bool:
        """Plan one move or swap for a unit; return False if none helps.

        Of some pairs of units at once, the one that leaves least outside the bands, and of equal ones the cheapest.
        """
        off = float(self._pool.excess[unit] + self._pool.deficit[unit])
        gain = max(1.0, LEAST_SHARE * off)
        pairs = self._pairs(unit, off, gain)
        for begin in range(0, len(pairs), _AT_ONCE):
            if not self._pool.board.spend(_PAIR_ATTEMPTS * len(pairs[begin : begin + _AT_ONCE])):
                return False
            found = [self._swaps(candidate, taker, gain) for candidate, taker in pairs[begin : begin + _AT_ONCE]]
            swaps = sorted((swaps for swaps in found if swaps is not None), key=lambda swaps: swaps[:4])
            if any(self._carry_out(best) for best in swaps):
                return True
        if self._changed[unit] > self._given_up[unit]:
            self._given_up[unit] = self._done
        return False

    def _pairs(self, unit: int, off: float, gain: float) -> list[tuple[int, int]]:
        """Return pairs of giver and taker, including the unit, that can gain enough; those with most room first.

        Pairs that have not changed since nothing helped are left out.
        """
        pool, is_over = self._pool, self._pool.excess[unit] > 0
        room = pool.high - pool.used if is_over else pool.used - pool.low
        most = np.minimum(off, room) + np.minimum(off, pool.deficit if is_over else pool.excess)
        is_new = np.maximum(self._changed, self._changed[unit]) > self._given_up[unit]
        can_help = (most >= gain) & is_new
        can_help[unit] = False
        others = [other for other in np.argsort(-room, kind="stable").tolist() if can_help[other]]
        return [(unit, other) if is_over else (other, unit) for other in others]

    def _swaps(self, candidate: int, taker: int, gain: float) -> _Swaps | None:
        flow = Flow(self._pool.side(candidate), self._pool.side(taker))
        helpful, best = flow.helpful(gain), flow.best()
        if helpful is None:
            return None
        sizes, returned = self._sizes[candidate][1:], self._sizes[taker]
        first = np.searchsorted(returned, sizes - helpful[1], side="left")
        end = np.searchsorted(returned, sizes - helpful[0], side="right")
        given = np.flatnonzero(first < end)
        if not len(given):
            return None
        sizes, first, end = sizes[given], first[given], end[given]
        back = returned[np.clip(np.searchsorted(returned, sizes - best[1]), first, end - 1)]
        off, cost = flow.off_bytes(sizes - back), sizes + back
        order = np.lexsort((cost, off))
        top = order[0]
        return _Swaps(float(off[top]), float(cost[top]), candidate, taker, flow, given[order], first[order], end[order])

    def _carry_out(self, swaps: _Swaps) -> bool:
        """Plan the best swap that space and rules allow, whichever of the two replicas goes first."""
        candidate, taker, flow = swaps.candidate, swaps.taker, swaps.flow
        for given, first, end in zip(swaps.given, swaps.first, swaps.end, strict=True):
            size, replica = self._content[candidate][given]
            if not self._pool.board.spend(1):
                return False
            if not self._may_go(replica, taker):
                continue
            there = (replica, candidate, taker)
            nearest = np.argsort(flow.off_bytes(size - self._sizes[taker][first:end]), kind="stable")
            for at in (first + nearest).tolist():
                if not self._pool.board.spend(1):
                    return False
                back = [(self._content[taker][at - 1][1], taker, candidate)] if at else []
                if back and not self._may_go(back[0][0], candidate):
                    continue
                if self._move_all([there, *back]) or (back and self._move_all([*back, there])):
                    self._done += 1
                    self._changed[[candidate, taker]] = self._done
                    return True
        return False

    def _may_go(self, replica: int, unit: int) -> bool:
        board = self._pool.board
        return board.may_go(replica, board.broker_of[self._pool.units[unit][0]])

    def _move_all(self, steps: list[tuple[int, int, int]]) -> bool:
        """Move each replica from a unit to another, or none of them."""
        undo: list[tuple[int, int, int, int]] = []
        for replica, candidate, taker in steps:
            directory = self._pool.directory_for(replica, taker)
            if directory is None:
                for move in reversed(undo):
                    self._pool.move(*move)
                return False
            undo.append((replica, taker, candidate, self._pool.board.place[replica]))
            self._pool.move(replica, candidate, taker, directory)
        for replica, candidate, taker in steps:
            entry = (self._pool.board.sizes[replica], replica)
            del self._content[candidate][bisect_left(self._content[candidate], entry)]
            insort(self._content[taker], entry)
            for unit in (candidate, taker):
                self._sizes[unit] = _sizes(self._content[unit])
        return True


def _sizes(stock: Stock) -> Ratios:
    return np.array([0, *(size for size, _ in stock)], dtype=np.float64)
