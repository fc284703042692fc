"""A flood of records that nobody can read, among good ones: what is counted, and how much slower the stream gets.

    python bench/bench_bad_input.py [--records 1000000] [--rounds 1]

Starts a telemetry broker and the stream with the queries ``detect`` and ``store``. While the stream stands still, twice
as many records as ``--records`` are written; then it goes on, and the time is taken until each query has read all of
them: once with good records alone, once with every second one bad in one of many ways. Ends with exit code 1 when a
good record was not counted, a bad one is not in ``rejected_records`` exactly once, a query failed, the alert
``pipeline_rejects`` did not come, or a query reads the mixed input at less than four fifths of its speed.
"""

import argparse
import itertools
import json
import os
import signal
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from deltalake import DeltaTable
from kafka import TopicPartition

from logdirwatch.kafka.clients import consumer, producer
from logdirwatch.model import topics
from logdirwatch.model.vocabulary import Rule
from logdirwatch_lab.demo.services import Service
from running import Bench, bench

QUERIES = ("detect", "store")
READ_BY_BOTH = (topics.METRICS, topics.EVENTS, topics.DECISIONS)
BROKERS = 1_000
INTERVAL_MS = 1_000
LEAST_RATIO = 0.8
WARM_UP = 4_000
DEADLINE_S = 3_600.0
CLUSTER = "bench"
GIB = 1 << 30
Record = tuple[str, bytes | None, bytes | None]
Ends = dict[str, dict[str, int]]


class Phase(NamedTuple):
    """One stretch of input: how many records, the seconds until each query had read it."""

    name: str
    records: int
    seconds: dict[str, float]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--records", type=int, default=1_000_000, help="bad records; as many good ones among them")
    arguments.add_argument("--rounds", type=int, default=1)
    chosen = arguments.parse_args()
    # Its samples are of an hour ago: nobody is silent for that.
    detect = {"silence_min_ms": 86_400_000, "state_refresh_ms": 0}
    with bench(sections={"detect": detect}, store_trigger="1 second", pipeline_interval_ms=1_000) as running:
        flood = Flood(running, chosen.records, chosen.rounds)
        with running.stream(*QUERIES) as service:
            phases = flood.run(service)
            problems = flood.problems(service)
    table(phases)
    print(f"good {flood.good}, bad {flood.bad}; " + ("; ".join(problems) or "every one counted, and the alert came"))
    slow = [name for name in QUERIES if ratio(phases, name) < LEAST_RATIO]
    sys.exit(1 if problems or slow else 0)


