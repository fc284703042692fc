"""What ``logdirwatch watch`` costs, and how long a scrape of a large fleet takes.

    python bench/bench_watch.py [--minutes 2] [--brokers 4] [--log-dirs 3] [--protocol-only]

Watches a local cluster in which nothing happens, without a configuration, and prints the seconds until the first
sentence, the share of a core that it took after its start, and its memory (RSS). Then prints the processor seconds of a
scrape of 2,000 brokers with 12 directories each, whose samples have every value. With ``--protocol-only`` the brokers
are a process that only answers as they do (more than a machine can run), with 40 replicas a directory.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec
import psutil
from prometheus_client import CollectorRegistry, generate_latest

from logdirwatch.model import topics
from logdirwatch.model.records import LogDirSample, MetricsRecord
from logdirwatch.model.vocabulary import PollStatus
from logdirwatch.observe.log_dir_metrics import LogDirMetrics
from logdirwatch_lab.cluster import LocalCluster
from logdirwatch_lab.config import ClusterSpec

MIB = 1 << 20
FLEET, FLEET_LOG_DIRS = 2_000, 12
REPLICAS_OF_A_LOG_DIR = 40


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--minutes", type=float, default=2.0)
    arguments.add_argument("--brokers", type=int, default=4)
    arguments.add_argument("--log-dirs", type=int, default=3)
    arguments.add_argument("--protocol-only", action="store_true")
    chosen = arguments.parse_args()
    seconds = chosen.minutes * 60
    with tempfile.TemporaryDirectory() as home:
        if chosen.protocol_only:
            watch_protocol(chosen.brokers, chosen.log_dirs, Path(home), seconds)
            return
        cluster = LocalCluster(Path(home), ClusterSpec(chosen.brokers, chosen.log_dirs))
        cluster.up()
        try:
            watch(cluster.bootstrap_servers, Path(home), seconds)
        finally:
            cluster.down()
    scrape()


def watch(servers: str, home: Path, seconds: float) -> None:
    told, begun_s = home / "told", time.monotonic()
    with told.open("w") as out:
        line = [sys.executable, "-m", "logdirwatch", "watch", servers]
        service = subprocess.Popen(line, cwd=home, env={"HOME": str(home), "PATH": "/usr/bin:/bin"}, stdout=out)
    try:
        while not re.search(r"\d brokers", told.read_text()):
            time.sleep(0.1)
        print(f"first sentence after {time.monotonic() - begun_s:.1f} s: {told.read_text().splitlines()[-1]}")
        process = psutil.Process(service.pid)
        start_s = used_s(process)
        print(f"start: {start_s:.1f} processor s")
        time.sleep(seconds)
        share = (used_s(process) - start_s) / seconds
        print(f"then {share:.2%} of a core for {seconds:.0f} s, {process.memory_info().rss / MIB:.0f} MiB")
    finally:
        service.terminate()
        service.wait()


def watch_protocol(brokers: int, log_dirs: int, home: Path, seconds: float) -> None:
    """Watch brokers that only speak the protocol, in a process of their own."""
    partitions = brokers * log_dirs * REPLICAS_OF_A_LOG_DIR // 3
    line = [sys.executable, "bench/watch_brokers.py", str(brokers), str(log_dirs), str(partitions)]
    answering = subprocess.Popen(line, env={**os.environ, "PYTHONPATH": "."}, stdout=subprocess.PIPE, text=True)
    assert answering.stdout is not None
    try:
        watch(answering.stdout.readline().strip(), home, seconds)
    finally:
        answering.kill()
        answering.wait()


def used_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def scrape() -> None:
    metrics = LogDirMetrics()
    counts = {"replica_count": 400, "replica_bytes": 9, "future_bytes": 0, "incoming_bytes": 0, "out_of_sync_count": 0}
    for broker in range(FLEET):
        record = MetricsRecord(
            version=1,
            cluster="prod",
            broker=broker,
            timestamp_ms=1,
            status=PollStatus.OK,
            log_dirs=[
                LogDirSample(path=f"/data/d{n}", error_code=0, total_bytes=10**13, usable_bytes=10**12, **counts)
                for n in range(FLEET_LOG_DIRS)
            ],
        )
        metrics.note(topics.METRICS, f"prod/{broker}".encode(), msgspec.json.encode(record))
    registry = CollectorRegistry()
    registry.register(metrics)
    begun_s = time.process_time()
    body = generate_latest(registry)
    taken_s = time.process_time() - begun_s
    lines = sum(not line.startswith(b"#") for line in body.splitlines())
    print(f"a scrape of {FLEET} x {FLEET_LOG_DIRS} directories: {taken_s:.2f} processor s, {lines} series")


if __name__ == "__main__":
    main()
