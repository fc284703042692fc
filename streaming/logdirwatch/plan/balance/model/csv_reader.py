"""The CSV format of a cluster: one line per replica.

``broker,rack,disk,capacity_bytes,topic,partition,size_bytes,is_leader``. A directory without replicas has a line whose
last four fields are empty. The lines of a partition are in order of preference.
"""

from pathlib import Path

import numpy as np

from logdirwatch.errors import UserError
from logdirwatch.plan.balance.model.cluster import ClusterModel, Flags, Numbers
from logdirwatch.plan.balance.model.csv_lines import HEADER, Lines, Refusal

_INT32_MAX = 2**31 - 1
_BYTES_MAX = 2**53
"""Nine petabytes in one directory: a larger number is invalid."""


def read_model(path: Path) -> ClusterModel:
    """Read a cluster; raises UserError with the line number if the file is invalid."""
    try:
        return _Reader(Lines(path)).model()
    except OSError as error:
        raise UserError(f"plan: {path}: {(error.strerror or str(error)).splitlines()[0]}") from None
    except Refusal as refusal:
        where = "" if refusal.line is None else f" line {refusal.line}"
        raise UserError(f"plan: {path}{where}: {refusal}") from None


class _Reader:
    """Turns lines into arrays; each step rejects what only it can see. ``_broker``, ... are by line."""

    def __init__(self, lines: Lines) -> None:
        if not len(lines):
            raise Refusal("no line behind the header: a cluster has directories")
        self._lines = lines
        self._is_replica = ~lines.is_empty("topic")
        self._replica_lines = np.flatnonzero(self._is_replica)
        self._refuse_half_a_replica()

    def model(self) -> ClusterModel:
        broker_ids, broker = self._brokers()
        racks, broker_rack = self._racks(broker)
        paths, directory_broker, capacity, directory = self._directories(broker)
        topics, partition_topic, partition_numbers, partition = self._partitions()
        at = self._replica_lines
        model = ClusterModel(
            broker_ids=broker_ids,
            racks=racks,
            broker_rack=broker_rack,
            directory_paths=paths,
            directory_broker=directory_broker,
            capacity_bytes=capacity,
            topics=topics,
            partition_topic=partition_topic,
            partition_numbers=partition_numbers,
            replica_partition=partition,
            replica_directory=directory[at],
            replica_bytes=self._lines.numbers("size_bytes", 0, _BYTES_MAX, self._is_replica)[at],
            is_leader=self._lines.numbers("is_leader", 0, 1, self._is_replica)[at] == 1,
        )
        self._refuse_repeated(model)
        self._refuse_overfull(model)
        return model

    def _refuse_half_a_replica(self) -> None:
        for name in HEADER[5:]:
            self._lines.refuse(
                ~self._is_replica & ~self._lines.is_empty(name),
                lambda _, name=name: f"{name} without a topic; a directory without replicas has neither",  # type: ignore[misc]
            )

    def _brokers(self) -> tuple[Numbers, Numbers]:
        everywhere = np.ones(len(self._lines), dtype=np.bool_)
        return np.unique(self._lines.numbers("broker", 0, _INT32_MAX, everywhere), return_inverse=True)

    def _racks(self, broker: Numbers) -> tuple[tuple[str, ...], Numbers]:
        rack, names = self._lines.words("rack")
        _, first = np.unique(broker, return_index=True)
        self._lines.refuse(
            rack != rack[first][broker],
            lambda line: (
                f"broker {self._of(line, 'broker')} is in rack {self._of(line, 'rack')!r} here and in rack "
                f"{self._of(first[broker[line]], 'rack')!r} in line {self._lines.number_of(first[broker[line]])}"
            ),
        )
        used, broker_rack = np.unique(rack[first], return_inverse=True)
        return tuple(names[word] for word in used), broker_rack

    def _directories(self, broker: Numbers) -> tuple[tuple[str, ...], Numbers, Numbers, Numbers]:
        self._lines.refuse(self._lines.is_empty("disk"), lambda _: "disk is empty: which directory?")
        everywhere = np.ones(len(self._lines), dtype=np.bool_)
        capacity = self._lines.numbers("capacity_bytes", 1, _BYTES_MAX, everywhere)
        disk, names = self._lines.words("disk")
        rank = np.argsort(np.argsort(np.array(names)))
        _, first, directory = np.unique(broker * len(names) + rank[disk], return_index=True, return_inverse=True)
        self._lines.refuse(
            capacity != capacity[first][directory],
            lambda line: (
                f"{self._of(line, 'disk')} of broker {self._of(line, 'broker')} has {capacity[line]} bytes here "
                f"and {capacity[first[directory[line]]]} in line {self._lines.number_of(first[directory[line]])}"
            ),
        )
        return tuple(names[code] for code in disk[first]), broker[first], capacity[first], directory

    def _partitions(self) -> tuple[tuple[str, ...], Numbers, Numbers, Numbers]:
        """Return the topics' names, the topic and number of each partition, and the partition of each replica."""
        number = self._lines.numbers("partition", 0, _INT32_MAX, self._is_replica)[self._replica_lines]
        word, names = self._lines.words("topic")
        used, topic = np.unique(word[self._replica_lines], return_inverse=True)
        keys, partition = np.unique(topic * (_INT32_MAX + 1) + number, return_inverse=True)
        return tuple(names[code] for code in used), keys // (_INT32_MAX + 1), keys % (_INT32_MAX + 1), partition

    def _refuse_repeated(self, model: ClusterModel) -> None:
        by_broker = model.replica_partition * len(model.broker_ids) + model.replica_broker
        self._refuse_second(by_broker, "is on broker {broker} twice")
        leading = np.where(model.is_leader, model.replica_partition, -1 - np.arange(len(model.is_leader)))
        self._refuse_second(leading, "has two leaders")

    def _refuse_second(self, key: Numbers, what: str) -> None:
        """Reject the first replica whose key occurred before."""
        _, first, again = np.unique(key, return_index=True, return_inverse=True)
        earlier = self._replica_lines[first[again]]

        def reason(line: int) -> str:
            before = earlier[np.searchsorted(self._replica_lines, line)]
            said = what.format(broker=self._of(line, "broker"))
            name = f"{self._of(line, 'topic')}-{self._of(line, 'partition')}"
            return f"{name} {said}: also in line {self._lines.number_of(before)}"

        self._lines.refuse(self._by_line(earlier != self._replica_lines), reason)

    def _refuse_overfull(self, model: ClusterModel) -> None:
        """Reject the replica with which its directory exceeds its capacity."""
        order = np.argsort(model.replica_directory, kind="stable")
        owner = model.replica_directory[order]
        running = np.cumsum(model.replica_bytes[order])
        starts = np.searchsorted(owner, np.arange(len(model.capacity_bytes)))
        before = np.concatenate([[0], running])[starts]
        is_over = np.zeros(len(owner), dtype=np.bool_)
        is_over[order] = running - before[owner] > model.capacity_bytes[owner]
        self._lines.refuse(
            self._by_line(is_over),
            lambda line: (
                f"with this replica {self._of(line, 'disk')} of broker {self._of(line, 'broker')} holds more "
                f"than its {self._of(line, 'capacity_bytes')} bytes"
            ),
        )

    def _by_line(self, is_so: Flags) -> Flags:
        found = np.zeros(len(self._lines), dtype=np.bool_)
        found[self._replica_lines] = is_so
        return found

    def _of(self, line: int, name: str) -> str:
        return self._lines.word(name, line)
