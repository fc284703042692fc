"""The parts of the service, each on a host of its own with a clock of its own, and what is known about them."""

import json
import os
import random
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from logdirwatch.errors import UserError
from logdirwatch.jobs.pipeline import TOPICS
from logdirwatch.model import topics
from logdirwatch.observe.progress import LONGEST_SILENCE_S
from logdirwatch.settings import Settings
from logdirwatch_lab.cluster import LocalCluster
from logdirwatch_lab.config import INTERPRETED
from logdirwatch_lab.demo.services import Service
from logdirwatch_lab.volumes import Volumes
from tests.chaos import ledger
from tests.chaos.archive import Archive
from tests.chaos.feeder import Feeder
from tests.chaos.history import CLUSTERS, TICK_MS
from tests.chaos.receiver import Heard, Receiver
from tests.kafka import collecting
from tests.kafka.telemetry import Run
from tests.support.host_clock import HostClock
from tests.support.waiting import wait_until

WATCHED = "quiet"
NEVER_MS = 10**10
# A query that is silent for longer is started again by the stream itself.
SETTLED_S = max(LONGEST_SILENCE_S.values()) + 60
# Judged by evidence alone: what waits for the clock comes out otherwise each time.
JUDGED = {
    "silence_min_ms": 86_400_000,
    "flapping_times": 10**6,
    "imbalance_after_ms": NEVER_MS,
    "state_refresh_ms": 0,
    "thresholds": {"filling_within_ms": 0, "critical_within_ms": 0, "page_within_ms": 0},
}
STREAM = {
    "driver_memory": "1g",
    "pipeline_interval_ms": 1_000,
    "store_trigger": "2 seconds",
    "store_inventory_trigger": "5 seconds",
    "detect_trigger": "500 milliseconds",
    "restart_backoff_max_ms": 5_000,
    "stop_timeout_ms": 1_000,
}
QUERIES = ("fast_lane", "detect", "fleet", "store", "store_inventory")
READS = {query: TOPICS[query] for query in QUERIES if query != "fast_lane"}
"""The topics of each query whose batches end; the one batch of ``fast_lane`` does not."""


