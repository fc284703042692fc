"""The three balance modes: which units are balanced with each other, around which mean, with which replicas first."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from logdirwatch.plan.balance.model.board import Board
from logdirwatch.plan.balance.model.cluster import ClusterModel, Flags, Numbers
from logdirwatch.plan.balance.model.task import Kind
from logdirwatch.plan.balance.search.attempts import plan_pool
from logdirwatch.plan.balance.search.bands import Band, band
from logdirwatch.plan.balance.search.pool import Pool


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
    by_directory = np.argsort(model.replica_directory, kind="stable")
    starts = np.searchsorted(model.replica_directory[by_directory], np.arange(len(model.capacity_bytes) + 1))
    circles = preferences(model, kind, movable)
    for units in pools(model, kind):
        directories = units_directories(model, kind, units)
        replicas = np.concatenate([by_directory[starts[d] : starts[d + 1]] for unit in directories for d in unit])
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
    order = np.argsort(model.directory_broker, kind="stable")
    starts = np.searchsorted(model.directory_broker[order], np.arange(len(model.broker_ids) + 1))
    own = (order[starts[unit] : starts[unit + 1]] for unit in units)
    return [directories[model.is_open[directories]].tolist() for directories in own]
