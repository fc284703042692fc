"""The three balance modes: which units are balanced with each other, around which mean, with which replicas first."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from logdirwatch.plan.balance.model.board import Board
from logdirwatch.plan.balance.model.cluster import ClusterModel, Flags, Numbers, by_owner
from logdirwatch.plan.balance.model.task import Kind
from logdirwatch.plan.balance.search.exchange import exchange
from logdirwatch.plan.balance.search.level import Leveller
from logdirwatch.plan.balance.search.pool import Band, Pool, band


def goal(model: ClusterModel, kind: Kind, tolerance_ratio: float) -> Band:
    """Return the band of a mode's units: brokers for ``balance-brokers``, else directories.

    Units that take no part are always within it.
    """
    if kind is Kind.BALANCE_BROKERS:
        return band(model.mean_ratio, model.broker_capacity_bytes, tolerance_ratio)
    mean = model.broker_ratios[model.directory_broker] if kind is Kind.BALANCE_DISKS else model.mean_ratio
    found = band(mean, model.capacity_bytes, tolerance_ratio)
    return Band(np.where(model.is_open, found.low_bytes, 0), np.where(model.is_open, found.high_bytes, np.inf))


def balance(board: Board, kind: Kind, tolerance_ratio: float, movable: Flags) -> None:
    """Plan the moves of a mode on a board; ``movable`` is by replica."""
    model = board.model
    band_of_all = goal(model, kind, tolerance_ratio)
    replicas_in = by_owner(model.replica_directory, len(model.capacity_bytes))
    circles = preferences(model, kind, movable)
    for units in pools(model, kind):
        directories = units_directories(model, kind, units)
        replicas = np.concatenate([replicas_in[directory] for unit in directories for directory in unit])
        plan_pool(board, partial(Pool, board, directories, band_of_all.of(units), replicas), circles)


def preferences(model: ClusterModel, kind: Kind, movable: Flags) -> Sequence[Flags]:
    """Return which replicas may move, each set larger than the one before.

    Between brokers followers come first, so that leaders stay; between whole brokers, followers in directories fuller
    than their broker come before all others.
    """
    if kind is Kind.BALANCE_DISKS:
        return [movable]
    followers = movable & ~model.is_leader & ~model.is_preferred
    if kind is Kind.BALANCE_ALL:
        return [followers, movable]
    is_fuller = model.used_ratios >= model.broker_ratios[model.directory_broker]
    return [followers & is_fuller[model.replica_directory], followers, movable]


def pools(model: ClusterModel, kind: Kind) -> list[list[int]]:
    """Return the groups of units that may exchange replicas: brokers, racks, or the whole cluster."""
    group = group_of_units(model, kind)
    takes_part = model.broker_capacity_bytes > 0 if kind is Kind.BALANCE_BROKERS else model.is_open
    return [np.flatnonzero((group == number) & takes_part).tolist() for number in np.unique(group[takes_part])]


def group_of_units(model: ClusterModel, kind: Kind) -> Numbers:
    """Return by unit the number of its group."""
    if kind is Kind.BALANCE_DISKS:
        return model.directory_broker
    if not racks_are_closed(model):
        return np.zeros(len(model.broker_ids if kind is Kind.BALANCE_BROKERS else model.capacity_bytes), dtype=np.int64)
    racks = model.broker_rack
    return racks if kind is Kind.BALANCE_BROKERS else racks[model.directory_broker]


def racks_are_closed(model: ClusterModel) -> bool:
    """Whether no replica can change its rack: every partition has equally many replicas in each rack."""
    racks = len(model.racks)
    if (np.diff(model.partition_starts) < racks).any():
        return False
    pair = model.replica_partition * racks + model.broker_rack[model.replica_broker]
    held = np.bincount(pair, minlength=racks * len(model.partition_topic)).reshape(-1, racks)
    return bool((held == held[:, :1]).all())


def units_directories(model: ClusterModel, kind: Kind, units: Sequence[int]) -> list[list[int]]:
    """Return the directories of each unit that take part."""
    if kind is not Kind.BALANCE_BROKERS:
        return [[unit] for unit in units]
    own = by_owner(model.directory_broker, len(model.broker_ids))
    return [own[unit][model.is_open[own[unit]]].tolist() for unit in units]


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
