"""``detect`` with the state of releases up to 0.1.0: an entry for each broker, and one for each time a timer fires."""

import sys

from pyspark.cloudpickle import register_pickle_by_value
from pyspark.sql.types import ArrayType, LongType, StructField, StructType

from logdirwatch.detect.spark.processor import ShardProcessor
from logdirwatch.detect.state import broker_state
from logdirwatch.state.schema import STATE_SCHEMA

# The workers do not find the tests.
register_pickle_by_value(sys.modules[__name__])


class OlderShard:
    """Reads and writes the memory of every broker by itself."""

    def __init__(self, handle):
        self._handle = handle
        self._brokers = handle.getMapState("brokers", StructType([StructField("broker", LongType())]), STATE_SCHEMA)
        waiting = StructType([StructField("brokers", ArrayType(LongType()))])
        self._due = handle.getMapState("due", StructType([StructField("at_ms", LongType())]), waiting)

    def load(self, broker):
        value = self._brokers.getValue((broker,))
        return None if value is None else broker_state.decode(*value)

    def keep(self, known, deadline_ms):
        if deadline_ms is not None and known.timer_ms is None:
            known.timer_ms = deadline_ms
            self._due.updateValue((deadline_ms,), ([known.broker],))
            self._handle.registerTimer(deadline_ms)
        self._brokers.updateValue((known.broker,), (broker_state.MEMORY_VERSION, broker_state.encode(known)))

    def write(self):
        """Do nothing: everything is written already."""


class OlderProcessor(ShardProcessor):
    """The processor over ``OlderShard``."""

    def init(self, handle):
        self._shard = OlderShard(handle)
