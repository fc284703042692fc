"""Where every replica is while a plan grows, and which broker may take which.

Every replica moves at most once, so a plan is some replicas and their new directories. The rules are such that the
moves may be carried out in any order, or only some of them: no partition is ever twice on a broker, or on fewer racks
than before.
"""

from collections.abc import Iterable

import numpy as np

from logdirwatch.plan.balance.model import ClusterModel

CLOSED = -1
"""The limit of a directory that not even an empty replica goes to."""


class Board:
    """A model's replicas and directories as lists, which single steps read and write faster than arrays."""

    def __init__(self, model: ClusterModel, limit_ratio: float) -> None:
        self.model = model
        self.sizes: list[int] = model.replica_bytes.tolist()
        self.used: list[int] = model.used_bytes.tolist()
        self.capacity: list[int] = model.capacity_bytes.tolist()
        self.limits: list[int] = [
            max(int(limit_ratio * capacity), used) if is_open else CLOSED
            for capacity, used, is_open in zip(self.capacity, self.used, model.is_open.tolist(), strict=True)
        ]
        """By directory: the bytes that it may hold at any moment."""
        self.broker_of: list[int] = model.directory_broker.tolist()
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
        self._no_rack = model.racks.index("") if "" in model.racks else None

    def move(self, replica: int, directory: int) -> None:
        """Plan a replica's new directory in place of the one planned before; back where it was it is not moved."""
        size = self.sizes[replica]
        self.used[self.place[replica]] -= size
        self.used[directory] += size
        self.place[replica] = directory
        self.moves.pop(replica, None)
        self.has_moved[replica] = directory != self.origin[replica]
        if directory != self.origin[replica]:
            self.moves[replica] = directory

    def room(self, directory: int) -> int:
        """Return the bytes that a directory may still take."""
        return self.limits[directory] - self.used[directory]

    def may_go(self, replica: int, broker: int) -> bool:
        """Whether the rules allow a replica on a broker; space is not looked at."""
        if broker == self.broker_of[self.origin[replica]]:
            return True
        return broker not in self.taken_brokers(replica) and self._rack[broker] in self.open_racks(replica)

    def taken_brokers(self, replica: int) -> set[int]:
        """Return the brokers that have another replica of the partition, before the plan or in it."""
        return {self.broker_of[places[r]] for r in self._others(replica) for places in (self.origin, self.place)}

    def open_racks(self, replica: int) -> set[int]:
        """Return the racks that may take a replica: its own, and those with fewer replicas of the partition.

        Counted against the move, since the order of the moves is open: what comes to the other rack is there already,
        what leaves its own is gone. A broker without a rack takes nothing from a rack.
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
