"""The stream under fire: a known history, strikes drawn from a seed, and the ledger at the end."""

import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from logdirwatch.demo.services import Service
from logdirwatch.kafka.clients import read_all
from logdirwatch.local.cluster import LocalCluster
from logdirwatch.local.state import MountMode
from logdirwatch.local.volumes import open_volumes, unmount_below
from logdirwatch.model import topics
from logdirwatch.settings import Settings
from tests.chaos import ledger, strikes
from tests.chaos.feeder import Feeder
from tests.chaos.history import ARRIVAL_MS, CLUSTERS, COLLECTOR, GARBAGE, TICK_MS, History, Written
from tests.chaos.reference import BROKER, Reference
from tests.chaos.strikes import Struck
from tests.kafka.telemetry import Run, fresh_topics
from tests.support.waiting import wait_until

DISK_BYTES = 1 << 30
CAUGHT_UP_S = 600.0
HOUR_MS = 3_600_000
NEVER_MS = 10**10
# Judged by evidence alone: what waits for the clock comes out otherwise each time.
JUDGED = {
    "silence_min_ms": 86_400_000,
    "flapping_times": 10**6,
    "imbalance_after_ms": NEVER_MS,
    "state_refresh_ms": 0,
    "thresholds": {"filling_within_ms": 0, "critical_within_ms": 0, "page_within_ms": 0},
}
OTHERS_EACH = 5
WATCHED = "quiet"


@dataclass
class Report:
    """What was done and what was found."""

    seed: int
    struck: list[Struck] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    watched: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def lines(self) -> list[str]:
        """Return it for people."""
        inside = sum(struck.is_inside for struck in self.struck)
        by_phase = Counter(struck.phase for struck in self.struck)
        return [
            f"seed {self.seed}: {len(self.struck)} kills of the driver, {inside} inside a batch; {self.seconds:.0f} s",
            *(f"  {times:>4} at {phase}" for phase, times in sorted(by_phase.items())),
            *(f"  {times:>4} {other}" for other, times in sorted(Counter(self.others).items())),
            "  " + ", ".join(f"{count} {name}" for name, count in self.counts.items()),
            *(f"  the watched cluster's own: {line}" for line in self.watched),
            *(f"  WRONG {line}" for line in self.found),
            "  nothing lost, nothing invented" if not self.found else f"  {len(self.found)} differences",
        ]


