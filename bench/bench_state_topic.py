"""How many bytes the records of ``logdir.state`` have: of brokers whose use rests, grows, follows retention, or jumps.

    python bench/bench_state_topic.py [--brokers 2000] [--log-dirs 12] [--together 10]

Some brokers are judged over four days, a sample of each directory every five minutes; then their records are encoded,
and compressed as ``detect`` compresses what it sends: as many records ``--together`` as its producer has in a batch.
Nothing but the state machine runs, and the result does not depend on the machine.
"""

import argparse
import gzip
import math
import random

import msgspec

from bench_fleet_size import T0_MS, TOTAL_BYTES, filled
from logdirwatch.detect import machine, state_view
from logdirwatch.detect.observations import Sample
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.state.broker_state import BrokerMemory
from logdirwatch.model import topics
from logdirwatch.model.identity import Origin
from logdirwatch.model.records import LogDirSample, MetricsRecord
from logdirwatch.model.vocabulary import PollStatus

GIB = 1 << 30
HOURS = 98
INTERVAL_MS = 300_000
PER_HOUR = 3_600_000 // INTERVAL_MS
PROFILES = ("at rest", "growing", "retention", "jumping")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--brokers", type=int, default=2_000)
    arguments.add_argument("--log-dirs", type=int, default=12)
    arguments.add_argument("--together", type=int, default=10)
    chosen = arguments.parse_args()
    settings = DetectSettings()
    every_s = settings.state_refresh_ms / 1000
    print(f"{chosen.brokers} brokers with {chosen.log_dirs} directories each, a record of each every {every_s:g} s\n")
    print(f"{'':<12}{'record B':>10}{'MB/s':>8}{'gzip B':>10}{'MB/s':>8}{f'of {chosen.together} B':>10}{'MB/s':>8}")
    for profile in PROFILES:
        memories = [judged(profile, broker, chosen.log_dirs, settings) for broker in range(chosen.together)]
        records = [msgspec.json.encode(state_view.state_record(memory, [])) for memory in memories]
        alone, together = sum(map(compressed_bytes, records)), compressed_bytes(b"".join(records))
        sizes = [total // len(records) for total in (sum(map(len, records)), alone, together)]
        columns = (f"{size:>10}{chosen.brokers * size / every_s / 1e6:>8.3f}" for size in sizes)
        print(f"{profile:<12}{''.join(columns)}")


def compressed_bytes(records: bytes) -> int:
    return len(gzip.compress(records, 6))


def judged(profile: str, broker: int, log_dirs: int, settings: DetectSettings) -> BrokerMemory:
    """Return the memory of a broker after four days. Each has other bytes, and its growth began at another time."""
    memory, chance = BrokerMemory(cluster="bench", broker=broker), random.Random(broker)
    apart_bytes, apart_hours = chance.randrange(TOTAL_BYTES // 20), 24 * chance.random()
    for poll in range(HOURS * PER_HOUR):
        at_ms = T0_MS + poll * INTERVAL_MS
        hours = poll / PER_HOUR + apart_hours
        used = [apart_bytes + used_bytes(profile, hours, number, chance) for number in range(log_dirs)]
        record = metrics(broker, at_ms, [filled(number, one_bytes) for number, one_bytes in enumerate(used)])
        machine.advance(memory, Sample(record, Origin(topics.METRICS, 1, poll, at_ms)), at_ms, settings)
    return memory


def used_bytes(profile: str, hours: float, number: int, chance: random.Random) -> int:
    """Return the use of a directory after some hours."""
    base = TOTAL_BYTES * (40 + 2 * number) // 100
    if profile == "growing":
        return base + int(hours * 0.3 * GIB * (1 + number / 12))
    if profile == "retention":
        return base + int(hours * 3 * GIB % (40 * GIB) + 10 * GIB * math.sin(hours / 24 * math.tau))
    return base + (chance.randrange(200 * GIB) if profile == "jumping" else 0)


def metrics(broker: int, at_ms: int, samples: list[LogDirSample]) -> MetricsRecord:
    return MetricsRecord(
        version=1,
        cluster="bench",
        broker=broker,
        timestamp_ms=at_ms,
        status=PollStatus.OK,
        collector="bench",
        interval_ms=INTERVAL_MS,
        is_fenced=False,
        is_registered=True,
        log_dirs=samples,
    )


if __name__ == "__main__":
    main()
