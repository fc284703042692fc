"""From an event on logdir.events to its alert at a consumer: both lanes in one run of the whole application.

    python bench/bench_alert_latency.py [--events 200] [--pause-s 0.2]

Starts a telemetry broker and the stream, sends LogDirFailure events one at a time, and prints the percentiles of both
lanes and their ratio. The ratio is what carries over to other machines.
"""

import argparse
import json
import os
import statistics
import tempfile
import threading
import time
from pathlib import Path

from logdirwatch import settings as configuration
from logdirwatch import telemetry
from logdirwatch.demo.services import Service
from logdirwatch.kafka_clients import follow, producer
from logdirwatch.local.cluster import LocalCluster
from logdirwatch.local.config import ClusterSpec
from logdirwatch.model import topics

WARM_UP = 10


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--events", type=int, default=200)
    arguments.add_argument("--pause-s", type=float, default=0.2)
    chosen = arguments.parse_args()
    jars_home = Path(os.environ.get("LOGDIRWATCH_HOME", ".logdirwatch")).absolute()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (jars_home / "jars").mkdir(parents=True, exist_ok=True)
        home.joinpath("jars").symlink_to(jars_home / "jars")
        with LocalCluster(home, ClusterSpec(brokers=1, log_dirs=1), jars_home=jars_home, say=print) as cluster:
            measure(cluster, chosen.events, chosen.pause_s)


def measure(cluster: LocalCluster, events: int, pause_s: float) -> None:
    settings = configuration.load(cluster.config_path)
    telemetry.create_missing(settings)
    arrived: dict[str, dict[int, float]] = {"fast": {}, "stateful": {}}
    threading.Thread(target=listen, args=(settings, arrived), daemon=True).start()
    stream = Service("stream", ["--config", str(cluster.config_path), "stream"], cluster.folder / "stream.log").start()
    try:
        print(f"warming up with {WARM_UP} events", flush=True)
        send(settings, range(WARM_UP), pause_s)
        wait_for(stream, arrived, WARM_UP)
        sent = send(settings, range(WARM_UP, WARM_UP + events), pause_s)
        wait_for(stream, arrived, WARM_UP + events)
    finally:
        stream.stop()
    report({lane: [at - sent[b] for b, at in seen.items() if b in sent] for lane, seen in arrived.items()})


def listen(settings: configuration.Settings, arrived: dict[str, dict[int, float]]) -> None:
    for message in follow(settings.telemetry, topics.ALERTS, from_beginning=True):
        record = json.loads(message.value)
        if record["rule"] == "log_dir_offline" and record["status"] == "firing":
            arrived[record["lane"]].setdefault(record["broker"], time.monotonic())


def send(settings: configuration.Settings, brokers: range, pause_s: float) -> dict[int, float]:
    """Send one event a broker id; return when each was handed to the producer."""
    client = producer(settings.telemetry, acks="all", linger_ms=0)
    sent = {}
    try:
        for broker in brokers:
            record = {"version": 1, "cluster": "bench", "broker": broker, "event": "LogDirFailure", "log_dir": "/d1"}
            sent[broker] = time.monotonic()
            client.send(topics.EVENTS, json.dumps(record).encode()).get(timeout=30)
            time.sleep(pause_s)
    finally:
        client.close(timeout=5)
    return sent


def wait_for(stream: Service, arrived: dict[str, dict[int, float]], events: int, deadline_s: float = 300.0) -> None:
    end_s = time.monotonic() + deadline_s
    while any(len(seen) < events for seen in arrived.values()):
        stream.check()
        if time.monotonic() > end_s:
            raise SystemExit(f"only { ({lane: len(seen) for lane, seen in arrived.items()}) } of {events} alerts came")
        time.sleep(0.1)


def report(latencies: dict[str, list[float]]) -> None:
    print(f"\nevent to alert at a consumer, seconds, {os.cpu_count()} cores, the whole application running")
    print(f"{'lane':<10}{'n':>6}{'p50':>9}{'p95':>9}{'p99':>9}{'max':>9}")
    medians = {}
    for lane, values in latencies.items():
        cuts = statistics.quantiles(values, n=100)
        medians[lane] = statistics.median(values)
        print(f"{lane:<10}{len(values):>6}{medians[lane]:>9.3f}{cuts[94]:>9.3f}{cuts[98]:>9.3f}{max(values):>9.3f}")
    print(f"ratio of the medians, stateful / fast: {medians['stateful'] / medians['fast']:.1f}")


if __name__ == "__main__":
    main()
