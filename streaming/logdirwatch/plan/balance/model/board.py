"""The place of every replica while a plan is made, and which broker may take which replica.

Every replica moves at most once, so a plan is a set of replicas with their new directories. The rules allow the moves
in any order, or only some of them: a partition is never twice on a broker, nor on fewer racks than before.
"""

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from logdirwatch.plan.balance.model.cluster import ClusterModel

ATTEMPTS, ATTEMPTS_PER_REPLICA = 100_000, 2
"""The attempts of a plan: about half a second for a small model, three for one of 200,000 replicas."""
CLOSED = -1
"""The limit of a directory that takes not even an empty replica."""


class Board:
    """A model's replicas and directories as lists, which are faster than arrays to read and write one by one."""

    def __init__(self, model: ClusterModel, limit_ratio: float) -> None:
        self.model = model
        self.sizes: list[int] = model.replica_bytes.tolist()
        self.used: list[int] = model.used_bytes.tolist()
        self.capacity: list[int] = model.capacity_bytes.tolist()
        self.limits: list[int] = np.where(model.is_open, model.limits_bytes(limit_ratio), CLOSED).tolist()
        """By directory: the bytes that it may hold at any moment."""
        self.broker_of: list[int] = model.directory_broker.tolist()
        self._open: dict[int, list[int]] = defaultdict(list)
        for directory in np.flatnonzero(model.is_open).tolist():
            self._open[self.broker_of[directory]].append(directory)
        self.origin: list[int] = model.replica_directory.tolist()
        """By replica: its directory before the plan."""
        self.place: list[int] = model.replica_directory.tolist()
        """By replica: its directory in the plan."""
        self.moves: dict[int, int] = {}
        """By moved replica, in the order in which they were planned: its new directory."""
        self.has_moved = np.zeros(len(self.place), dtype=np.bool_)
        """By replica: whether it is among the moves."""
        self._partition: list[int] = model.replica_partition.tolist()
        self._starts: list[int] = model.partition_starts.tolist()
        self._slots: list[int] = model.by_partition.tolist()
        self._rack: list[int] = model.broker_rack.tolist()
        self.attempts_left = ATTEMPTS + ATTEMPTS_PER_REPLICA * len(self.place)
        """How many moves and swaps may be tried: rules that forbid nearly all of them must not cost minutes."""
        self._openings: dict[int, tuple[set[int], set[int]]] = {}
        """By replica: :meth:`openings`, until its partition changes."""
        self._no_rack = model.racks.index("") if "" in model.racks else None

    def move(self, replica: int, directory: int) -> None:
        """Plan a replica's new directory, replacing an earlier plan; back in its old one, it is not moved."""
        size = self.sizes[replica]
        for sibling in self._others(replica):
            self._openings.pop(sibling, None)
        self.used[self.place[replica]] -= size
        self.used[directory] += size
        self.place[replica] = directory
        self.moves.pop(replica, None)
        self.has_moved[replica] = directory != self.origin[replica]
        if directory != self.origin[replica]:
            self.moves[replica] = directory

    def spend(self, attempts: int) -> bool:
        """Count attempts; False where none are left."""
        self.attempts_left -= attempts
        return self.attempts_left > 0

    def open_directories(self, broker: int) -> list[int]:
        """Return a broker's directories that take part."""
        return self._open[broker]

    def room(self, directory: int) -> int:
        """Return the bytes that a directory may still take."""
        return self.limits[directory] - self.used[directory]

    def may_go(self, replica: int, broker: int) -> bool:
        """Whether the rules allow a replica on a broker, regardless of space."""
        if broker == self.broker_of[self.origin[replica]]:
            return True
        taken, racks = self.openings(replica)
        return broker not in taken and self._rack[broker] in racks

    def openings(self, replica: int) -> tuple[set[int], set[int]]:
        """Return the brokers that have another replica of the partition, before or in the plan, and the open racks."""
        found = self._openings.get(replica)
        if found is None:
            others, places = self._others(replica), (self.origin, self.place)
            taken = {self.broker_of[of_replica[other]] for other in others for of_replica in places}
            found = self._openings[replica] = taken, self._open_racks(replica)
        return found

    def _open_racks(self, replica: int) -> set[int]:
        """Return the racks that may take a replica: its own, and those with fewer replicas of the partition.

        The order of the moves is open, so the worst is assumed: a replica that moves to the other rack has arrived, one
        that leaves its own is gone. A broker without a rack takes nothing from a rack.
        """
        here = self._rack[self.broker_of[self.origin[replica]]]
        pairs = [(self._rack_of(self.origin[r]), self._rack_of(self.place[r])) for r in self._others(replica)]
        staying = 1 + sum(before == now == here for before, now in pairs)
        held = [rack for pair in pairs for rack in set(pair)]
        racks = {rack for rack in range(len(self.model.racks)) if held.count(rack) < staying}
        return {here} | (racks if here == self._no_rack else racks - {self._no_rack})

    def _others(self, replica: int) -> Iterable[int]:
        partition = self._partition[replica]
        return [r for r in self._slots[self._starts[partition] : self._starts[partition + 1]] if r != replica]

    def _rack_of(self, directory: int) -> int:
        return self._rack[self.broker_of[directory]]
