"""From the sample that decides to the alert at a consumer, everything running.

    python bench/bench_sample_latency.py [--brokers 200 2000] [--alerts 1000] [--interval-s 10] [--apart]

Brokers with twelve log directories each report at their interval, spread evenly over it. Once all are known and Java is
warm, in every round some directories are over the critical threshold for the second time in a row: that sample decides
(debounce), and it is timed from the moment it is handed to the producer. Prints percentiles, and the heap in use after
a collection. With ``--apart`` what judges and what stores and plans are two applications, and the second stands back
for the first.
"""

import argparse
import os
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

from bench_fleet_size import LOG_DIRS, TOTAL_BYTES
from logdirwatch.kafka.clients import producer
from logdirwatch.model import topics
from logdirwatch.model.records import LogDirSample, MetricsRecord
from logdirwatch.model.vocabulary import PollStatus, Rule
from logdirwatch_lab.demo.services import Service
from running import HEADER, Bench, bench, heap, row

JUDGING = ("fast_lane", "detect", "fleet")
NICE = 10
STORING = ("store", "store_inventory", "recommend")
CALM_RATIO, WRONG_RATIO = 0.40, 0.90
CLUSTER = "bench"
ALERTING_ROUNDS = 6
Place = tuple[int, str]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--brokers", type=int, nargs="+", default=[200, 2_000])
    arguments.add_argument("--alerts", type=int, default=1_000)
    arguments.add_argument("--interval-s", type=float, default=10.0)
    arguments.add_argument("--warm-up-rounds", type=int, default=30)
    arguments.add_argument("--apart", action="store_true")
    chosen = arguments.parse_args()
    lines = []
    for brokers in chosen.brokers:
        fleet = Fleet(brokers, chosen.interval_s, chosen.alerts, chosen.warm_up_rounds)
        with bench() as running, ExitStack() as stack:
            service = stack.enter_context(running.stream(*(JUDGING if chosen.apart else ())))
            if chosen.apart:
                stack.enter_context(running.stream(*STORING, nice=NICE))
            seconds = measured(running, service, fleet)
            lines += [row(f"{brokers} brokers", seconds), f"  heap after a collection: {heap(service)}"]
    print(f"\nsample to alert, {os.cpu_count()} cores, {LOG_DIRS} directories a broker, everything running\n{HEADER}")
    print("\n".join(lines))


class Fleet:
    """Which directories are over the threshold in which round, and what brokers report."""

    def __init__(self, brokers: int, interval_s: float, alerts: int, warm_up_rounds: int) -> None:
        self.brokers, self.interval_s = brokers, interval_s
        # A tenth of the directories is enough for a storm; each comes up once. They are spread over several rounds,
        # since `store` runs beside `detect` only every half a minute.
        self._each_round = max(1, min(-(-alerts // ALERTING_ROUNDS), brokers * LOG_DIRS // 10))
        self.rounds = warm_up_rounds + 1 + -(-alerts // self._each_round)
        places = [(broker, log_dir) for log_dir in range(LOG_DIRS) for broker in range(brokers)]
        if alerts > len(places):
            raise SystemExit(f"{brokers} brokers have {len(places)} directories, too few for {alerts} alerts")
        # The round from which a directory stays over the threshold.
        self._wrong_from = {
            place: warm_up_rounds + number // self._each_round for number, place in enumerate(places[:alerts])
        }

    def deciding(self, broker: int, number: int) -> list[Place]:
        """Return the directories for which a broker's sample of round ``number`` is the second over the threshold."""
        return [(broker, path_of(n)) for n in range(LOG_DIRS) if self._wrong_from.get((broker, n)) == number - 1]

    def record(self, broker: int, number: int, at_ms: int) -> bytes:
        """Return the record of a broker's poll."""
        log_dirs = [self._sample(broker, n, number) for n in range(LOG_DIRS)]
        return msgspec.json.encode(
            MetricsRecord(
                version=1,
                cluster=CLUSTER,
                broker=broker,
                timestamp_ms=at_ms,
                status=PollStatus.OK,
                collector="bench",
                interval_ms=int(self.interval_s * 1000),
                is_fenced=False,
                is_registered=True,
                log_dirs=log_dirs,
            )
        )

    def _sample(self, broker: int, log_dir: int, number: int) -> LogDirSample:
        is_wrong = number >= self._wrong_from.get((broker, log_dir), self.rounds)
        # Of every directory a little more is used each time, and no two of a broker use the same.
        used = int(TOTAL_BYTES * (WRONG_RATIO if is_wrong else CALM_RATIO - log_dir / 100)) + (number << 20)
        sizes: dict[str, Any] = {"total_bytes": TOTAL_BYTES, "usable_bytes": TOTAL_BYTES - used, "replica_bytes": used}
        return LogDirSample(path=path_of(log_dir), error_code=0, replica_count=100, **sizes)


def path_of(log_dir: int) -> str:
    return f"/data/disk{log_dir:02d}/kafka-logs"


def measured(running: Bench, service: Service, fleet: Fleet) -> list[float]:
    """Report all rounds; return the seconds from each deciding sample to its alert."""
    client = producer(running.settings.telemetry, linger_ms=0)
    sent: dict[Place, float] = {}
    try:
        for number in range(fleet.rounds):
            print(f"{fleet.brokers} brokers: round {number + 1} of {fleet.rounds}", flush=True)
            report(client, fleet, number, sent)
            service.check()
            if number == 0:
                # Everything is compiled and every broker known before what is timed begins.
                running.wait(service, lambda: has_state(running), "the first state of a broker", 420)
    finally:
        client.close(timeout=30)
    running.wait(service, lambda: not sent.keys() - seen(running).keys(), f"{len(sent)} alerts")
    arrived = seen(running)
    return [arrived[place] - at_s for place, at_s in sent.items()]


def report(client: Any, fleet: Fleet, number: int, sent: dict[Place, float]) -> None:
    """Send a round's records spread evenly over the interval; note when the deciding ones were handed over."""
    begin_s = time.monotonic()
    for broker in range(fleet.brokers):
        time.sleep(max(0.0, begin_s + fleet.interval_s * broker / fleet.brokers - time.monotonic()))
        record = fleet.record(broker, number, time.time_ns() // 1_000_000)
        at_s = time.monotonic()
        client.send(topics.METRICS, key=f"{CLUSTER}/{broker}".encode(), value=record)
        for place in fleet.deciding(broker, number):
            sent[place] = at_s
    late_s = time.monotonic() - begin_s - fleet.interval_s
    if late_s > 1:
        print(f"the generator itself is {late_s:.1f} s behind", flush=True)


def has_state(running: Bench) -> bool:
    checkpoint = Path(running.settings.checkpoints.path) / "detect" / "commits"
    return any(path.name.isdecimal() and int(path.name) > 0 for path in checkpoint.glob("*"))


def seen(running: Bench) -> dict[Place, float]:
    """Return when the first alert of each directory's space arrived."""
    found: dict[Place, float] = {}
    for record in running.records:
        if record["rule"] == Rule.LOG_DIR_SPACE and record["to"] == "critical":
            found.setdefault((record["broker"], record["log_dir"]), record["seen_s"])
    return found


if __name__ == "__main__":
    main()