class Flood:
    """Writes the input and watches what becomes of it."""

    def __init__(self, running: Bench, records: int, rounds: int) -> None:
        self._running, self._records, self._rounds = running, records, rounds
        polls = WARM_UP + rounds * 3 * records + BROKERS
        self._begin_ms = time.time_ns() // 1_000_000 - (polls // BROKERS + 2) * INTERVAL_MS
        self.good = self.bad = 0

    def run(self, service: Service) -> list[Phase]:
        """Return what was measured."""
        self._drained(service, self._written(WARM_UP, bad=WARM_UP // 2))
        phases = []
        for _ in range(self._rounds):
            for name, bad in (("good", 0), ("mixed", self._records)):
                print(f"{name}: {2 * self._records} records, {bad} of them bad", flush=True)
                phases.append(self._phase(service, name, bad))
        return phases

    def problems(self, service: Service) -> list[str]:
        """Return what is not as it must be."""
        self._running.wait(service, lambda: bool(self._rejects()), "the alert pipeline_rejects")
        rejected = self._table("rejected_records", ["topic", "partition", "offset"])
        places = set(zip(*(column.to_pylist() for column in rejected.columns), strict=True))
        polls = self._table("log_dir_samples", ["kind"]).column("kind").to_pylist().count("poll")
        said = service.log_file.read_text(errors="replace")
        checks = {
            f"{polls} good records are stored": polls == self.good,
            f"{rejected.num_rows} rows of {len(places)} places are rejected": (
                rejected.num_rows == len(places) == self.bad
            ),
            "a query failed": "query.failed" not in said and said.count("query.started") == len(QUERIES),
        }
        return [what for what, holds in checks.items() if not holds]

    def _phase(self, service: Service, name: str, bad: int) -> Phase:
        os.killpg(service.pid, signal.SIGSTOP)
        try:
            ends = self._written(2 * self._records, bad)
        finally:
            os.killpg(service.pid, signal.SIGCONT)
        return Phase(name, 2 * self._records, self._drained(service, ends))

    def _drained(self, service: Service, ends: Ends) -> dict[str, float]:
        """Return how long each query took from now until it had read up to ``ends``."""
        begin_s, seconds = time.monotonic(), dict[str, float]()

        def is_read() -> bool:
            for name in set(QUERIES) - seconds.keys():
                if has_read(Path(self._running.settings.checkpoints.path) / name, ends):
                    seconds[name] = time.monotonic() - begin_s
            return len(seconds) == len(QUERIES)

        self._running.wait(service, is_read, "the end of the input", DEADLINE_S)
        return seconds

    def _written(self, records: int, bad: int) -> Ends:
        """Write records, every so many of them bad; return where each partition ends then."""
        good_ones, bad_ones = self._good(records - bad), itertools.islice(spoilt(self.bad), bad)
        mixed = itertools.chain.from_iterable(itertools.zip_longest(good_ones, bad_ones))
        client = producer(self._running.settings.telemetry, acks="all", linger_ms=20, batch_size=1 << 17)
        try:
            for topic, key, value in filter(None, mixed):
                client.send(topic, key=key, value=value)
            client.flush(timeout=600)
        finally:
            client.close(timeout=30)
        self.good, self.bad = self.good + records - bad, self.bad + bad
        return ends_of(self._running)

    def _good(self, records: int) -> Iterator[Record]:
        for number in range(self.good, self.good + records):
            at_ms = self._begin_ms + number // BROKERS * INTERVAL_MS
            broker = number % BROKERS
            yield topics.METRICS, f"{CLUSTER}/{broker}".encode(), poll(broker, at_ms)

    def _rejects(self) -> list[dict[str, Any]]:
        return [record for record in self._running.records if record["rule"] == Rule.PIPELINE_REJECTS]

    def _table(self, name: str, columns: list[str]) -> Any:
        return DeltaTable(f"{self._running.settings.tables_path}/{name}").to_pyarrow_table(columns=columns)


def poll(broker: int, at_ms: int) -> bytes:
    """Return what a broker with two directories answers."""
    used = (broker * 7919 + at_ms) % 60 * GIB
    sizes = f'"total_bytes":{100 * GIB},"replica_count":100,"replica_bytes":{used},"usable_bytes":{100 * GIB - used}'
    log_dirs = ",".join(f'{{"path":"/data/disk{n:02d}/kafka-logs","error_code":0,{sizes}}}' for n in range(2))
    head = f'"version":1,"cluster":"{CLUSTER}","broker":{broker},"timestamp_ms":{at_ms},"status":"ok"'
    return f'{{{head},"collector":"bench","interval_ms":{INTERVAL_MS},"log_dirs":[{log_dirs}]}}'.encode()


def spoilt(start: int) -> Iterator[Record]:
    """Yield bad records for ever, in turn of every kind; some name a broker that nobody has."""
    for number in itertools.count(start):
        broker = number % 2_000_000
        whole = poll(broker, number)
        kinds: tuple[tuple[str, bytes | None], ...] = (
            (topics.METRICS, b"garbage %d" % number),
            (topics.METRICS, whole[: number % len(whole)]),
            (topics.METRICS, whole.replace(b'"version":1', b'"version":%d' % (number + 2))),
            (topics.METRICS, whole.replace(b'"ok"', b'"state %d"' % number)),
            (topics.METRICS, whole.replace(b'"usable_bytes":', b'"usable_bytes":-')),
            (topics.METRICS, whole.replace(b"disk01", b"disk00")),
            (topics.METRICS, whole.replace(b"bench", b"be\xffch")),
            (topics.METRICS, whole[:-1] + b',"x":' + b"[" * 2_000 + b"]" * 2_000 + b"}"),
            (topics.METRICS, None),
            (topics.EVENTS, b'{"version":1,"broker":%d,"event":"Event%d"}' % (broker, number)),
            (topics.EVENTS, b'{"version":1,"broker":NaN,"event":1}'),
            (topics.DECISIONS, b'{"version":1,"id":"%d","decision":"maintenance"}' % number),
        )
        topic, value = kinds[number % len(kinds)]
        yield topic, b"%d" % number, value


def ends_of(running: Bench) -> Ends:
    """Return where the partitions that both queries read end."""
    found: Ends = {}
    with consumer(running.settings.telemetry) as client:
        for topic in READ_BY_BOTH:
            parts = [TopicPartition(topic, number) for number in sorted(client.partitions_for_topic(topic) or ())]
            found[topic] = {str(part.partition): end for part, end in client.end_offsets(parts).items()}
    return found


def has_read(checkpoint: Path, ends: Ends) -> bool:
    """Tell whether a batch that read up to ``ends`` is committed."""
    batches = [int(path.name) for path in checkpoint.glob("commits/*") if path.name.isdecimal()]
    if not batches:
        return False
    offsets = json.loads((checkpoint / "offsets" / str(max(batches))).read_text().splitlines()[-1])
    return all(
        offsets.get(topic, {}).get(part, 0) >= end for topic, parts in ends.items() for part, end in parts.items()
    )


def speed(phases: list[Phase], name: str, query: str) -> float:
    """Return the records a second that a query read, the median of the rounds."""
    return statistics.median(phase.records / phase.seconds[query] for phase in phases if phase.name == name)


def ratio(phases: list[Phase], query: str) -> float:
    """Return how fast the mixed input was read, against the good one."""
    return speed(phases, "mixed", query) / speed(phases, "good", query)


def table(phases: list[Phase]) -> None:
    """Print what was measured."""
    print(f"\n{phases[0].records} records each time, {os.cpu_count()} cores, records a second")
    print(f"{'':<10}{'good':>10}{'mixed':>10}{'ratio':>8}")
    for query in QUERIES:
        speeds = [speed(phases, name, query) for name in ("good", "mixed")]
        print(f"{query:<10}{speeds[0]:>10.0f}{speeds[1]:>10.0f}{ratio(phases, query):>8.2f}")


if __name__ == "__main__":
    main()
