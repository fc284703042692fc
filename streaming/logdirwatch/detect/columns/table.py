"""The table of a shard's brokers at rest: their numbers, and who of a batch is still at rest."""

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
from msgspec import Struct

from logdirwatch import __version__
from logdirwatch.detect import brokers
from logdirwatch.detect.columns import judgement
from logdirwatch.detect.columns.answers import Limits, fingerprint, has_new_gauges, polls_of
from logdirwatch.detect.columns.calm import is_calm, is_noted
from logdirwatch.detect.columns.rows import NONE, OF_BROKER, OF_LOG_DIR, Row, Rows, put_back, taken
from logdirwatch.detect.observations import Sample
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.state.broker_state import BrokerMemory
from logdirwatch.model.records import MetricsRecord

UNKNOWN = b""


class StoredRows(Struct):
    """Brokers with equally many directories as they are stored: column after column, which compresses well."""

    log_dirs: int
    brokers: list[int]
    fingerprints: list[bytes]
    of_broker: bytes
    of_log_dir: bytes


class _Group:
    """The rows of brokers with equally many directories; those of brokers that left are free for others."""

    def __init__(self, log_dirs: int) -> None:
        self.of_broker: Rows = np.zeros(0, OF_BROKER)
        self.of_log_dir: Rows = np.zeros((0, log_dirs), OF_LOG_DIR)
        self.row_of: dict[int, int] = {}
        self.free: list[int] = []

    def put(self, broker: int, of_broker: Row, of_log_dir: list[Row]) -> None:
        row = self.row_of[broker] = self._new_row()
        self.of_broker[row], self.of_log_dir[row] = of_broker, of_log_dir

    def _new_row(self) -> int:
        if not self.free:
            known = len(self.of_broker)
            more = max(known, 64)
            self.of_broker = np.concatenate([self.of_broker, np.zeros(more, OF_BROKER)])
            added = np.zeros((more, self.of_log_dir.shape[1]), OF_LOG_DIR)
            self.of_log_dir = np.concatenate([self.of_log_dir, added])
            self.free = list(range(known + more - 1, known - 1, -1))
        return self.free.pop()

    def remove(self, broker: int) -> None:
        self.free.append(self.row_of.pop(broker))


