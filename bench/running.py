"""A telemetry broker and the stream over it, as it runs in production, for the benchmarks that time the whole."""

import json
import os
import re
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from logdirwatch import settings as configuration
from logdirwatch.errors import UserError
from logdirwatch.kafka import telemetry_topics
from logdirwatch.kafka.clients import follow
from logdirwatch.model import topics
from logdirwatch.settings import Settings
from logdirwatch_lab.cluster import LocalCluster
from logdirwatch_lab.config import ClusterSpec
from logdirwatch_lab.demo.services import Service

Key = tuple[str, str]
"""Lane and alert_id."""


class Bench:
    """One telemetry cluster; ``stream`` runs queries over it with the defaults of the configuration."""

    def __init__(self, cluster: LocalCluster, stream: dict[str, Any], sections: dict[str, Any]) -> None:
        self._folder = cluster.folder
        local = yaml.safe_load(cluster.config_path.read_text())
        # What the local cluster saves on small machines stays away: the defaults are what is measured.
        self.config = cluster.folder / "bench.yaml"
        self.config.write_text(yaml.safe_dump({**local, **sections, "stream": {"driver_java_options": "", **stream}}))
        self.settings: Settings = configuration.load(self.config)
        telemetry_topics.create_missing(self.settings)
        self._alerts: dict[Key, float] = {}
        self._records: list[dict[str, Any]] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def add_java_options(self, options: str) -> None:
        """Give the stream's JVM further options, to compare with the defaults."""
        content = yaml.safe_load(self.config.read_text())
        content["stream"]["driver_java_options"] += f" {options}"
        self.config.write_text(yaml.safe_dump(content))

    @contextmanager
    def stream(self, *queries: str, nice: int = 0) -> Iterator[Service]:
        """Run the stream with these queries, or with all; ``nice`` is how far it stands back for others."""
        chosen = [word for query in queries for word in ("--query", query)]
        log = self._folder / f"stream-{'-'.join(queries) or 'all'}.log"
        service = Service("stream", ["--config", str(self.config), "stream", *chosen], log).start()
        os.setpriority(os.PRIO_PGRP, service.pid, nice)
        try:
            yield service
        except UserError as error:
            raise SystemExit(str(error)) from None
        finally:
            service.stop()

    @property
    def arrived(self) -> dict[Key, float]:
        """When the first record of an alert was seen in a lane, by this process's monotonic clock in seconds."""
        return dict(self._alerts)

    @property
    def records(self) -> list[dict[str, Any]]:
        """Every alert record so far, with ``seen_s`` beside its own fields; heartbeats left out."""
        return list(self._records)

    def wait(self, service: Service, holds: Callable[[], bool], what: str, deadline_s: float = 300.0) -> None:
        """Wait until ``holds``."""
        ends_s = time.monotonic() + deadline_s
        while not holds():
            service.check()
            if time.monotonic() > ends_s:
                raise SystemExit(f"{what} did not come within {deadline_s:g} s; {service.tail()}")
            time.sleep(0.1)

    def _listen(self) -> None:
        for message in follow(self.settings.telemetry, topics.ALERTS):
            seen_s = time.monotonic()
            if message.value is None:
                continue
            record = json.loads(message.value)
            if record["rule"] != "heartbeat":
                self._alerts.setdefault((record["lane"], record["alert_id"]), seen_s)
                self._records.append({**record, "seen_s": seen_s})


@contextmanager
def bench(
    brokers: int = 1, log_dirs: int = 1, sections: dict[str, Any] | None = None, **stream: Any
) -> Iterator[Bench]:
    """A telemetry cluster and a watched one, gone with the block; ``stream`` goes over that section's defaults.

    ``sections`` are further sections of the configuration.
    """
    jars_home = Path(os.environ.get("LOGDIRWATCH_HOME", ".logdirwatch")).absolute()
    with (
        _home(jars_home) as home,
        LocalCluster(home, ClusterSpec(brokers=brokers, log_dirs=log_dirs), jars_home=jars_home, say=print) as cluster,
    ):
        yield Bench(cluster, stream, sections or {})


@contextmanager
def _home(jars_home: Path) -> Iterator[Path]:
    """A folder for all that a bench writes, with the jars of the installation and the archive of their classes."""
    with tempfile.TemporaryDirectory() as home:
        (jars_home / "jars").mkdir(parents=True, exist_ok=True)
        Path(home, "jars").symlink_to(jars_home / "jars")
        yield Path(home)


def heap(service: Service) -> str:
    """Return what the stream's JVM keeps after a full collection."""
    children = subprocess.run(["pgrep", "-P", str(service.pid), "java"], capture_output=True, text=True, check=False)
    (jvm,) = children.stdout.split() or [""]
    subprocess.run(["jcmd", jvm, "GC.run"], capture_output=True, check=False)
    told = subprocess.run(["jcmd", jvm, "GC.heap_info"], capture_output=True, text=True, check=False).stdout
    used_kib = sum(int(size) for size in re.findall(r"generation.*used (\d+)K", told))
    return f"{used_kib / 1024:.0f} MiB" if used_kib else "not known (jcmd is missing)"


HEADER = f"{'':<34}{'n':>6}{'p50 s':>9}{'p95 s':>9}{'p99 s':>9}{'max s':>9}"


def row(name: str, seconds: list[float]) -> str:
    """Return one line of the table under ``HEADER``."""
    if len(seconds) < 2:
        raise SystemExit(f"{name}: {len(seconds)} measurements")
    cuts = statistics.quantiles(seconds, n=100)
    columns = (statistics.median(seconds), cuts[94], cuts[98], max(seconds))
    return f"{name:<34}{len(seconds):>6}" + "".join(f"{value:>9.3f}" for value in columns)
