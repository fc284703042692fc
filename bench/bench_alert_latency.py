"""From an event on logdir.events to its alert at a consumer.

    python bench/bench_alert_latency.py [--minutes 11] [--pause-s 0.2]

Starts a telemetry broker and the stream with its defaults: first the fast lane alone in its process, then the whole
application. Sends LogDirFailure events one at a time for the minutes given, which should span two batches of the fast
lane (5 minutes each), and prints the percentiles of the fast lane, and of ``detect`` beside it, which answers the same
events in micro-batches. The ratio of the two is what carries over to other machines.
"""

import argparse
import itertools
import json
import os
import statistics
import time
from collections.abc import Iterable

from logdirwatch.kafka.clients import producer
from logdirwatch.model import topics
from logdirwatch.model.identity import Origin, alert_id
from logdirwatch.model.vocabulary import Rule
from logdirwatch_lab.demo.services import Service
from running import HEADER, Bench, bench, row

WARM_UP = 30
BROKERS, LOG_DIRS = 50, 4
CLUSTER = "bench"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--minutes", type=float, default=11.0)
    arguments.add_argument("--pause-s", type=float, default=0.2)
    chosen = arguments.parse_args()
    events = int(chosen.minutes * 60 / chosen.pause_s)
    with bench() as running:
        alone = measured(running, ("fast_lane",), ("fast",), events, chosen.pause_s)
        whole = measured(running, (), ("fast", "stateful"), events, chosen.pause_s)
    print(f"\nevent to alert at a consumer, {os.cpu_count()} cores, {chosen.minutes:g} minutes each\n{HEADER}")
    print(row("fast lane, alone", alone["fast"]))
    print(row("fast lane, everything running", whole["fast"]))
    print(row("detect, everything running", whole["stateful"]))
    ratio = statistics.median(whole["stateful"]) / statistics.median(whole["fast"])
    print(f"ratio of the medians, detect / fast lane: {ratio:.1f}")


def measured(
    running: Bench, queries: tuple[str, ...], lanes: tuple[str, ...], events: int, pause_s: float
) -> dict[str, list[float]]:
    """Return the seconds from an event's sending to the first record of its alert, a lane."""
    with running.stream(*queries) as service:
        print(f"{' '.join(queries) or 'the whole application'}: warming up with {WARM_UP} events", flush=True)
        wait_for(running, service, send(running, WARM_UP, pause_s), lanes)
        print(f"{events} events", flush=True)
        sent = send(running, events, pause_s)
        wait_for(running, service, sent, lanes)
    arrived = running.arrived
    return {lane: [arrived[lane, key] - at_s for key, at_s in sent.items()] for lane in lanes}


def send(running: Bench, events: int, pause_s: float) -> dict[str, float]:
    """Send events; return when each was handed to the producer, by the alert_id that it will have."""
    client = producer(running.settings.telemetry, acks="all", linger_ms=0)
    places = itertools.cycle(itertools.product(range(LOG_DIRS), range(BROKERS)))
    sent = {}
    try:
        for _, (log_dir, broker) in zip(range(events), places, strict=False):
            path = f"/data/d{log_dir}"
            event = {"version": 1, "cluster": CLUSTER, "broker": broker, "event": "LogDirFailure", "log_dir": path}
            at_s = time.monotonic()
            taken = client.send(topics.EVENTS, json.dumps(event).encode()).get(timeout=30)
            origin = Origin(taken.topic, taken.partition, taken.offset, taken.timestamp)
            sent[alert_id(CLUSTER, broker, path, Rule.LOG_DIR_OFFLINE, str(origin))] = at_s
            time.sleep(pause_s)
    finally:
        client.close(timeout=5)
    return sent


def wait_for(running: Bench, service: Service, keys: Iterable[str], lanes: tuple[str, ...]) -> None:
    wanted = {(lane, key) for lane in lanes for key in keys}
    running.wait(service, lambda: not wanted - running.arrived.keys(), f"the alerts of {len(wanted)} events and lanes")


if __name__ == "__main__":
    main()
