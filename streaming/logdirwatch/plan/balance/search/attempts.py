"""Plan a pool, and plan it again in other ways if that took many bytes."""

from collections.abc import Callable, Sequence

from logdirwatch.plan.balance.model.board import Board
from logdirwatch.plan.balance.model.cluster import Flags
from logdirwatch.plan.balance.search.exchange import exchange
from logdirwatch.plan.balance.search.level import Leveller
from logdirwatch.plan.balance.search.pool import Pool

CHEAP_RATIO = 1.01
"""A share of the lower bound: a plan above it is worth another attempt."""
MOST_UNITS = 1_000
"""Another attempt at a larger pool takes longer than it saves bytes."""


def plan_pool(board: Board, make_pool: Callable[[], Pool], circles: Sequence[Flags]) -> None:
    """Plan the moves that bring a pool into its bands; ``make_pool`` returns the pool as it is on the board.

    ``circles`` as for :class:`Leveller`. Of up to three attempts it keeps the one that leaves least outside the bands,
    and among equals the cheapest: the default order; the largest replicas first; and swaps before moves, for units that
    single moves cannot bring in.
    """
    known = set(board.moves)
    tries: list[tuple[float, int, dict[int, int]]] = []
    for attempt in (_plain, _large_first, _swaps_first):
        pool = make_pool()
        if pool.is_balanced:
            return
        bound = float(max(pool.excess.sum(), pool.deficit.sum()))
        attempt(pool, circles)
        moves = {replica: directory for replica, directory in board.moves.items() if replica not in known}
        cost = sum(board.sizes[replica] for replica in moves)
        tries.append((float(pool.excess.sum() + pool.deficit.sum()), cost, moves))
        for replica in moves:
            board.move(replica, board.origin[replica])
        if cost <= CHEAP_RATIO * bound or len(pool.units) > MOST_UNITS:
            break
    for replica, directory in min(tries, key=lambda made: made[:2])[2].items():
        board.move(replica, directory)


def _plain(pool: Pool, circles: Sequence[Flags]) -> None:
    Leveller(pool, circles).run()
    exchange(pool, circles[-1])


def _large_first(pool: Pool, circles: Sequence[Flags]) -> None:
    Leveller(pool, circles).match_large()
    _plain(pool, circles)


def _swaps_first(pool: Pool, circles: Sequence[Flags]) -> None:
    exchange(pool, circles[-1], Leveller(pool, circles).stuck())
    _large_first(pool, circles)
