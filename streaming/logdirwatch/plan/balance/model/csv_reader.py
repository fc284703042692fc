"""The CSV format of a cluster: one line per replica.

``broker,rack,disk,capacity_bytes,topic,partition,size_bytes,is_leader``. A directory without replicas has a line whose
last four fields are empty. The lines of a partition are in order of preference.
"""

import codecs
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from logdirwatch.errors import UserError
from logdirwatch.plan.balance.model.cluster import ClusterModel, Flags, Numbers

HEADER = ("broker", "rack", "disk", "capacity_bytes", "topic", "partition", "size_bytes", "is_leader")
_FIRST_LINE = 2
"""The line of the first row: the header is line 1."""
_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
    b"\x1f\x8b": "compressed by gzip",
    b"PK\x03\x04": "a ZIP archive or a spreadsheet",
}
"""The first bytes of other file formats; the first match counts."""
_TEXT = pa.dictionary(pa.int32(), pa.string())


class Refusal(Exception):  # noqa: N818 - it is an answer
    """Why a file is not a model, and in which line; ``line`` None: the file as a whole."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.line = line


class Lines:
    """The non-empty lines of a file; a mask is by line."""

    def __init__(self, path: Path) -> None:
        columns = _columns(path)
        is_filled = np.zeros(len(columns[HEADER[0]]), dtype=np.bool_)
        for column in columns.values():
            is_filled |= _by_word(column, pc.not_equal(column.dictionary, ""))
        self._rows = np.flatnonzero(is_filled)
        self._columns = {name: column.take(pa.array(self._rows)) for name, column in columns.items()}
        for name in HEADER:
            self._refuse_control_characters(name)

    def __len__(self) -> int:
        return len(self._rows)

    def number_of(self, line: int) -> int:
        """Return the line number that an editor shows."""
        return int(self._rows[line]) + _FIRST_LINE

    def word(self, name: str, line: int) -> str:
        """Return one field."""
        return str(self._columns[name][line].as_py())

    def words(self, name: str) -> tuple[Numbers, list[str]]:
        """Return a column: by line the index of its word, and the words."""
        column = self._columns[name]
        return column.indices.to_numpy().astype(np.int64), column.dictionary.to_pylist()

    def is_empty(self, name: str) -> Flags:
        """Return the mask of lines without a value in a column."""
        column = self._columns[name]
        return _by_word(column, pc.equal(column.dictionary, ""))

    def numbers(self, name: str, least: int, most: int, needed: Flags) -> Numbers:
        """Return a column of whole numbers; 0 where none is required."""
        column = self._columns[name]
        is_number = pc.match_substring_regex(column.dictionary, "^[0-9]{1,16}$")
        values = pc.cast(pc.if_else(is_number, column.dictionary, "0"), pa.int64()).to_numpy()
        found: Numbers = np.where(needed, values[column.indices.to_numpy()], 0)
        wrong = ~_by_word(column, is_number) | (found < least) | (found > most)
        self.refuse(
            needed & wrong,
            lambda line: f"{name} is {self.word(name, line)!r}, not a whole number from {least} to {most}",
        )
        return found

    def _refuse_control_characters(self, name: str) -> None:
        column = self._columns[name]
        broken = _by_word(column, pc.match_substring_regex(column.dictionary, "[[:cntrl:]]"))
        self.refuse(broken, lambda line: f"{name} {self.word(name, line)!r} holds a control character")

    def refuse(self, wrong: Flags, reason: Callable[[int], str]) -> None:
        """Raise Refusal for the first line that a mask marks as invalid, if there is one."""
        if wrong.any():
            line = int(np.argmax(wrong))
            raise Refusal(reason(line), self.number_of(line))


def _columns(path: Path) -> dict[str, Any]:
    """Return the columns as dictionary-encoded text; every line is one row, so that a row identifies its line."""
    bad: list[Any] = []

    def skip(row: Any) -> str:
        bad.append(row)
        return "skip"

    try:
        table = csv.read_csv(
            pa.BufferReader(_text(path)),
            read_options=csv.ReadOptions(use_threads=False),
            parse_options=csv.ParseOptions(ignore_empty_lines=False, invalid_row_handler=skip),
            convert_options=csv.ConvertOptions(column_types=dict.fromkeys(HEADER, _TEXT), strings_can_be_null=False),
        )
    except pa.ArrowInvalid as error:
        raise Refusal(str(error).splitlines()[0]) from None
    if tuple(table.column_names) != HEADER:
        raise Refusal(f"the header must be {','.join(HEADER)}", 1)
    if bad:
        fields = "unbalanced quotes" if "\n" in bad[0].text else f"{bad[0].actual_columns} fields"
        raise Refusal(f"{fields}; {len(HEADER)} fields belong there", bad[0].number)
    return {name: table.column(name).combine_chunks() for name in HEADER}


def _text(path: Path) -> bytes:
    """Return a file's bytes; raises Refusal unless they are UTF-8, for which Arrow has many different errors."""
    data = path.read_bytes()
    try:
        data.decode()
    except UnicodeDecodeError as error:
        found = next((name for mark, name in _MARKS.items() if data.startswith(mark)), None)
        if found is not None:
            raise Refusal(f"the file is {found}, not UTF-8 text: write it again as UTF-8") from None
        line = data.count(b"\n", 0, error.start) + 1
        raise Refusal(f"byte 0x{data[error.start]:02x} is not UTF-8: write the file again as UTF-8", line) from None
    return data


def _by_word(column: Any, is_so: Any) -> Flags:
    """Expand values by word to values by row."""
    if not len(column):
        return np.zeros(0, dtype=np.bool_)
    found: Flags = is_so.to_numpy(zero_copy_only=False).astype(np.bool_)[column.indices.to_numpy()]
    return found


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
