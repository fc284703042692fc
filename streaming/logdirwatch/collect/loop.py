"""Runs the rounds of every cluster at their intervals, in one asyncio loop. Wiring only."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import structlog

from logdirwatch.clock import monotonic_ms, wall_ms
from logdirwatch.collect.exporter.scrape import Exporters
from logdirwatch.collect.kafka.connections import Wire, addresses
from logdirwatch.collect.kafka.log_dir_usage import CapacityOf, no_capacity
from logdirwatch.collect.kafka.requests import Admin
from logdirwatch.collect.rounds import records
from logdirwatch.collect.rounds.changes import ReserveOf
from logdirwatch.collect.rounds.poll import ClusterPoller, Publish, event_outgoing, outgoing
from logdirwatch.collect.rounds.rising_clock import Clock, RisingClock
from logdirwatch.collect.rounds.scan import Scanner
from logdirwatch.collect.settings import CollectSettings, JmxExporterSettings
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model import topics
from logdirwatch.model.times import until_round_ms
from logdirwatch.observe.progress import Beat

log = structlog.get_logger(__name__)

# The second of a heartbeat is its revision on the alert topic.
REVISION_MS = 1_000
REMIND_MS = 600_000
"""How often an error that repeats itself is logged: rounds come several times a second."""

Round = Callable[[], Awaitable[object]]


class Watch(Protocol):
    """A task that runs until it is cancelled."""

    async def run(self) -> None:
        """Run until cancelled."""

    def close(self) -> None:
        """Release its resources."""


def _unknown() -> None:
    """Return that nobody knows."""


class ClusterWatch:
    """One monitored cluster: its connections, its poller, its scanner and its brokers' exporters.

    Raises UserError naming a client property that cannot be translated.
    """

    def __init__(
        self,
        name: str,
        cluster: KafkaSettings,
        exporter: JmxExporterSettings,
        collect: CollectSettings,
        reserve_of: ReserveOf,
        publish: Publish,
        clock: Clock,
        capacity_of: CapacityOf = no_capacity,
        samples_overdue_ms: Callable[[], int | None] = _unknown,
    ) -> None:
        self.name = name
        self._settings = collect
        self._exporters = Exporters(name, exporter, monotonic_ms)
        self._scrape_interval_ms = exporter.interval_ms
        self._wire = Wire(clients.python_arguments(cluster))
        self._origin = records.Origin(name, collect.collector, collect.metrics_interval_ms)
        self._publish = publish
        self._samples_overdue_ms = samples_overdue_ms
        self._heartbeat_clock = RisingClock(clock, min(REVISION_MS, collect.heartbeat_interval_ms))
        self.poller = ClusterPoller(
            self._origin,
            addresses(cluster.bootstrap_servers),
            Admin(self._wire, collect.request_timeout_ms, collect.inventory_timeout_ms),
            publish,
            clock,
            reserve_of,
            collect.backoff_max_ms,
        )
        self._scanner = Scanner(self.poller, collect.record_max_bytes, reads_groups=collect.consumer_groups)
        self.poller.after_failure = self._scanner.look_at_partitions
        self.poller.metrics_of = self._exporters.metrics_of
        self.poller.capacity_of = capacity_of
        self.beats = [self.poller.beat]
        """The progress of the rounds that have begun."""

    async def run(self) -> None:
        """Poll, scan, check partitions, scrape and send heartbeats until cancelled."""
        settings = self._settings
        await asyncio.gather(
            every(settings.metrics_interval_ms, self.poller.poll, overlapping=True),
            self._watched("heartbeat", settings.heartbeat_interval_ms, self._heartbeat),
            self._watched("canary", settings.canary_interval_ms, self._canary),
            self._when_discovered("inventory", settings.inventory_interval_ms, self._scanner.scan),
            self._when_discovered("partitions", settings.partitions_interval_ms, self._scanner.look_at_partitions),
            self._when_discovered("exporters", self._scrape_interval_ms, self._scrape, overlapping=True),
        )

    async def once(self) -> bool:
        """Do every round once, the polls last so that they include the inventory.

        Tell whether everything was answered.
        """
        await self.poller.refresh_brokers()
        is_complete, _ = await asyncio.gather(self._scanner.scan(), self._scrape())
        await self._scanner.look_at_partitions()
        await self.poller.poll()
        is_complete = is_complete and not self._scanner.is_lacking
        return is_complete and not any(map(self.poller.is_silent, self.poller.brokers))

    def close(self) -> None:
        """Close the connections."""
        self._wire.close()
        self._exporters.close()

    async def _when_discovered(self, loop: str, interval_ms: int, work: Round, *, overlapping: bool = False) -> None:
        await self.poller.discovered.wait()
        await self._watched(loop, interval_ms, work, overlapping=overlapping)

    async def _watched(self, loop: str, interval_ms: int, work: Round, *, overlapping: bool = False) -> None:
        beat = Beat(f"{loop}:{self.name}", more_s=interval_ms / 1000)
        self.beats.append(beat)
        await every(interval_ms, work, overlapping=overlapping, ended=beat.beat)

    async def _scrape(self) -> None:
        await self._exporters.scrape(self.poller.brokers.values())

    async def _heartbeat(self) -> None:
        interval_ms, overdue_ms = self._settings.heartbeat_interval_ms, self._samples_overdue_ms()
        record = records.heartbeat_record(self._origin, self._heartbeat_clock(), interval_ms, overdue_ms)
        self._publish(outgoing(topics.METRICS, [(f"{self.name}/heartbeat", record)]))

    async def _canary(self) -> None:
        self._publish([event_outgoing(records.canary_record(self._origin, self.poller.stamp(0)))])


def _ignored() -> None:
    """Do nothing."""


async def every(
    interval_ms: int, work: Round, *, overlapping: bool = False, ended: Callable[[], None] = _ignored
) -> None:
    """Start ``work`` now and every ``interval_ms``, until cancelled; its errors do not end it.

    An error is logged once, until another one comes, a round ends without one, or REMIND_MS have passed.

    ``ended`` is called after each round that ended without an error.

    After the first one, rounds begin at the same moments as those of other processes (``until_round_ms``). A round that
    takes longer than the interval delays the next ones, unless they may overlap: then ``work`` itself must skip what is
    still busy.
    """
    running: set[asyncio.Task[None]] = set()
    failures = _Failures()
    try:
        while True:
            if overlapping or not running:
                task = asyncio.create_task(_logged(work, ended, failures))
                running.add(task)
                task.add_done_callback(running.discard)
            await asyncio.sleep(until_round_ms(wall_ms(), interval_ms) / 1000)
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


class _Failures:
    """Which error of a round was logged last, and when by the monotonic clock."""

    def __init__(self) -> None:
        self._told: tuple[str, int] | None = None

    def is_news(self, error: Exception) -> bool:
        """Tell whether to log an error, and remember that it was."""
        text, now_ms = f"{type(error).__name__}: {error}", monotonic_ms()
        if self._told is not None and self._told[0] == text and now_ms - self._told[1] < REMIND_MS:
            return False
        self._told = text, now_ms
        return True

    def end(self) -> None:
        """Record a round without an error."""
        self._told = None


async def _logged(work: Round, ended: Callable[[], None], failures: _Failures) -> None:
    try:
        await work()
        ended()
    except Exception as error:
        if failures.is_news(error):
            log.exception("collect.round.failed", round=getattr(work, "__qualname__", repr(work)))
    else:
        failures.end()


async def run(watched: Sequence[Watch], stop: asyncio.Event) -> None:
    """Run every watch until ``stop`` is set."""
    runs = [asyncio.create_task(watch.run()) for watch in watched]
    stopped = asyncio.create_task(stop.wait())
    try:
        finished, _ = await asyncio.wait([*runs, stopped], return_when=asyncio.FIRST_COMPLETED)
        for task in finished:
            task.result()
    finally:
        await _cancel_all()
        for watch in watched:
            watch.close()


async def _cancel_all() -> None:
    """Cancel everything that still runs in this loop and wait for it: pending requests hold connections."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def run_once(watched: list[ClusterWatch]) -> list[str]:
    """Do every round of every watch once; return the clusters with a failed request."""
    try:
        complete = await asyncio.gather(*(watch.once() for watch in watched))
    finally:
        await _cancel_all()
        for watch in watched:
            watch.close()
    return [watch.name for watch, is_complete in zip(watched, complete, strict=True) if not is_complete]
