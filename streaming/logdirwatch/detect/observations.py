"""The input of the state machine: one record, its origin, and its effective time."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol, TypeVar

from logdirwatch.model.identity import Origin
from logdirwatch.model.records import DecisionRecord, EventRecord, HostRecord, MetricsRecord


class Sample(NamedTuple):
    """A poll's answer."""

    record: MetricsRecord
    origin: Origin


class Event(NamedTuple):
    """An event, its missing fields filled in by the parser."""

    record: EventRecord
    origin: Origin


class HostView(NamedTuple):
    """An observation of the source on the broker's host."""

    record: HostRecord
    origin: Origin


class Decided(NamedTuple):
    """A decision about the broker."""

    record: DecisionRecord
    origin: Origin


Observation = Sample | Event | HostView | Decided


class FromKafka(Protocol):
    """An observation from a Kafka record."""

    @property
    def origin(self) -> Origin:
        """The record that it was read from."""


R = TypeVar("R", bound=FromKafka)


def in_order(batch: Iterable[R]) -> list[R]:
    """Return a batch in a total order that keeps every partition's own order: by Kafka timestamp, then by position.

    A record never overtakes an earlier one of its partition, even if the producers' clocks disagree: its effective time
    is at least the highest Kafka timestamp of its partition so far.
    """
    newest: dict[tuple[str, int], int] = {}
    keyed = []
    for item in sorted(batch, key=lambda item: (item.origin.topic, item.origin.partition, item.origin.offset)):
        topic, partition, offset, timestamp_ms = item.origin
        newest[topic, partition] = max(timestamp_ms, newest.get((topic, partition), 0))
        keyed.append(((newest[topic, partition], topic, partition, offset), item))
    return [item for _, item in sorted(keyed, key=lambda pair: pair[0])]
