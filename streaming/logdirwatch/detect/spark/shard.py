"""Spark's state of the brokers of one key, and their timers.

A key is (cluster, shard of its brokers): with one key per broker each would cost a call into Python, four requests to
the JVM and a message back in every batch, which is most of a batch's time. State is a map from the broker to
``struct<version:int, body:string>``, and one from a time to the brokers whose timer fires then.
"""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it
from pyspark.sql.streaming.stateful_processor import MapState, StatefulProcessorHandle
from pyspark.sql.types import ArrayType, LongType, StructField, StructType

from logdirwatch.detect.state import broker_state
from logdirwatch.detect.state.broker_state import BrokerMemory
from logdirwatch.state.schema import STATE_SCHEMA

BROKERS, DUE = VARIABLES = ("brokers", "due")
"""The state variables; they cannot change within a checkpoint."""

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
    """One broker's entry, with the interface of a value state."""

    def __init__(self, brokers: MapState, broker: int) -> None:
        self._brokers, self._key = brokers, (broker,)

    def get(self) -> tuple[Any, ...] | None:
        """Return the value, None when there is none."""
        return self._brokers.getValue(self._key)

    def update(self, value: tuple[Any, ...]) -> None:
        """Write the value."""
        self._brokers.updateValue(self._key, value)


class Shard:
    """The memories of a shard's brokers and their timers, for the current key."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._brokers = handle.getMapState(BROKERS, _BROKER, STATE_SCHEMA)
        self._due = handle.getMapState(DUE, _TIME, _BROKERS)
        self._woken: dict[int, list[int]] = {}

    def entry(self, broker: int) -> Entry:
        """Return one broker's entry."""
        return Entry(self._brokers, broker)

    def load(self, broker: int) -> BrokerMemory | None:
        """Return the memory of a broker, None before its first record."""
        return broker_state.CODEC.load(self.entry(broker))

    def keep(self, known: BrokerMemory, deadline_ms: int | None) -> None:
        """Store a broker's memory, and set a timer soon after ``deadline_ms``."""
        at_ms = None if deadline_ms is None else -(-deadline_ms // _GRID_MS) * _GRID_MS
        if at_ms is not None and (known.timer_ms is None or at_ms < known.timer_ms):
            # One timer, set again only when it fires: setting it for every record would be expensive.
            self._woken.setdefault(at_ms, []).append(known.broker)
            known.timer_ms = at_ms
        broker_state.CODEC.keep(self.entry(known.broker), known)

    def drop(self, broker: int) -> None:
        """Remove a broker; its timer finds nothing."""
        self._brokers.removeKey((broker,))

    def set_timers(self) -> None:
        """Set the timers requested by ``keep``."""
        for at_ms, brokers in self._woken.items():
            before = self._due.getValue((at_ms,))
            self._due.updateValue((at_ms,), (sorted({*brokers, *(before[0] if before else ())}),))
            self._handle.registerTimer(at_ms)
        self._woken.clear()

    def due(self, at_ms: int) -> Iterator[BrokerMemory]:
        """Yield the memories of the brokers whose timer fired, except those whose timer was moved since."""
        waiting = self._due.getValue((at_ms,))
        self._due.removeKey((at_ms,))
        for broker in waiting[0] if waiting else ():
            known = self.load(broker)
            if known is not None and known.timer_ms == at_ms:
                known.timer_ms = None
                yield known