class Campaign:
    """One run over a telemetry broker, broker 0 of ``cluster``; the folder's disks have a size of their own."""

    def __init__(
        self, cluster: LocalCluster, settings: Settings, folder: Path, seed: int, say: Callable[[str], None]
    ) -> None:
        self._cluster, self._seed, self._say = cluster, seed, say
        self._random = random.Random(seed)
        self._volumes = open_volumes(MountMode.DIRECT, folder)
        self._run = _run(settings, folder / "run", cluster.bootstrap_servers)
        self._collector = Service(
            "collect", ["--config", str(self._run.config), "collect"], self._run.folder / "collect.log"
        )
        self.report = Report(seed)

    def strike(self, kills: int) -> Report:
        """Strike so many times, and the other ways in between; return what the ledger says."""
        begin_s = time.monotonic()
        run = self._run
        for name in ("checkpoints", "tables"):
            (run.folder / name).mkdir()
            self._volumes.mount(run.folder / name, DISK_BYTES)
        fresh_topics(run.settings)
        feeder = Feeder(run.settings.telemetry, History(self._seed, _begin_ms())).start()
        try:
            run.start()
            self._collector.start()
            strikes.goes_on(run)
            others = self._others()
            for number in range(kills):
                self._kill()
                if number % OTHERS_EACH == OTHERS_EACH - 1 or number == kills - 1:
                    self._other(others)
            feeder.end()
            self._judge(feeder)
        finally:
            self._collector.stop()
            run.stop()
            unmount_below(run.folder)
        self.report.seconds = time.monotonic() - begin_s
        return self.report

    # -- strikes

    def _kill(self) -> None:
        phase = self._random.choice(strikes.phases(self._run))
        struck = strikes.kill_driver(self._run, phase, self._random)
        self.report.struck.append(struck)
        self._say(f"{len(self.report.struck)}: {struck.phase}{', inside a batch' if struck.is_inside else ''}")
        self._run.start()

    def _others(self) -> list[tuple[str, Callable[[], Any]]]:
        run, cluster, drawn = self._run, self._cluster, self._random
        checkpoints, tables = run.folder / "checkpoints", run.folder / "tables"
        found: list[tuple[str, Callable[[], Any]]] = [
            ("Python worker killed", lambda: strikes.kill_worker(run, drawn)),
            ("stream stopped for 60 s", lambda: strikes.stop_driver(run, 60)),
            ("telemetry broker killed", lambda: strikes.kill_broker(cluster)),
            ("telemetry broker stopped for 30 s", lambda: strikes.stop_broker(cluster, 30)),
            ("tables compacted beside the stream", lambda: strikes.compact(run, drawn)),
            ("disk of the checkpoints full", lambda: strikes.fill_disk(run, self._volumes, checkpoints)),
            ("disk of the tables full", lambda: strikes.fill_disk(run, self._volumes, tables)),
            ("collector killed", self._kill_collector),
            ("checkpoint's last file torn", self._tear),
        ]
        drawn.shuffle(found)
        return found

    def _other(self, others: list[tuple[str, Callable[[], Any]]]) -> None:
        """Strike in the next of the other ways while the stream runs, and see that it goes on."""
        strikes.goes_on(self._run)
        name, strike = others[len(self.report.others) % len(others)]
        self._say(name)
        strike()
        self.report.others.append(name)
        strikes.goes_on(self._run)

    def _kill_collector(self) -> None:
        os.kill(self._collector.pid, signal.SIGKILL)
        self._collector.stop()
        self._collector.start()

    def _tear(self) -> None:
        strikes.tear(self._run, self._random)
        self._run.start()

    # -- the ledger

    def _judge(self, feeder: Feeder) -> None:
        run, reference = self._run, Reference()
        lying = _lying(run.settings)
        reference.take(lying)
        last_ms = max(at_ms for _, at_ms in reference.samples) - TICK_MS // 2
        run.wait_for(lambda: self._is_judged(reference, last_ms), "detect to judge everything", CAUGHT_UP_S)
        told = [value for _, value in run.values(topics.ALERTS) if json.loads(value)["rule"] != "heartbeat"]
        by_key = {(record["alert_id"], record["revision"]): record for record in map(json.loads, told)}
        with suppress(AssertionError):
            wait_until(lambda: not self._tables(reference, by_key), CAUGHT_UP_S, "everything stored", pause_s=5)
        alerts = [record for record in by_key.values() if record["cluster"] in CLUSTERS]
        others = [record for record in by_key.values() if record["cluster"] not in CLUSTERS]
        steps = run.rows("transitions")
        self.report.found += [
            *ledger.differences("records", set(feeder.written) - set(lying), ()),
            *ledger.repeats(told),
            *ledger.of_detect(reference, alerts, [_as_record(row) for row in steps if row["cluster"] in CLUSTERS]),
            *ledger.of_watched(others, WATCHED),
            *self._tables(reference, by_key),
        ]
        self.report.watched = sorted(map(ledger.line_of, others))
        self.report.counts = {
            "records": len(lying),
            "of them bad": reference.rejected,
            "events": reference.fast,
            "alerts": len(reference.lives),
            "revisions": len(by_key) - len(others),
            "repeats on the topic": len(told) - len(by_key),
            "transitions": len(reference.steps),
        }

    def _is_judged(self, reference: Reference, last_ms: int) -> bool:
        states = self._run.states()
        brokers = {place[:2]: status for place, status in reference.statuses().items() if place[2] == BROKER}
        return all(
            broker in states and states[broker]["status"] == status and states[broker]["at_ms"] >= last_ms
            for broker, status in brokers.items()
        )

    def _tables(self, reference: Reference, by_key: dict[tuple[str, int], Any]) -> list[str]:
        run = self._run
        stored = [(row["alert_id"], row["revision"]) for row in run.rows("alerts") if row["rule"] != "heartbeat"]
        samples = [
            ((row["cluster"], row["broker"], row["log_dir"]), row["timestamp_ms"])
            for row in run.rows("log_dir_samples")
            if row["collector"] == COLLECTOR and row["log_dir"]
        ]
        statuses = {
            (row["cluster"], row["broker"], row.get("log_dir") or BROKER): row["status"]
            for table in ("log_dir_state", "broker_state")
            for row in run.rows(table)
            if row["cluster"] in CLUSTERS
        }
        rejected = run.rows("rejected_records")
        return [
            *ledger.differences("table alerts", stored, by_key),
            *ledger.differences("table log_dir_samples", samples, reference.samples),
            *ledger.differences("statuses in tables", statuses.items(), reference.statuses().items()),
            *ledger.differences("number of rejected records", [len(rejected)], [reference.rejected]),
        ]


def _run(settings: Settings, folder: Path, bootstrap_servers: str) -> Run:
    monitored = settings.telemetry.bootstrap_servers
    overrides = {
        "telemetry": {"bootstrap_servers": bootstrap_servers},
        # The collector watches the broker that nothing happens to.
        "clusters": {WATCHED: {"bootstrap_servers": monitored}},
        "detect": JUDGED,
        "fleet": {"space_after_ms": NEVER_MS, "restart_window_ms": 0},
    }
    return Run(folder, settings, overrides, queries=("fast_lane", "detect", "fleet", "store", "store_inventory"))


def _lying(settings: Settings) -> list[Written]:
    """Return the history as it lies in Kafka, repeats of the producer included, in the order of time."""
    bad = set(GARBAGE)
    found = []
    for topic in (topics.METRICS, topics.EVENTS):
        for message in read_all(settings.telemetry, topic):
            if message.value in bad or _is_ours(message.value):
                is_good = message.value not in bad
                found.append(Written(topic, message.partition, message.value, message.timestamp, is_good))
    return sorted(found, key=lambda record: record.timestamp_ms)


def _is_ours(value: bytes) -> bool:
    return json.loads(value).get("cluster") in CLUSTERS


def _as_record(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"to": row["to_status"]}


def _begin_ms() -> int:
    """Return a time so long ago that the history, which runs faster than the clock, never comes up with it."""
    return (int(time.time()) * 1_000 - 12 * HOUR_MS) - ARRIVAL_MS
