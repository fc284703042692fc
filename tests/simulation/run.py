"""One seed, the whole service: builds it, lets the story happen, and checks the law whenever something changes."""

import gc
import hashlib
import logging
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import structlog

from logdirwatch.model import topics
from logdirwatch.notify.groups import Message
from logdirwatch.notify.links import NO_LINKS
from logdirwatch.notify.wording import text_of
from tests.simulation.brokers import TOTAL_BYTES, Broker, Cluster, Disk
from tests.simulation.clock import Host, Scheduler
from tests.simulation.collector import Collector, Network
from tests.simulation.law import Law, Service, Wrong
from tests.simulation.notifier import Notify, Receiver, consumers
from tests.simulation.story import KINDS, SERVICE, Fault, Story, story_of
from tests.simulation.stream import Stream
from tests.simulation.topics import Entry, Telemetry

SETTLED_ROUNDS = 4
"""How many rounds after a fault of the service it keeps its promises again."""
CATCHES_UP_MS = 120_000
CHECK_MS = 1_000
"""How often the law is checked while nothing is written or told and no fault begins or ends."""


class Result(NamedTuple):
    """What a run was like; ``digest`` is of everything that was written and told, with its times."""

    seed: int
    wrong: tuple[Wrong, ...]
    digest: str
    messages: int
    records: int


class Simulation:
    """The world of one story."""

    def __init__(self, story: Story, scheduler: Scheduler, say: Callable[[str], object] | None = None) -> None:
        draw = random.Random(f"world of {story.seed}")
        self.story, self.scheduler, self._say = story, scheduler, say
        names = ("telemetry", "stream", "notify", *(f"c{number + 1}" for number in range(story.collectors)))
        self.hosts = {
            name: Host(self.scheduler, name, draw.randint(-100, 100), draw.randint(-900, 900)) for name in names
        }
        self.network = {name: Network() for name in names}
        self.telemetry = Telemetry(self.hosts["telemetry"], has_append_time=story.has_append_time)
        self.cluster = Cluster(self.scheduler, [_broker(number + 1, story, draw) for number in range(story.brokers)])
        self.receiver = Receiver()
        self.law = Law(
            self.cluster, Service(self._can_tell, self._is_calm, self._can_hear, self._follows), story.interval_ms
        )
        self.receiver.heard = self._heard
        self.telemetry.listeners.append(self._appended)
        self._digest, self._written = hashlib.sha256(), 0
        self._faults, self._calm_from_ms, self._checked_ms, self._is_changed = 0, 0, 0, True
        self.collectors: dict[str, Collector] = {}
        self.stream = Stream(self.hosts["stream"], self.telemetry, self.law.died)
        for name in names[3:]:
            self.start_collector(name)
        self.start_notify()
        for fault in story.faults:
            self.scheduler.after(fault.at_ms, lambda fault=fault: self._begin(fault))

    def start_collector(self, name: str) -> None:
        """Start a collector, instead of the one that runs."""
        if name in self.collectors:
            self.collectors[name].kill()
        self.collectors[name] = Collector(
            self.hosts[name], self.cluster, self.telemetry, self.network[name], self.story.interval_ms
        )

    def start_notify(self) -> None:
        """Start ``notify``, instead of the one that runs."""
        if hasattr(self, "notify"):
            self.notify.kill()
        self.notify = Notify(self.hosts["notify"], self.telemetry, self.receiver, self.law.died)

    def run(self) -> Result:
        """Let the story happen; ends early at the first violation."""
        try:
            self.scheduler.run(self.story.ends_ms, self._check)
        except _OverError:
            pass
        finally:
            self.notify.kill()
        return Result(
            self.story.seed, tuple(self.law.wrong), self._digest.hexdigest()[:16], self.receiver.messages, self._written
        )

    def _check(self) -> None:
        if not self._is_changed and self.scheduler.now_ms < self._checked_ms + CHECK_MS:
            return
        self._is_changed, self._checked_ms = False, self.scheduler.now_ms
        self.law.check()
        if self.law.wrong:
            raise _OverError

    def _begin(self, fault: Fault) -> None:
        self._is_changed = True
        kind = KINDS[fault.kind]
        self._faults += kind.of == SERVICE
        kind.begin(self, fault)
        self.scheduler.after(fault.lasts_ms, lambda: self._end(fault))

    def _end(self, fault: Fault) -> None:
        self._is_changed = True
        kind = KINDS[fault.kind]
        kind.end(self, fault)
        if kind.of == SERVICE:
            self._faults -= 1
            settled_ms = self.scheduler.now_ms + SETTLED_ROUNDS * self.story.interval_ms + CATCHES_UP_MS
            self._calm_from_ms = max(self._calm_from_ms, settled_ms)

    # What the law asks.

    def _can_hear(self) -> bool:
        return self.notify.is_following and not self.hosts["notify"].is_suspended

    def _follows(self) -> bool:
        is_readable = topics.ALERTS not in self.telemetry.unreadable
        return self.notify.is_following and self.telemetry.reaches(self.hosts["notify"]) and is_readable

    def _can_tell(self) -> bool:
        return self.notify.is_alive and not self.hosts["notify"].is_suspended and self.receiver.is_up

    def _is_calm(self) -> bool:
        return not self._faults and self.scheduler.now_ms >= self._calm_from_ms

    # What it hears.

    def _appended(self, entry: Entry) -> None:
        self._written += 1
        self._is_changed = True
        self._digest.update(b"%d %d %s" % (self.scheduler.now_ms, entry.timestamp, entry.topic.encode()))
        self._digest.update((entry.key or b"") + (entry.value or b"gone"))
        self.law.appended(entry)
        if self._say is not None and entry.topic == topics.ALERTS and b'"rule":"heartbeat"' not in (entry.value or b""):
            text = (entry.value or b"").decode(errors="replace")[:400]
            self._say(f"{self.scheduler.now_ms / 1000:8.1f} s  {text}\n")

    def _heard(self, message: Message, took_ms: int) -> None:
        self._is_changed = True
        text = text_of(message, NO_LINKS)
        self._digest.update(f"{self.scheduler.now_ms} {text}".encode())
        self.law.heard(message, took_ms)
        if self._say is not None:
            self._say(f"{self.scheduler.now_ms / 1000:8.1f} s  told: {text.title}\n{text.body}\n")


class _OverError(Exception):
    """The run is over: something is wrong."""


def _broker(number: int, story: Story, draw: random.Random) -> Broker:
    disks = {f"/d{disk}": Disk(TOTAL_BYTES * draw.randint(30, 60) // 100) for disk in range(story.disks)}
    return Broker(number, disks)


@contextmanager
def quiet() -> Iterator[None]:
    """Write no log lines, and collect no garbage within a run: it is short."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        structlog.configure(**before)


def simulate(story: Story, say: Callable[[str], object] | None = None) -> Result:
    """Run a story; ``say`` gets a line for all that is written to the alert topic, and told."""
    scheduler = Scheduler()
    with quiet(), scheduler.virtual_time():
        simulation = Simulation(story, scheduler, say)
        with consumers(simulation.telemetry, simulation.hosts["notify"]):
            return simulation.run()


def of_seed(seed: int) -> Result:
    """Run the story of a seed."""
    return simulate(story_of(seed))
