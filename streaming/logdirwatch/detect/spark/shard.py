"""Spark's state of the brokers of one key, and their timers.

A key is (cluster, shard of its brokers). All memories of a shard are one value, read with the first broker of a batch
and written after the last: an entry for each broker would cost two requests to the JVM for each, which is most of a
batch's time.

They are compressed together: they resemble each other, and what Spark reads and writes for a batch is then a fraction
of what it was with an entry for each broker (docs/decisions/0062-one-value-a-shard.md).
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
from msgspec import Struct, field

from logdirwatch.detect.columns.rows import TIMER_GRID_MS
from logdirwatch.detect.columns.table import StoredRows, Table, digest_of
from logdirwatch.detect.observations import Sample
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.state import broker_state
from logdirwatch.detect.state.broker_state import BrokerMemory
from logdirwatch.state.codec import refused, unreadable

VERSION = 2
_READ = (1, VERSION)
"""In version 1 each memory has all of its numbers."""
_CODEC = "zstd"

Value = tuple[int, str]
"""One memory: the version of its form, and the memory as JSON."""


class Memories(Struct):
    """The memories of a shard by broker, and the brokers whose timer fires at a time.

    Of brokers at rest the numbers are in ``at_rest``, newer than those in their memories. ``judged_by`` tells by which
    settings they were found to be so.
    """

    values: dict[int, Value] = field(default_factory=dict)
    due: dict[int, list[int]] = field(default_factory=dict)
    at_rest: list[StoredRows] = field(default_factory=list)
    judged_by: bytes = b""


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Memories)


def packed(memories: Memories) -> tuple[int, int, bytes]:
    """Return the value that is stored: version, length and body."""
    body = _ENCODER.encode(memories)
    return VERSION, len(body), pa.compress(body, codec=_CODEC, asbytes=True)


def unpacked(version: int, length_bytes: int, body: bytes) -> Memories:
    """Return the memories in a stored value.

    Raises UserError when another release wrote it, or when it cannot be read.
    """
    if version not in _READ:
        raise refused("detect", version, VERSION)
    try:
        return _DECODER.decode(pa.decompress(body, decompressed_size=length_bytes, codec=_CODEC, asbytes=True))
    except (msgspec.MsgspecError, OSError, ValueError) as error:
        raise unreadable("detect", error) from None


MEMORIES = "memories"
VARIABLES = (MEMORIES,)
"""The state variables; they cannot change within a checkpoint."""

SHARDS = 8
"""Shards of a cluster: the maximum number of parallel tasks for it. It cannot change within a checkpoint."""

NEIGHBOURS = 8
"""Brokers with successive numbers in one shard: each shard of a batch costs a few requests to the JVM."""


def _on_grid(at_ms: int) -> int:
    return -(-at_ms // TIMER_GRID_MS) * TIMER_GRID_MS


class Entry:
    """One memory, with the interface of a value state."""

    def __init__(self, shard: "Shard", broker: int) -> None:
        self._shard, self._broker = shard, broker

    def get(self) -> Value | None:
        """Return the value, None when there is none."""
        return self._shard.value(self._broker)

    def update(self, value: Value) -> None:
        """Replace the value."""
        self._shard.replace(self._broker, value)


class Shard:
    """The memories of a shard's brokers and their timers, for the current key; ``write`` stores them."""

    def __init__(self, handle: Any, settings: DetectSettings, schema: Any) -> None:
        self._handle = handle
        self._settings, self._judged_by = settings, digest_of(settings)
        self._value = handle.getValueState(MEMORIES, schema)
        self._known: tuple[Memories, Table] | None = None
        self._is_changed = False
        self._timers: set[int] = set()

    def _read(self) -> tuple[Memories, Table]:
        if self._known is None:
            value = self._value.get()
            memories = Memories() if value is None else unpacked(*value)
            self._known = memories, self._table_of(memories)
        return self._known

    def _table_of(self, memories: Memories) -> Table:
        is_trusted = memories.judged_by == self._judged_by
        try:
            return Table(self._settings, memories.at_rest, is_trusted=is_trusted)
        except ValueError as error:
            raise unreadable("detect", error) from None

    @property
    def _memories(self) -> Memories:
        return self._read()[0]

    @property
    def _table(self) -> Table:
        return self._read()[1]

    def value(self, broker: int) -> Value | None:
        """Return the stored memory of a broker, None when there is none."""
        return self._memories.values.get(broker)

    def brokers(self) -> list[int]:
        """Return the brokers with a memory; what stands for heartbeats and queries is none."""
        return [broker for broker in self._memories.values if broker >= 0]

    def replace(self, broker: int, value: Value) -> None:
        """Replace the stored memory of a broker."""
        self._memories.values[broker] = value
        self._is_changed = True

    def entry(self, broker: int) -> Entry:
        """Return one broker's entry."""
        return Entry(self, broker)

    def load(self, broker: int) -> BrokerMemory | None:
        """Return the memory of a broker, None before its first record."""
        known = broker_state.CODEC.load(self.entry(broker))
        if known is not None:
            self._table.complete(known)
        return known

    def keep(self, known: BrokerMemory, deadline_ms: int | None, last: Sample | None = None) -> None:
        """Store a broker's memory, and set a timer soon after ``deadline_ms``.

        ``last`` is its last sample, None if this step had none.
        """
        at_ms = None if deadline_ms is None else _on_grid(deadline_ms)
        if at_ms is not None and (known.timer_ms is None or at_ms < known.timer_ms):
            # One timer, set again only when it fires: setting it for every record would be expensive.
            known.timer_ms = self._set_timer(known.broker, at_ms)
        broker_state.CODEC.keep(self.entry(known.broker), known)
        self._table.keep(known, last)

    def advance(self, samples: Iterable[Sample], now_ms: int) -> dict[int, bool]:
        """Take samples that may change only numbers; return for the brokers that are at rest if their state is due."""
        found = self._table.advance(samples, now_ms)
        self._is_changed = self._is_changed or bool(found)
        return found

    def wrote(self, known: BrokerMemory) -> None:
        """Note that the state of a broker at rest was written."""
        self._table.wrote(known)

    def _set_timer(self, broker: int, at_ms: int) -> int:
        self._memories.due.setdefault(at_ms, []).append(broker)
        self._timers.add(at_ms)
        return at_ms

    def drop(self, broker: int) -> None:
        """Remove a broker; its timer finds nothing."""
        self._table.remove(broker)
        if self._memories.values.pop(broker, None) is not None:
            self._is_changed = True

    def due(self, at_ms: int, now_ms: int) -> Iterator[BrokerMemory]:
        """Yield the memories of the brokers whose timer fired and who wait for it.

        Those at rest wait only to be silent: if they are not, their timer is set again.
        """
        waiting = self._memories.due.pop(at_ms, [])
        self._is_changed = self._is_changed or bool(waiting)
        for broker in sorted(set(waiting)):
            if (timer_ms := self._table.timer_ms(broker)) is not None:
                if timer_ms != at_ms:
                    continue
                if (silent_from_ms := self._table.silent_from_ms(broker)) > now_ms:
                    self._table.set_timer(broker, self._set_timer(broker, _on_grid(silent_from_ms)))
                    continue
            known = self.load(broker)
            if known is not None and known.timer_ms == at_ms:
                known.timer_ms = None
                yield known

    def write(self) -> None:
        """Store what changed since the last call, and set the timers requested by ``keep``; ends the current key."""
        if self._is_changed:
            memories, table = self._read()
            memories.at_rest = table.stored()
            memories.judged_by = self._judged_by if memories.at_rest else b""
            self._value.update(packed(memories))
        for at_ms in self._timers:
            self._handle.registerTimer(at_ms)
        self._known, self._is_changed = None, False
        self._timers.clear()


class _Stored(NamedTuple):
    """A stored value, with the interface of a handle and of the value state that it gives."""

    value: tuple[int, int, bytes]

    def getValueState(self, name: str, schema: Any) -> "_Stored":  # noqa: N802
        del name, schema
        return self

    def get(self) -> tuple[int, int, bytes]:
        return self.value


def remembered(value: tuple[int, int, bytes], settings: DetectSettings) -> list[BrokerMemory]:
    """Return the memories of the brokers in a stored value; raises UserError like :func:`unpacked`."""
    shard = Shard(_Stored(value), settings, None)
    return [known for broker in sorted(shard.brokers()) if (known := shard.load(broker)) is not None]
