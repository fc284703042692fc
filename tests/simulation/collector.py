"""A collector: the product's poller, buffer and heartbeats, at the moments at which its loop runs them."""

import asyncio
import atexit
from collections.abc import Iterable
from dataclasses import dataclass, replace

from logdirwatch.collect.kafka.connections import Address
from logdirwatch.collect.loop import REVISION_MS
from logdirwatch.collect.publish.backoff import Backoff
from logdirwatch.collect.publish.buffer import Buffer, Outgoing
from logdirwatch.collect.publish.publisher import Arrivals
from logdirwatch.collect.rounds import records
from logdirwatch.collect.rounds.poll import ClusterPoller, outgoing
from logdirwatch.collect.rounds.rising_clock import RisingClock
from logdirwatch.model import topics
from logdirwatch.model.times import until_round_ms
from tests.simulation.brokers import CLUSTER, Cluster, FakeAdmin
from tests.simulation.clock import Host
from tests.simulation.topics import Telemetry

RESERVE_BYTES = 40 << 20
BACKOFF_MAX_MS = 30_000
LOOP = asyncio.new_event_loop()
"""Polls never wait in it, so that one is enough for all runs."""
atexit.register(LOOP.close)


@dataclass
class Network:
    """What the network does to the records of a collector: ``late_ms`` it delays them, ``copies`` arrive."""

    late_ms: int = 0
    copies: int = 1


class Collector:
    """One run of ``logdirwatch collect``."""

    def __init__(self, host: Host, cluster: Cluster, telemetry: Telemetry, network: Network, interval_ms: int) -> None:
        self.host, self.is_alive, self._cluster, self._telemetry = host, True, cluster, telemetry
        self._network = network
        self._origin = records.Origin(CLUSTER, host.name, interval_ms)
        self._buffer, self._backoff, self._is_sending = Buffer(1_000), Backoff(BACKOFF_MAX_MS), False
        self._poller = ClusterPoller(
            self._origin,
            [Address("host1", 9092)],
            FakeAdmin(cluster),  # type: ignore[arg-type]
            self._publish,
            host.wall_ms,
            lambda _path, _total: RESERVE_BYTES,
            BACKOFF_MAX_MS,
        )
        self._arrivals = Arrivals([CLUSTER], interval_ms, lambda: host.monotonic_ms() / 1000)
        self._beat = RisingClock(host.wall_ms, REVISION_MS)
        host.after(0, self._round)

    def kill(self) -> None:
        """End it: what it has not sent yet is lost."""
        self.is_alive = False

    def _round(self) -> None:
        if not self.is_alive:
            return
        interval_ms = self._origin.interval_ms
        self._poller.facts = replace(self._poller.facts, usages=self._cluster.usages())
        LOOP.run_until_complete(self._poller.poll())
        beat = records.heartbeat_record(self._origin, self._beat(), interval_ms, self._arrivals.overdue_ms(CLUSTER))
        self._publish(outgoing(topics.METRICS, [(f"{CLUSTER}/heartbeat", beat)]))
        self.host.after(until_round_ms(self.host.wall_ms(), interval_ms), self._round)

    def _publish(self, those: Iterable[Outgoing]) -> None:
        self._buffer.put(those)
        if not self._is_sending:
            self._is_sending = True
            self.host.after(5, self._send)

    def _send(self) -> None:
        self._is_sending = False
        if not self.is_alive:
            return
        if not self._telemetry.reaches(self.host):
            self._is_sending = True
            self.host.after(self._backoff.failed(), self._send)
            return
        self._backoff.worked()
        while batch := self._buffer.take(500):
            for copy in range(self._network.copies):
                self.host.after(self._network.late_ms + copy, lambda batch=batch: self._arrive(batch))

    def _arrive(self, batch: list[Outgoing]) -> None:
        for record in batch:
            self._telemetry.append(record.topic, record.key, record.value, self.host.wall_ms())
            self._arrivals.note(record)
