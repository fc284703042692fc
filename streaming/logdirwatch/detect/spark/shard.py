"""Spark's state of the brokers of one key, and their timers.

A key is (cluster, shard of its brokers). All memories of a shard are one value, read with the first broker of a batch
and written after the last: an entry for each broker would cost two requests to the JVM for each, which is most of a
batch's time. Entries of older releases, one for each broker, are taken over when their broker is next looked at.
"""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it
from pyspark.sql.streaming.stateful_processor import MapState, StatefulProcessorHandle
from pyspark.sql.types import ArrayType, LongType, StructField, StructType

from logdirwatch.detect.spark.memories import Memories, packed, unpacked
from logdirwatch.detect.state import broker_state
from logdirwatch.detect.state.broker_state import BrokerMemory
from logdirwatch.state.schema import SHARD_SCHEMA, STATE_SCHEMA

MEMORIES, BROKERS, DUE = VARIABLES = ("memories", "brokers", "due")
"""The state variables. ``brokers`` has what is remembered of no broker, and with ``due`` what older releases stored."""

SHARDS = 32
"""Shards of a cluster: the maximum number of parallel tasks for it. It cannot change within a checkpoint."""

_BROKER = StructType([StructField("broker", LongType())])
_TIME = StructType([StructField("at_ms", LongType())])
_BROKERS = StructType([StructField("brokers", ArrayType(LongType()))])

_GRID_MS = 1_000
"""Times are rounded up to it, so that brokers share a timer."""


def shard_of(broker: Column) -> Column:
    """Return the shard of a broker."""
    return F.pmod(broker, F.lit(SHARDS))


class Entry:
    """One entry of ``brokers``, with the interface of a value state."""

    def __init__(self, brokers: MapState, broker: int) -> None:
        self._brokers, self._key = brokers, (broker,)

    def get(self) -> tuple[Any, ...] | None:
        """Return the value, None when there is none."""
        return self._brokers.getValue(self._key)

    def update(self, value: tuple[Any, ...]) -> None:
        """Write the value."""
        self._brokers.updateValue(self._key, value)

    def take(self) -> tuple[Any, ...] | None:
        """Return the value and remove it, None when there is none."""
        value = self.get()
        if value is not None:
            self._brokers.removeKey(self._key)
        return value


class Shard:
    """The memories of a shard's brokers and their timers, for the current key; ``write`` stores them."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._value = handle.getValueState(MEMORIES, SHARD_SCHEMA)
        self._brokers = handle.getMapState(BROKERS, _BROKER, STATE_SCHEMA)
        self._older_due = handle.getMapState(DUE, _TIME, _BROKERS)
        self._known: Memories | None = None
        self._is_changed = False
        self._timers: set[int] = set()

    def entry(self, broker: int) -> Entry:
        """Return the entry of what is no broker: heartbeats, the stream's own queries."""
        return Entry(self._brokers, broker)

    def load(self, broker: int) -> BrokerMemory | None:
        """Return the memory of a broker, None before its first record."""
        body = self._memories.brokers.get(broker)
        if body is not None:
            return broker_state.decode(broker_state.MEMORY_VERSION, body)
        older = self.entry(broker).take()
        if older is None:
            return None
        known = broker_state.decode(*older)
        self._store(known)
        return known

    def keep(self, known: BrokerMemory, deadline_ms: int | None) -> None:
        """Store a broker's memory, and set a timer soon after ``deadline_ms``."""
        at_ms = None if deadline_ms is None else -(-deadline_ms // _GRID_MS) * _GRID_MS
        if at_ms is not None and (known.timer_ms is None or at_ms < known.timer_ms):
            # One timer, set again only when it fires: setting it for every record would be expensive.
            self._memories.due.setdefault(at_ms, []).append(known.broker)
            self._timers.add(at_ms)
            known.timer_ms = at_ms
        self._store(known)

    def drop(self, broker: int) -> None:
        """Remove a broker; its timer finds nothing."""
        self._is_changed = self._memories.brokers.pop(broker, None) is not None or self._is_changed

    def due(self, at_ms: int) -> Iterator[BrokerMemory]:
        """Yield the memories of the brokers whose timer fired, except those whose timer was moved since."""
        for broker in self._take_due(at_ms):
            known = self.load(broker)
            if known is not None and known.timer_ms == at_ms:
                known.timer_ms = None
                yield known

    def write(self) -> None:
        """Store what changed since the last call, and set the timers requested by ``keep``; ends the current key."""
        if self._is_changed:
            self._value.update(packed(self._memories))
        for at_ms in self._timers:
            self._handle.registerTimer(at_ms)
        self._known, self._is_changed = None, False
        self._timers.clear()

    @property
    def _memories(self) -> Memories:
        if self._known is None:
            value = self._value.get()
            self._known = Memories() if value is None else unpacked(*value)
        return self._known

    def _store(self, known: BrokerMemory) -> None:
        self._memories.brokers[known.broker] = broker_state.encode(known).encode()
        self._is_changed = True

    def _take_due(self, at_ms: int) -> list[int]:
        """Return the brokers whose timer fires at a time, and forget that they do."""
        waiting = self._memories.due.pop(at_ms, [])
        self._is_changed = self._is_changed or bool(waiting)
        if older := self._older_due.getValue((at_ms,)):
            self._older_due.removeKey((at_ms,))
            waiting = [*waiting, *older[0]]
        return sorted(set(waiting))
