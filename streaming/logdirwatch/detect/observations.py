"""What the machine is shown: one record, where it came from, and the time it counts for."""

from typing import NamedTuple

from logdirwatch.model.identity import Origin
from logdirwatch.model.records import EventRecord, HostRecord, MetricsRecord


class Sample(NamedTuple):
    """A poll's answer."""

    record: MetricsRecord
    origin: Origin


class Event(NamedTuple):
    """An event, its missing fields filled in by the parser."""

    record: EventRecord
    origin: Origin


class HostView(NamedTuple):
    """What the source on the broker's host saw."""

    record: HostRecord
    origin: Origin


Observation = Sample | Event | HostView


def order(observation: Observation) -> tuple[int, str, int, int]:
    """Return the place of an observation within a batch: Kafka timestamp, topic, partition, offset."""
    origin = observation.origin
    return origin.kafka_timestamp_ms, origin.topic, origin.partition, origin.offset


def in_order(observations: list[Observation]) -> list[Observation]:
    """Return a batch's observations in a total order that keeps every partition's own order.

    A record never overtakes an earlier one of its partition, even when the producers' clocks disagree: it counts from
    the highest Kafka timestamp its partition has shown so far.
    """
    newest: dict[tuple[str, int], int] = {}
    keyed = []
    for observation in sorted(observations, key=lambda o: (o.origin.topic, o.origin.partition, o.origin.offset)):
        timestamp_ms, topic, partition, offset = order(observation)
        newest[topic, partition] = max(timestamp_ms, newest.get((topic, partition), 0))
        keyed.append(((newest[topic, partition], topic, partition, offset), observation))
    return [observation for _, observation in sorted(keyed, key=lambda item: item[0])]


def effective_ms(timestamp_ms: int, kafka_timestamp_ms: int, skew_ms: int) -> tuple[int, bool]:
    """Return the time a record counts for, and whether its own clock was too far ahead to be believed."""
    if timestamp_ms > kafka_timestamp_ms + skew_ms:
        return kafka_timestamp_ms, True
    return timestamp_ms, False
