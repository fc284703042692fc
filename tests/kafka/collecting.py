"""The collector as a process, and what it wrote, by reading the telemetry topics."""

import asyncio
import json
import signal
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import yaml

from logdirwatch.collect.loop import ClusterWatch
from logdirwatch.collect.settings import CollectSettings, JmxExporterSettings
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model import topics
from logdirwatch.model.records import EventRecord, HeartbeatRecord, HostRecord, InventoryRecord, MetricsRecord
from logdirwatch_lab.cluster import LocalCluster
from logdirwatch_lab.config import CLUSTER
from logdirwatch_lab.volumes import volumes_of
from tests.support.waiting import DEADLINE_S, wait_until

COMMAND = [sys.executable, "-m", "logdirwatch"]
POLL_MS = 500
TYPES = {
    topics.METRICS: MetricsRecord | HeartbeatRecord,
    topics.EVENTS: EventRecord,
    topics.INVENTORY: InventoryRecord,
}


def run(config: Path, *arguments: str, deadline_s: float = DEADLINE_S) -> subprocess.CompletedProcess[str]:
    """Run ``logdirwatch`` to its end."""
    command = [*COMMAND, "--config", str(config), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=deadline_s, check=False)


def write_config(
    path: Path, telemetry: str, bootstrap_servers: str, *, client=None, telemetry_client=None, **collect
) -> Path:
    """Write a configuration of one cluster named ``test``."""
    content = {
        "telemetry": {"bootstrap_servers": telemetry, "client": telemetry_client or {}},
        "clusters": {"test": {"bootstrap_servers": bootstrap_servers, "client": client or {}}},
        "collect": collect,
    }
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


@dataclass
class Collector:
    """One run of ``logdirwatch collect`` under a name of its own; ends with the ``with`` block."""

    telemetry: str
    bootstrap_servers: str
    folder: Path
    client: dict[str, str] = field(default_factory=dict)
    name: str = field(default_factory=lambda: uuid.uuid4().hex)
    settings: dict[str, int] = field(default_factory=dict)

    def __enter__(self):
        collect = {
            "collector": self.name,
            "metrics_interval_ms": POLL_MS,
            "inventory_interval_ms": 2_000,
            "partitions_interval_ms": POLL_MS,
            "request_timeout_ms": 2_000,
            "backoff_max_ms": 1_000,
            **self.settings,
        }
        config = write_config(
            self.folder / f"{self.name}.yaml", self.telemetry, self.bootstrap_servers, client=self.client, **collect
        )
        self.log_path = self.folder / f"{self.name}.log"
        with self.log_path.open("w") as log:
            command = [*COMMAND, "--config", str(config), "collect"]
            self._process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        return self

    def __exit__(self, *_):
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    @property
    def log(self) -> str:
        return self.log_path.read_text()

    def stop(self, number=signal.SIGTERM) -> int:
        """Ask it to end; return its exit code."""
        self._process.send_signal(number)
        return self._process.wait(DEADLINE_S)

    def says(self, text: str) -> str:
        """Wait for a line of its log that has ``text``."""

        def line():
            assert self._process.poll() is None, f"collector ended:\n{self.log}"
            return next((line for line in self.log.splitlines() if text in line), None)

        return wait_until(line, DEADLINE_S, lambda: f"a line with {text!r} in\n{self.log}")

    def written(self, topic: str):
        """Return (Kafka record, decoded record) of everything it wrote to a topic, oldest first."""
        settings = KafkaSettings(bootstrap_servers=self.telemetry)
        read = (
            (record, msgspec.json.decode(record.value, type=TYPES[topic]))
            for record in clients.read_all(settings, topic)
        )
        mine = [(record, decoded) for record, decoded in read if decoded.collector == self.name]
        return sorted(mine, key=lambda pair: (pair[0].timestamp, pair[1].timestamp_ms))

    def metrics(self, broker: int | None = None) -> list[MetricsRecord]:
        found = [record for _, record in self.written(topics.METRICS) if isinstance(record, MetricsRecord)]
        return [record for record in found if broker in (None, record.broker)]

    def events(self, name: str | None = None) -> list[EventRecord]:
        return [record for _, record in self.written(topics.EVENTS) if name in (None, record.event)]

    def inventory(self, kind: type) -> list:
        return [record for _, record in self.written(topics.INVENTORY) if isinstance(record, kind)]

    def waits_for(self, found, message: str):
        """Return the first true value of ``found()``; fail with the collector's log."""

        def check():
            assert self._process.poll() is None, f"collector ended:\n{self.log}"
            return found()

        return wait_until(check, DEADLINE_S, lambda: f"{message}; its log:\n{self.log}", pause_s=0.3)

    def metrics_where(self, broker: int, holds, message: str) -> MetricsRecord:
        """Wait for a metrics record of ``broker`` for which ``holds``."""
        return self.waits_for(
            lambda: next((record for record in self.metrics(broker) if holds(record)), None),
            f"a record of broker {broker}: {message}",
        )


def collector_of(cluster: LocalCluster, folder: Path, **settings: int) -> Collector:
    """Return a collector that watches a local cluster."""
    return Collector(cluster.telemetry, cluster.bootstrap_servers, folder, settings=settings)


class Looks:
    """A collector in this process that looks when it is told to and keeps what it says; ends with the ``with`` block.

    No telemetry cluster is needed.
    """

    def __init__(self, bootstrap_servers: str) -> None:
        self._servers = KafkaSettings(bootstrap_servers=bootstrap_servers)
        self._said = []
        self._loop = asyncio.new_event_loop()

    def __enter__(self):
        self._watch = ClusterWatch(
            "test",
            self._servers,
            JmxExporterSettings(),
            CollectSettings(metrics_interval_ms=POLL_MS),
            lambda _path, _total: 0,
            self._said.extend,
            lambda: time.time_ns() // 1_000_000,
        )
        return self

    def __exit__(self, *_):
        self._watch.close()
        self._loop.close()

    def look(self) -> bool:
        """Ask everything once; tell whether all was answered."""
        return self._loop.run_until_complete(self._watch.once())

    def poll(self) -> MetricsRecord:
        """Ask for the directories once; return the last record."""
        self._loop.run_until_complete(self._watch.poller.poll())
        return self.metrics()[-1]

    def said(self, topic: str) -> list:
        return [msgspec.json.decode(one.value, type=TYPES[topic]) for one in self._said if one.topic == topic]

    def metrics(self) -> list[MetricsRecord]:
        return [record for record in self.said(topics.METRICS) if isinstance(record, MetricsRecord)]

    def inventory(self, kind: type) -> list:
        return [record for record in self.said(topics.INVENTORY) if isinstance(record, kind)]


def look_at_host(cluster, node, folder):
    """Return what ``watch-host --once`` sees on a broker's host: a record, and the events of its log."""
    config = yaml.safe_load(cluster.config_path.read_text())
    config["host"] = {
        "cluster": CLUSTER,
        "broker": node.id,
        "properties_file": str(node.properties_file),
        "server_log": str(node.log_file),
    }
    path = folder / "host.yaml"
    path.write_text(yaml.safe_dump(config))
    command = [*COMMAND, "--config", str(path), "watch-host", "--once", "--json"]
    inside = volumes_of(cluster.state()).inside(command)
    done = subprocess.run(inside, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    return msgspec.convert(told["record"], HostRecord), msgspec.convert(told["events"], list[EventRecord])
