"""What strikes beside the kills of the driver. The service is left to itself; what must hold afterwards is checked."""

import random
import re
from collections.abc import Callable
from itertools import count
from typing import NamedTuple

from logdirwatch.kafka.clients import discard, producer
from logdirwatch.model import topics
from logdirwatch.model.vocabulary import Rule
from tests.chaos import ledger, loss, strikes
from tests.chaos.archive import FOREIGN
from tests.chaos.history import GARBAGE
from tests.chaos.world import SETTLED_S, WATCHED, World
from tests.support import bad
from tests.support.waiting import DEADLINE_S

HOUR_S = 3_600
LARGEST_BYTES = 900_000


class Blow(NamedTuple):
    """One way to strike, by name; nothing happens in the history meanwhile if ``is_held``."""

    name: str
    strike: Callable[[World], None]
    is_held: bool = False


def drawn(order: random.Random, only: str = "") -> list[Blow]:
    """Return those whose names match ``only``, in a drawn order after the first: all others meet what it leaves."""
    first, *others = every()
    order.shuffle(others)
    return [blow for blow in (first, *others) if re.search(only, blow.name)]


def every() -> list[Blow]:
    """Return all of them."""
    return [
        Blow("foreign records on every topic", _write_foreign),
        Blow("Python worker killed", lambda world: strikes.kill_worker(world.run, world.random)),
        Blow("stream stopped for 60 s", lambda world: strikes.stop_driver(world.run, 60)),
        Blow("telemetry broker killed", lambda world: strikes.kill_broker(world.cluster)),
        Blow("telemetry broker stopped for 30 s", lambda world: strikes.stop_broker(world.cluster, 30)),
        Blow("tables compacted beside the stream", lambda world: strikes.compact(world.run, world.random)),
        Blow("tables optimize in a second JVM", lambda world: world.command("tables", "optimize")),
        Blow("validate in a second JVM", lambda world: world.command("validate", fails=True)),
        Blow("disk of the checkpoints full", lambda world: _fill(world, "checkpoints")),
        Blow("disk of the tables full", lambda world: _fill(world, "tables")),
        Blow("collector killed", lambda world: world.kill(world.collector)),
        Blow("notify killed", lambda world: world.kill(world.notifier)),
        Blow("checkpoint's file damaged", _damage),
        Blow("clock of the stream's host set", lambda world: _set_clock(world, "stream"), is_held=True),
        Blow("clock of the collector's host set", lambda world: _set_clock(world, "collect"), is_held=True),
        Blow("clock of notify's host set", lambda world: _set_clock(world, "notify"), is_held=True),
        Blow("topic deleted and made again", loss.make_again, is_held=True),
        Blow("topics truncated when all was read", loss.truncate_read, is_held=True),
        Blow("topics truncated before they were read", loss.truncate_unread, is_held=True),
    ]


def _fill(world: World, name: str) -> None:
    strikes.fill_disk(world.run, world.volumes, world.run.folder / name)


def _damage(world: World) -> None:
    """Damage a checkpoint: what a query took back or built again is right, or it says which file is to be replaced."""
    begin = len(world.log())
    done = strikes.damage(world.run, world.random)
    world.run.start()
    try:
        world.ends_a_batch(done.query)
    except AssertionError:
        if not ledger.names(done.file, world.log()[begin:]):
            world.found.append(f"{done}: the query does not go on, and no line names {done.file.name}")
        _set_aside(world, done.query)
    world.notes.append(str(done))


def _set_aside(world: World, query: str) -> None:
    """Do what an operator does who is told that a checkpoint cannot be read."""
    world.run.kill()
    folder = world.run.folder / "checkpoints" / query
    folder.rename(folder.with_name(f"{query}.damaged-{len(world.notes)}"))
    world.run.start()


# -- clocks


def _set_clock(world: World, name: str) -> None:
    """Set a host's clock an hour back or ahead, and right again: the service goes on after either."""
    for ahead_s in (world.random.choice((HOUR_S, -HOUR_S)), 0):
        before, alarms = _sequence(world), world.receiver.picture.fired(Rule.HEARTBEAT)
        world.clocks[name].set_ahead(ahead_s)
        world.goes_on()
        _sees(world, before, f"the clock of {name} was set to {ahead_s:+} s")
        world.settle()
        if world.receiver.picture.fired(Rule.HEARTBEAT) > alarms:
            world.found.append(f"false alarm: heartbeats are called missing after the clock of {name} was set")


def _sequence(world: World) -> int:
    state = world.states().get((WATCHED, 0))
    return 0 if state is None else int(state["sequence"])


def _sees(world: World, before: int, since: str) -> None:
    """Newer states of the cluster that the collector asks must come: nobody goes blind for the hour."""
    try:
        world.wait_for(lambda: _sequence(world) >= before + 3, f"{WATCHED} to be judged since {since}", SETTLED_S)
    except AssertionError:
        world.found.append(f"blind: no newer state of {WATCHED}/0 since {since}")


# -- records that nobody can read

_NUMBERS = count()


def _write_foreign(world: World) -> None:
    """Write them to every topic, as a wrong script does: with keys in Latin-1, one of them without a value.

    A new ``notify`` reads the topics from their beginning.
    """
    client = producer(world.run.settings.telemetry, acks="all", bootstrap_timeout_ms=10_000)
    try:
        for topic in topics.TOPICS:
            for value in (*_unreadable(world, topic.name), None):
                key = FOREIGN + f"müll-{next(_NUMBERS)}".encode("latin-1")
                partition = world.random.randrange(topic.partitions)
                client.send(topic.name, value, key, partition=partition).get(DEADLINE_S)
    finally:
        discard(client, 5)
    world.kill(world.notifier)


def _unreadable(world: World, topic: str) -> list[bytes]:
    """Return some records that no reader of a topic can read; some are made of what the product wrote there."""
    written = [record.value for record in world.archive.ours(topic) if b'"version":1,' in (record.value or b"")]
    made = [make(world.random.choice(written)) for make in bad.UNREADABLE.values()] if written else []
    # Of the others the broker accepts none.
    fitting = [value for value in made if len(value) < LARGEST_BYTES]
    return world.random.sample(GARBAGE, 3) + world.random.sample(fitting, min(3, len(fitting)))
