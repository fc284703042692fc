"""Replays the stored records of one broker through the state machine, with simulated timers."""

from collections.abc import Iterable, Iterator

from logdirwatch.detect import machine
from logdirwatch.detect.alerts.context import Outcome
from logdirwatch.detect.observations import Observation
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.state.broker_state import BrokerMemory


def replay(
    memory: BrokerMemory, observations: Iterable[Observation], settings: DetectSettings, until_ms: int
) -> Iterator[Outcome]:
    """Yield the results of each observation and timer until ``until_ms``; a record arrives at its Kafka time."""
    for observation in observations:
        now_ms = observation.origin.kafka_timestamp_ms
        yield from _timers(memory, settings, now_ms)
        yield machine.advance(memory, observation, now_ms, settings)
    yield from _timers(memory, settings, until_ms)


def _timers(memory: BrokerMemory, settings: DetectSettings, now_ms: int) -> Iterator[Outcome]:
    deadline_ms = machine.next_deadline_ms(memory, settings)
    while deadline_ms is not None and deadline_ms <= now_ms:
        yield machine.tick(memory, deadline_ms, settings)
        after_ms = machine.next_deadline_ms(memory, settings)
        deadline_ms = None if after_ms == deadline_ms else after_ms
