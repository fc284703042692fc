"""The processor on Spark's in-memory stand-in for state and timers."""

from pyspark.sql.streaming.tws_tester import TwsTester

from logdirwatch.detect.spark.shard import Memories, unpacked
from logdirwatch.detect.state.broker_state import CODEC
from logdirwatch.jobs.processors import ShardProcessor


class _Unpacked(ShardProcessor):
    """The stand-in knows keys of one column only."""

    def handleInputRows(self, key, rows, timerValues):  # noqa: N802, N803
        return super().handleInputRows(key[0], rows, timerValues)


def stand_in(settings, at_ms, starts=()):
    """Return a stand-in whose clock stands at ``at_ms``; ``starts`` are keys with their initial state."""
    tester = TwsTester(_Unpacked(settings, "home"), initialStateRow=[*starts], timeMode="ProcessingTime")
    tester.setProcessingTime(at_ms)
    return tester


def memories(tester, key):
    """Return all that a shard remembers of its brokers."""
    value = tester.peekValueState("memories", key)
    return Memories() if value is None else unpacked(*value)


def memory(tester, key, broker):
    """Return what a shard remembers of one broker."""
    return CODEC.decode(*memories(tester, key).values[broker])
