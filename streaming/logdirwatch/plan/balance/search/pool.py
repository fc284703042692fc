"""Units that are balanced with each other: directories, or whole brokers."""

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from logdirwatch.plan.balance.model.board import Board
from logdirwatch.plan.balance.model.cluster import Flags, Numbers, Ratios

Stock = list[tuple[int, int]]
"""Sizes and replicas, ascending."""


@dataclass(frozen=True, eq=False)
class Band:
    """The range of bytes in which each unit (a directory, or a whole broker) should be; whole numbers as floats."""

    low_bytes: Ratios
    high_bytes: Ratios

    def over_bytes(self, used_bytes: Numbers | Ratios) -> Ratios:
        """Return by unit the bytes above the band."""
        found: Ratios = np.maximum(0.0, used_bytes - self.high_bytes)
        return found

    def under_bytes(self, used_bytes: Numbers | Ratios) -> Ratios:
        """Return by unit the bytes missing below the band."""
        found: Ratios = np.maximum(0.0, self.low_bytes - used_bytes)
        return found

    def of(self, units: list[int]) -> "Band":
        """Return the band of some of the units."""
        return Band(self.low_bytes[units], self.high_bytes[units])


def band(mean_ratio: Ratios | float, capacity_bytes: Numbers, tolerance_ratio: float) -> Band:
    """Return the band around a mean fill ratio, by unit or one for all; the tolerance is a share of the mean."""
    mean_bytes = mean_ratio * capacity_bytes
    return Band(np.ceil(mean_bytes * (1 - tolerance_ratio)), np.floor(mean_bytes * (1 + tolerance_ratio)))


Span = tuple[float, float]
"""The minimum and maximum bytes of a range."""


class Side(NamedTuple):
    """A unit's bytes and its band."""

    used_bytes: float
    low_bytes: float
    high_bytes: float

    def off_bytes(self, more_bytes: float) -> float:
        """Return its distance from the band with ``more_bytes`` added."""
        used = self.used_bytes + more_bytes
        return max(0.0, used - self.high_bytes, self.low_bytes - used)


class Pool:
    """Some units of a board: what each holds, should hold and may give, and which may take a replica."""

    def __init__(self, board: Board, units: Sequence[Sequence[int]], band: Band, replicas: Numbers) -> None:
        """Set up from each unit's directories, the bands and the replicas there; none may be given away yet."""
        self.board, self.units = board, units
        self._band, self.low, self.high = band, band.low_bytes, band.high_bytes
        self.used = np.array([float(sum(board.used[d] for d in unit)) for unit in units])
        self.capacity = np.array([float(sum(board.capacity[d] for d in unit)) for unit in units])
        self.stock: list[Stock] = [[] for _ in units]
        """By unit: what it may give away."""
        self._unit_of = {directory: unit for unit, directories in enumerate(units) for directory in directories}
        owners = np.array([self._unit_of[d] for d in board.model.replica_directory[replicas].tolist()], dtype=np.int64)
        order = np.lexsort((replicas, board.model.replica_bytes[replicas], owners))
        self._replicas = replicas[order]
        self._starts = np.searchsorted(owners[order], np.arange(len(units) + 1))
        brokers = [board.broker_of[directories[0]] for directories in units]
        self._of_broker: dict[int, list[int]] = {}
        for unit, broker in enumerate(brokers):
            self._of_broker.setdefault(broker, []).append(unit)
        self._broker = np.array(brokers)
        self._leads = board.model.is_leader | board.model.is_preferred
        self._rack = board.model.broker_rack[brokers]
        self._has_one_rack = len(np.unique(self._rack)) == 1

    @property
    def excess(self) -> Ratios:
        """By unit: the bytes above its band."""
        return self._band.over_bytes(self.used)

    @property
    def deficit(self) -> Ratios:
        """By unit: the bytes missing below its band."""
        return self._band.under_bytes(self.used)

    @property
    def is_balanced(self) -> bool:
        """Whether every unit is within its band."""
        return bool(((self.low <= self.used) & (self.used <= self.high)).all())

    def side(self, unit: int) -> Side:
        """Return what a unit holds, and its band."""
        return Side(float(self.used[unit]), float(self.low[unit]), float(self.high[unit]))

    def admit(self, movable: Flags) -> None:
        """Allow these replicas to be given away, unless they have moved; ``movable`` is by replica."""
        self.stock = self._resting(movable)

    def content(self, movable: Flags) -> list[Stock]:
        """Return by unit the replicas that are in it now and ``movable`` (by replica)."""
        board, found = self.board, self._resting(movable)
        for replica, directory in board.moves.items():
            unit = self._unit_of.get(directory)
            if unit is not None and movable[replica]:
                insort(found[unit], (board.sizes[replica], replica))
        return found

    def _resting(self, movable: Flags) -> list[Stock]:
        """Return by unit the movable replicas that have not moved."""
        rests = movable[self._replicas] & ~self.board.has_moved[self._replicas]
        replicas = self._replicas[rests]
        entries = list(zip(self.board.model.replica_bytes[replicas].tolist(), replicas.tolist(), strict=True))
        ends = np.concatenate([[0], np.cumsum(rests)])[self._starts].tolist()
        return [entries[start:end] for start, end in pairwise(ends)]

    def taker(self, replica: int, candidate: int, room: Ratios) -> tuple[int, int] | None:
        """Return the emptiest unit with ``room`` (by unit) that may take a replica, and the directory in it.

        A leader stays on its broker if another unit of the broker may take it.
        """
        size = self.board.sizes[replica]
        fits = room >= size
        fits[candidate] = False
        self._keep_rules(fits, replica)
        if self._leads[replica]:
            own = fits & (self._broker == self._broker[candidate])
            fits = own if own.any() else fits
        while fits.any():
            unit = int(np.argmin(np.where(fits, self.used / self.capacity, np.inf)))
            directory = self.directory(unit, size)
            if directory is not None:
                return unit, directory
            fits[unit] = False
        return None

    def directory_for(self, replica: int, unit: int) -> int | None:
        """Return the directory of a unit that takes a replica, None if space or a rule forbids it."""
        directory = self.directory(unit, self.board.sizes[replica])
        if directory is None or not self.board.may_go(replica, self.board.broker_of[directory]):
            return None
        return directory

    def directory(self, unit: int, size_bytes: int) -> int | None:
        """Return the directory of a unit that is emptiest with ``size_bytes`` more, None if none has room."""
        board = self.board
        fitting = [d for d in self.units[unit] if board.room(d) >= size_bytes]
        return min(fitting, key=lambda d: (board.used[d] + size_bytes) / board.capacity[d], default=None)

    def move(self, replica: int, candidate: int, taker: int, directory: int) -> None:
        """Plan a move between two units; the replica leaves :attr:`stock`, so it is not given away again."""
        size = self.board.sizes[replica]
        at = bisect_left(self.stock[candidate], (size, replica))
        if self.stock[candidate][at : at + 1] == [(size, replica)]:
            del self.stock[candidate][at]
        self.board.move(replica, directory)
        self.used[candidate] -= size
        self.used[taker] += size

    def _keep_rules(self, fits: Flags, replica: int) -> None:
        if len(self._of_broker) == 1:
            return
        taken, racks = self.board.openings(replica)
        for broker in taken:
            fits[self._of_broker.get(broker, [])] = False
        if not self._has_one_rack:
            is_open = np.zeros(len(self.board.model.racks), dtype=np.bool_)
            is_open[list(racks)] = True
            fits &= is_open[self._rack]