class Table:
    """The brokers of a shard that are at rest.

    If those that are stored are not trusted, since other settings or another release found them to be at rest, each of
    them is judged again.
    """

    def __init__(self, settings: DetectSettings, stored: Iterable[StoredRows] = (), *, is_trusted: bool = True) -> None:
        self._settings = settings
        self._limits = Limits(settings)
        self._groups: dict[int, _Group] = {}
        self._fingerprints: dict[int, tuple[int, bytes]] = {}
        for rows in stored:
            self._groups[rows.log_dirs] = _group(rows)
            digests = rows.fingerprints if is_trusted else [UNKNOWN] * len(rows.brokers)
            of_brokers = zip(rows.brokers, digests, strict=True)
            self._fingerprints |= {broker: (rows.log_dirs, digest) for broker, digest in of_brokers}

    def stored(self) -> list[StoredRows]:
        """Return the table as it is stored."""
        return [_stored(group, self._fingerprints) for group in self._groups.values() if group.row_of]

    def complete(self, memory: BrokerMemory) -> None:
        """Set the numbers of a stored memory to those of its broker's rows, if it has any."""
        if memory.broker in self._fingerprints:
            group, row = self._at(memory.broker)
            put_back(memory, group.of_broker[row], group.of_log_dir[row])

    def keep(self, memory: BrokerMemory, last: Sample | None) -> None:
        """Take a memory's numbers if its broker is at rest; ``last`` is its last sample, None without a new one."""
        broker = memory.broker
        digest, partition = self._of_last(broker) if last is None else (fingerprint(last.record), last.origin.partition)
        self.remove(broker)
        if not digest or not is_calm(memory, partition, self._settings):
            return
        if last is None or is_noted(memory, last.record):
            log_dirs = len(memory.log_dirs)
            group = self._groups.setdefault(log_dirs, _Group(log_dirs))
            group.put(broker, *taken(memory, partition))
            self._fingerprints[broker] = log_dirs, digest

    def _of_last(self, broker: int) -> tuple[bytes, int]:
        if broker not in self._fingerprints:
            return UNKNOWN, NONE
        group, row = self._at(broker)
        return self._fingerprints[broker][1], int(group.of_broker["partition"][row])

    def remove(self, broker: int) -> None:
        """Forget the rows of a broker."""
        if broker in self._fingerprints:
            log_dirs, _ = self._fingerprints.pop(broker)
            self._groups[log_dirs].remove(broker)

    def wrote(self, memory: BrokerMemory) -> None:
        """Note that the state of a broker at rest was written."""
        group, row = self._at(memory.broker)
        group.of_broker["sequence"][row], group.of_broker["emitted_ms"][row] = memory.sequence, memory.emitted_ms

    def timer_ms(self, broker: int) -> int | None:
        """Return when the timer of a broker fires that waits only to be silent; None for any other broker.

        If the state is always written again, a timer writes it too.
        """
        if not self._fingerprints.get(broker, (0, UNKNOWN))[1] or not self._settings.state_refresh_ms:
            return None
        group, row = self._at(broker)
        return int(group.of_broker["timer_ms"][row])

    def set_timer(self, broker: int, timer_ms: int) -> None:
        """Note when the timer of a broker at rest fires."""
        group, row = self._at(broker)
        group.of_broker["timer_ms"][row] = timer_ms

    def silent_from_ms(self, broker: int) -> int:
        """Return from when on a broker at rest is silent, if nothing more is heard of it."""
        group, row = self._at(broker)
        heard_ms, interval_ms = group.of_broker["heard_ms"][row], group.of_broker["interval_ms"][row]
        return int(heard_ms) + brokers.silent_after_ms(int(interval_ms), self._settings)

    def advance(self, samples: Iterable[Sample], now_ms: int) -> dict[int, bool]:
        """Take one sample of each of some brokers.

        Return those that are at rest, whose numbers are changed, and whether the state of each is due to be written.
        """
        asked: dict[int, list[Sample]] = {}
        for sample in samples:
            if (log_dirs := self._asked(sample.record)) is not None:
                asked.setdefault(log_dirs, []).append(sample)
        found: dict[int, bool] = {}
        for log_dirs, of_group in asked.items():
            found |= self._advance(self._groups[log_dirs], of_group, now_ms)
        return found

    def _asked(self, record: MetricsRecord) -> int | None:
        """Return the number of directories of a broker whose answer may change only its numbers."""
        log_dirs, digest = self._fingerprints.get(record.broker, (0, UNKNOWN))
        if not digest or log_dirs != len(record.log_dirs) or has_new_gauges(record):
            return None
        return log_dirs if fingerprint(record) == digest else None

    def _advance(self, group: _Group, samples: list[Sample], now_ms: int) -> dict[int, bool]:
        settings, names = self._settings, [sample.record.broker for sample in samples]
        rows = np.array([group.row_of[broker] for broker in names])
        of_broker, of_log_dir = group.of_broker[rows], group.of_log_dir[rows]
        polls, is_exact = polls_of(samples)
        limits = self._limits.of(samples)
        at_rest = is_exact & judgement.advance(of_broker, of_log_dir, polls, limits, now_ms, settings)
        group.of_broker[rows[at_rest]], group.of_log_dir[rows[at_rest]] = of_broker[at_rest], of_log_dir[at_rest]
        are_due = judgement.are_due(of_broker, settings)
        return {
            broker: is_due
            for broker, rests, is_due in zip(names, at_rest.tolist(), are_due.tolist(), strict=True)
            if rests
        }

    def _at(self, broker: int) -> tuple[_Group, int]:
        group = self._groups[self._fingerprints[broker][0]]
        return group, group.row_of[broker]


def digest_of(settings: DetectSettings) -> bytes:
    """Return a digest of what decides whether a broker is at rest: the settings, and the release."""
    return blake2b(f"{__version__} {settings.model_dump_json()}".encode(), digest_size=16).digest()


def _stored(group: _Group, fingerprints: dict[int, tuple[int, bytes]]) -> StoredRows:
    names, rows = list(group.row_of), list(group.row_of.values())
    return StoredRows(
        log_dirs=group.of_log_dir.shape[1],
        brokers=names,
        fingerprints=[fingerprints[broker][1] for broker in names],
        of_broker=_columns(group.of_broker[rows]),
        of_log_dir=_columns(group.of_log_dir[rows]),
    )


def _columns(rows: Rows) -> bytes:
    return b"".join(np.ascontiguousarray(rows[name]).tobytes() for name in rows.dtype.names or ())


def _group(stored: StoredRows) -> _Group:
    group, brokers_there = _Group(stored.log_dirs), len(stored.brokers)
    group.of_broker = _rows(stored.of_broker, OF_BROKER, (brokers_there,))
    group.of_log_dir = _rows(stored.of_log_dir, OF_LOG_DIR, (brokers_there, stored.log_dirs))
    group.row_of = {broker: row for row, broker in enumerate(stored.brokers)}
    return group


def _rows(body: bytes, kind: np.dtype[np.void], shape: tuple[int, ...]) -> Rows:
    """Return the rows in stored columns; raises ValueError if they are of another size."""
    rows = np.zeros(shape, kind)
    columns = np.frombuffer(body, np.int64).reshape(len(kind.names or ()), *shape)
    for name, column in zip(kind.names or (), columns, strict=True):
        rows[name] = column.view(kind[name])
    return rows
