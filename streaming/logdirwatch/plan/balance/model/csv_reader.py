"""The CSV format of a cluster: one line per replica.

``broker,rack,disk,capacity_bytes,topic,partition,size_bytes,is_leader``. A directory without replicas has a line whose
last four fields are empty. The lines of a partition are in order of preference.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path

from logdirwatch.errors import UserError
from logdirwatch.plan.balance.model.cluster import ClusterModel, Placed
from logdirwatch.plan.cluster.layout import Key, LogDirId, TopicPartition, Value

HEADER = ("broker", "rack", "disk", "capacity_bytes", "topic", "partition", "size_bytes", "is_leader")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NUMBER = re.compile(r"[0-9]{1,16}")
_INT32_MAX = 2**31 - 1
_BYTES_MAX = 2**53
"""Nine petabytes in one directory: a larger number is invalid."""


class Refusal(Exception):  # noqa: N818 - it is an answer
    """Why a file is not a model, and in which line; ``line`` None: the file as a whole."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.line = line


def read_model(path: Path) -> ClusterModel:
    """Read a cluster; raises UserError with the line number if the file is invalid."""
    try:
        return _Reader().read(_text(path))
    except OSError as error:
        raise UserError(f"plan: {path}: {(error.strerror or str(error)).splitlines()[0]}") from None
    except Refusal as refusal:
        where = "" if refusal.line is None else f" line {refusal.line}"
        raise UserError(f"plan: {path}{where}: {refusal}") from None


def _text(path: Path) -> str:
    data = path.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Refusal(f"byte 0x{data[error.start]:02x} is not UTF-8: write the file again as UTF-8", line) from None


def _lines(text: str) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield the lines with a value behind the header, each with the number at which an editor shows its beginning."""
    reader, line = csv.reader(StringIO(text, newline=""), strict=True), 1
    try:
        for fields in reader:
            if line == 1 and tuple(fields) != HEADER:
                raise Refusal(f"the header must be {','.join(HEADER)}", 1)
            if fields and len(fields) != len(HEADER):
                raise Refusal(f"{len(fields)} fields; {len(HEADER)} fields belong there", line)
            if line > 1 and any(fields):
                yield line, fields
            line = reader.line_num + 1
    except csv.Error as error:
        raise Refusal(f"unbalanced quotes ({error}); {len(HEADER)} fields belong there", line) from None
    if line == 1:
        raise Refusal("Empty CSV file")


class _Reader:
    """Reads lines; what must be the same in several of them is kept with the first line that says it."""

    def __init__(self) -> None:
        self._line, self._fields = 0, dict[str, str]()
        self._racks: dict[int, tuple[str, int]] = {}
        self._capacity: dict[LogDirId, tuple[int, int]] = {}
        self._on_broker: dict[tuple[TopicPartition, int], int] = {}
        self._led: dict[TopicPartition, int] = {}
        self._used: Counter[LogDirId] = Counter()

    def read(self, text: str) -> ClusterModel:
        found = []
        for self._line, fields in _lines(text):
            self._fields = dict(zip(HEADER, fields, strict=True))
            self._refuse_control_characters()
            place = self._directory()
            if self._fields["topic"]:
                found.append(self._replica(place))
            elif rest := next((name for name in HEADER[5:] if self._fields[name]), None):
                raise self._refused(f"{rest} without a topic; a directory without replicas has neither")
        if not self._racks:
            raise Refusal("no line behind the header: a cluster has directories")
        return ClusterModel.of(_first(self._racks), _first(self._capacity), found)

    def _refused(self, reason: str) -> Refusal:
        return Refusal(reason, self._line)

    def _refuse_control_characters(self) -> None:
        if _CONTROL.search("".join(self._fields.values())):
            name, value = next(pair for pair in self._fields.items() if _CONTROL.search(pair[1]))
            raise self._refused(f"{name} {value!r} holds a control character")

    def _number(self, name: str, least: int, most: int) -> int:
        text = self._fields[name]
        if not _NUMBER.fullmatch(text) or not least <= int(text) <= most:
            raise self._refused(f"{name} is {text!r}, not a whole number from {least} to {most}")
        return int(text)

    def _directory(self) -> LogDirId:
        rack, path = self._fields["rack"], self._fields["disk"]
        broker, capacity = self._number("broker", 0, _INT32_MAX), self._number("capacity_bytes", 1, _BYTES_MAX)
        if not path:
            raise self._refused("disk is empty: which directory?")
        known_rack, line = self._racks.setdefault(broker, (rack, self._line))
        if known_rack != rack:
            raise self._refused(f"broker {broker} is in rack {rack!r} here and in rack {known_rack!r} in line {line}")
        known, line = self._capacity.setdefault((broker, path), (capacity, self._line))
        if known != capacity:
            raise self._refused(f"{path} of broker {broker} has {capacity} bytes here and {known} in line {line}")
        return broker, path

    def _replica(self, place: LogDirId) -> Placed:
        key = self._fields["topic"], self._number("partition", 0, _INT32_MAX)
        size, leads = self._number("size_bytes", 0, _BYTES_MAX), self._number("is_leader", 0, 1) == 1
        label, (broker, path) = f"{key[0]}-{key[1]}", place
        if (line := self._on_broker.setdefault((key, broker), self._line)) != self._line:
            raise self._refused(f"{label} is on broker {broker} twice: also in line {line}")
        if leads and (line := self._led.setdefault(key, self._line)) != self._line:
            raise self._refused(f"{label} has two leaders: also in line {line}")
        self._used[place] += size
        if self._used[place] > (most := self._capacity[place][0]):
            raise self._refused(f"with this replica {path} of broker {broker} holds more than its {most} bytes")
        return Placed(key, place, size, leads)


def _first(known: Mapping[Key, tuple[Value, int]]) -> dict[Key, Value]:
    return {key: value for key, (value, _) in known.items()}