def lower_bound_bytes(used_bytes: Numbers, goal: Band, group: Numbers) -> int:
    """Return the fewest bytes that bring all units into their band if replicas stay in their group of units.

    Bytes above a band must leave, bytes missing below one must come, and one copied byte can do both: so the larger of
    the two sums in each group. ``group`` is by unit.
    """
    over, under = (
        np.bincount(group, amounts) for amounts in (goal.over_bytes(used_bytes), goal.under_bytes(used_bytes))
    )
    return int(np.maximum(over, under).sum())


class Flow:
    """Bytes that may go from one unit to another."""

    def __init__(self, candidate: Side, taker: Side) -> None:
        bends = {0.0, candidate.used_bytes - candidate.high_bytes, candidate.used_bytes - candidate.low_bytes}
        bends |= {taker.low_bytes - taker.used_bytes, taker.high_bytes - taker.used_bytes}
        known = sorted(bend for bend in bends if bend >= 0)
        # Behind the last bend both leave their bands, so that the function is back at its first value soon.
        known.append(known[-1] + candidate.off_bytes(0) + taker.off_bytes(0) + 1)
        self._bends = [(bend, candidate.off_bytes(-bend) + taker.off_bytes(bend)) for bend in known]

    def off_bytes(self, flowing_bytes: Ratios) -> Ratios:
        """Return the distance of both together once that many bytes have moved."""
        found: Ratios = np.interp(flowing_bytes, [bend for bend, _ in self._bends], [off for _, off in self._bends])
        return found

    def best(self) -> Span:
        """Return the range of bytes that leaves both with the least distance."""
        return self._at_most(min(off for _, off in self._bends)) or (0.0, 0.0)

    def helpful(self, gain_bytes: float) -> Span | None:
        """Return the range of bytes that reduces the distance by at least ``gain_bytes``; None if there is none."""
        return self._at_most(self._bends[0][1] - gain_bytes)

    def _at_most(self, level: float) -> Span | None:
        inside = [number for number, (_, off) in enumerate(self._bends) if off <= level]
        if not inside:
            return None
        first, last = inside[0], inside[-1]
        begins = self._bends[0][0] if first == 0 else self._crossing(first - 1, level)
        return begins, self._bends[-1][0] if last + 1 == len(self._bends) else self._crossing(last, level)

    def _crossing(self, bend: int, level: float) -> float:
        (left, off), (right, off_right) = self._bends[bend : bend + 2]
        return left + (right - left) * (level - off) / (off_right - off)
