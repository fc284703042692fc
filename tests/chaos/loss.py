"""Topics that are deleted, made again and truncated: what was read stays known, what was not is told with its range."""

import json
from collections.abc import Iterable

from kafka import TopicPartition
from kafka.consumer.fetcher import ConsumerRecord

from logdirwatch.kafka.clients import admin
from logdirwatch.model import topics
from logdirwatch.model.vocabulary import Rule
from tests.chaos import ledger
from tests.chaos.history import TICK_MS
from tests.chaos.world import READS, SETTLED_S, World
from tests.kafka.telemetry import create_with_own_times
from tests.support.waiting import wait_until

FED = (topics.METRICS, topics.EVENTS)
MADE_AGAIN = (*FED, topics.STATE, topics.DECISIONS, topics.INVENTORY)
LOST_TICKS = 4


def make_again(world: World) -> None:
    """Delete a topic when everything in it is read, and make it again: its offsets begin anew."""
    topic = world.random.choice(MADE_AGAIN)
    with world.feeder.paused():
        world.drain(topic)
        before = {query: world.reached(query, topic) for query, read in READS.items() if topic in read}
        with admin(world.run.settings.telemetry) as client:
            client.delete_topics([topic])
            wait_until(lambda: topic not in client.list_topics(), SETTLED_S, f"{topic} to be gone")
        create_with_own_times(world.run.settings)
        world.archive.begins_again(topic)
        # Spark takes what lies in the new topic at its first look as read; what comes afterwards must not be lost.
        for query, reached in before.items():
            world.wait_for(
                lambda query=query, reached=reached: went_back(world.reached(query, topic), reached),
                f"{query} to notice that {topic} begins again",
                2 * SETTLED_S,
            )


def went_back(now: dict[int, int], before: dict[int, int]) -> bool:
    """Tell whether offsets are those of a new topic; there is nothing to see where nothing had been read."""
    return not any(before.values()) or any(now.get(number, 0) < at for number, at in before.items())


def truncate_read(world: World) -> None:
    """Delete what the running stream has read: nothing is lost."""
    with world.feeder.paused():
        world.drain(*FED)
        _truncate(world)


def truncate_unread(world: World) -> None:
    """Delete what nobody has read while the stream is down: it goes on after it, and tells what is missing."""
    with world.feeder.paused():
        world.drain(*FED)
        world.run.kill()
        read = {topic: len(world.archive.records(topic)) for topic in FED}
    until_ms = world.feeder.last_ms + LOST_TICKS * TICK_MS
    wait_until(lambda: world.feeder.last_ms >= until_ms, SETTLED_S, "some ticks to be written")
    with world.feeder.paused():
        lost = [record for topic in FED for record in world.archive.records(topic)[read[topic] :]]
        _truncate(world)
    world.archive.lost |= {id(record) for record in lost}
    world.run.start()
    world.goes_on()
    try:
        world.wait_for(lambda: not _untold(world, lost), "the loss to be told", SETTLED_S)
    except AssertionError:
        world.found += _untold(world, lost)


def _truncate(world: World) -> None:
    ends = {
        TopicPartition(topic, number): end for topic in FED for number, end in world.archive.ends(topic).items() if end
    }
    with admin(world.run.settings.telemetry) as client:
        client.delete_records(ends)


def _untold(world: World, lost: Iterable[ConsumerRecord]) -> list[str]:
    alerts = (json.loads(record.value) for record in world.archive.ours(topics.ALERTS))
    evidence = [alert["evidence"] for alert in alerts if alert["rule"] == Rule.PIPELINE_DATA_LOSS]
    return [line for query in ("detect", "store") for line in ledger.untold(query, lost, evidence)]