class World:
    """Stream, collector and ``notify`` over one telemetry broker, the history that is fed to it, and a receiver."""

    def __init__(
        self, cluster: LocalCluster, settings: Settings, folder: Path, seed: int, volumes: Volumes, feeder: Feeder
    ) -> None:
        self.cluster, self.volumes, self.feeder = cluster, volumes, feeder
        self.random = random.Random(seed)
        self.clocks = {name: HostClock(folder / "clocks" / name) for name in ("stream", "collect", "notify")}
        self.receiver = Receiver()
        self.run = _run(settings, folder / "run", cluster.bootstrap_servers, self.receiver.url, self.clocks["stream"])
        self.archive = Archive(self.run.settings.telemetry)
        self.collector, self.notifier = self._service("collect"), self._service("notify")
        self.found: list[str] = []
        """What was seen to be wrong while it ran."""
        self.notes: list[str] = []
        """What was drawn within a strike."""
        self.restarts: list[str] = []
        """The services that ended by themselves, which their supervisor starts again."""

    def _service(self, command: str) -> Service:
        words = ["--config", str(self.run.config), command]
        return Service(command, words, self.run.folder / f"{command}.log", self.clocks[command].under)

    def start(self) -> None:
        """Start everything but the history."""
        self.receiver.start()
        self.run.start()
        self.collector.start()
        self.notifier.start()

    def stop(self) -> None:
        """Stop everything but the history."""
        self.collector.stop()
        self.notifier.stop()
        self.run.stop()
        self.receiver.stop()

    def kill(self, service: Service) -> None:
        """Kill a service that is not the stream, and start it again."""
        os.killpg(service.pid, signal.SIGKILL)
        service.stop()
        service.start()

    def mend(self) -> None:
        """Do what a person does when nothing goes on by itself: set the clocks right, start the stream again."""
        for clock in self.clocks.values():
            clock.set_ahead(0)
        if self.run.service is not None:
            self.run.kill()
        self.run.start()

    def wait_for(self, condition: Callable[[], Any], message: str, deadline_s: float) -> Any:
        """Wait as a supervisor does: what ends by itself is started again, and noted."""

        def seen() -> Any:
            self._supervise()
            self.feeder.check()
            with suppress(UserError):  # the telemetry broker is away
                return condition()

        return wait_until(seen, deadline_s, lambda: f"{message}; {self.run.service.tail()}", pause_s=0.5)

    def _supervise(self) -> None:
        for service in (self.run.service, self.collector, self.notifier):
            self._start_again(service)

    def _start_again(self, service: Service) -> None:
        try:
            service.check()
        except UserError as ended:
            self.restarts.append(str(ended).partition(";")[0])
            service.stop()
            service.start()

    def goes_on(self) -> None:
        """Wait until detect and store have each ended a batch that began after this call."""
        for query in ("detect", "store"):
            self.ends_a_batch(query)

    def ends_a_batch(self, query: str) -> None:
        """Wait until a query has ended a batch that began after this call."""
        before = self.run._batches(query, "commits")
        self.wait_for(lambda: self.run._batches(query, "commits") - before, f"{query} to end a batch", SETTLED_S)

    def log(self) -> str:
        """Return everything that the stream has logged."""
        return self.run.service.log_file.read_text(errors="replace")

    # -- what is so, and what people are told

    def states(self) -> dict[tuple[str, int], dict[str, Any]]:
        """Return the newest state record of each broker."""
        found: dict[tuple[str, int], dict[str, Any]] = {}
        for record in self.archive.ours(topics.STATE):
            state = json.loads(record.value)
            key = state["cluster"], state["broker"]
            if key not in found or state["sequence"] >= found[key]["sequence"]:
                found[key] = state
        return found

    def alerts(self) -> dict[str, dict[str, Any]]:
        """Return the highest revision of each alert of the history's clusters."""
        found: dict[str, dict[str, Any]] = {}
        for record in self.archive.ours(topics.ALERTS):
            alert = json.loads(record.value)
            known = found.get(alert["alert_id"])
            if alert["cluster"] in CLUSTERS and (known is None or alert["revision"] >= known["revision"]):
                found[alert["alert_id"]] = alert
        return found

    def firing(self) -> set[Heard]:
        """Return the alerts of the history's clusters that fire and are worth a message."""
        alerts = self.alerts().values()
        return {
            Heard(alert["alert_id"], alert["severity"])
            for alert in alerts
            if alert["status"] == "firing" and alert["severity"] != "info"
        }

    def settle(self) -> set[Heard]:
        """Return what fires, once everything fed so far is judged and people have heard it.

        Nothing may happen in the history meanwhile.
        """
        # Two levels in a row make a status, and a broker that was away answers after six ticks.
        until_ms = self.feeder.last_ms + 9 * TICK_MS
        self.wait_for(lambda: self._has_judged(until_ms), "detect to judge what was fed", 2 * SETTLED_S)
        self.is_heard()
        return self.firing()

    def is_heard(self) -> None:
        """Wait until the receiver has the picture of the topic; what it has too much or too little is wrong."""
        with suppress(AssertionError):
            self.wait_for(lambda: not self._unlike(), "people to hear what fires", SETTLED_S)
        self.found += self._unlike()

    def _has_judged(self, until_ms: int) -> bool:
        of_history = [state for (cluster, _), state in self.states().items() if cluster in CLUSTERS]
        return bool(of_history) and all(state["at_ms"] >= until_ms for state in of_history)

    def _unlike(self) -> list[str]:
        return ledger.differences("told people", self.receiver.picture.firing(CLUSTERS), self.firing())

    def command(self, *words: str, fails: bool = False) -> str:
        """Run a command of the product and return what it prints; ``fails`` says whether it may end with 1."""
        done = collecting.run(self.run.config, *words, deadline_s=2 * SETTLED_S)
        self.found += ledger.of_command(words, done.returncode, done.stderr, may_fail=fails)
        if done.returncode and done.stderr.strip():
            self.notes.append(done.stderr.strip().splitlines()[-1])
        return done.stdout

    # -- how far the queries have read

    def reached(self, query: str, topic: str) -> dict[int, int]:
        """Return the offsets that a query has read a topic up to: those of its newest batch that ended."""
        folder = self.run.folder / "checkpoints" / query
        ended = self.run._batches(query, "commits")
        if not ended:
            return {}
        for line in (folder / "offsets" / str(max(ended))).read_text().splitlines():
            with suppress(ValueError):
                found = json.loads(line)
                if isinstance(found, dict) and topic in found:
                    return {int(number): at for number, at in found[topic].items()}
        return {}

    def drain(self, *names: str) -> None:
        """Wait until every query has read all that lies in topics now; the history must be paused."""
        for topic in names:
            self.archive.records(topic)
            ends = self.archive.ends(topic)
            for query in (query for query, read in READS.items() if topic in read):
                self.wait_for(
                    lambda query=query, topic=topic, ends=ends: covers(self.reached(query, topic), ends),
                    f"{query} to read {topic}",
                    2 * SETTLED_S,
                )


def covers(reached: dict[int, int], ends: dict[int, int]) -> bool:
    """Tell whether offsets reach the ends of all partitions."""
    return all(reached.get(number, 0) >= end for number, end in ends.items())


def _run(settings: Settings, folder: Path, bootstrap_servers: str, receiver: str, clock: HostClock) -> Run:
    stream = STREAM | {"driver_java_options": settings.stream.driver_java_options, "extra": INTERPRETED}
    overrides = {
        "telemetry": {"bootstrap_servers": bootstrap_servers},
        # The collector watches the broker that nothing happens to.
        "clusters": {WATCHED: {"bootstrap_servers": settings.telemetry.bootstrap_servers}},
        "detect": JUDGED,
        "fleet": {"space_after_ms": NEVER_MS, "restart_window_ms": 0},
        "stream": stream,
        "notify": {
            "receivers": {"people": {"alertmanager": [receiver]}},
            "resend_interval_ms": 15_000,
            "backoff_max_ms": 1_000,
        },
    }
    return Run(folder, settings, overrides, queries=QUERIES, under=clock.under)
