"""What a poll of one broker costs the state machine, without Spark: a thread's processor time, step by step.

    python bench/bench_judgement.py [--brokers 60] [--rounds 15]

The records are those of ``bench_fleet_size.py``: twelve directories each whose use moves, with four days of memory.
Each step of a broker counts with its shortest round, which other programs on the machine hardly lengthen; printed is
the median over the brokers, in microseconds. A state record is made in every third round.
"""

import argparse
import itertools
import statistics
import time

from bench_fleet_size import APART_MS, INTERVAL_MS, T0_MS, WARM_UP, record
from logdirwatch.detect import machine, state_view
from logdirwatch.detect.observations import Sample
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.state.broker_state import MEMORY_VERSION, BrokerMemory, decode, encode
from logdirwatch.model import topics
from logdirwatch.model.identity import Origin
from logdirwatch.model.records import MetricsRecord
from logdirwatch.parse.records import Accepted, parse

SETTINGS = DetectSettings()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--brokers", type=int, default=60)
    arguments.add_argument("--rounds", type=int, default=15)
    chosen = arguments.parse_args()
    took = [of_broker(broker, chosen.rounds) for broker in range(chosen.brokers)]
    for step in ("parse", "decode", "judge", "state record", "encode"):
        print(f"{step:>14}{statistics.median(one[step] for one in took):>8.1f} µs")


def of_broker(broker: int, rounds: int) -> dict[str, float]:
    """Return the shortest time of each step of one broker, in microseconds."""
    body = encode(BrokerMemory(cluster="bench", broker=broker))
    shortest: dict[str, float] = {}
    for number in range(WARM_UP + rounds):
        steps, body = poll(broker, number, body)
        if number >= WARM_UP:
            shortest = {step: min(took, shortest.get(step, took)) for step, took in {**shortest, **steps}.items()}
    return shortest


def poll(broker: int, number: int, body: str) -> tuple[dict[str, float], str]:
    """Process one poll; return the time of each step in microseconds, and the memory as it is stored."""
    past = min(number, WARM_UP - 1)
    at_ms = T0_MS + past * APART_MS + (number - past) * INTERVAL_MS
    value, clock = record(broker, number, at_ms), time.thread_time_ns
    times = [clock()]
    accepted = parse(topics.METRICS, None, value, at_ms, "bench")
    times.append(clock())
    memory = decode(MEMORY_VERSION, body)
    times.append(clock())
    assert isinstance(accepted, Accepted)
    assert isinstance(accepted.record, MetricsRecord)
    outcome = machine.advance(
        memory, Sample(accepted.record, Origin(topics.METRICS, 0, number, at_ms)), at_ms, SETTINGS
    )
    times.append(clock())
    body = encode(memory)
    times.append(clock())
    steps = dict(zip(("parse", "decode", "judge", "encode"), _microseconds(times), strict=True))
    if outcome.transitions or state_view.has_news(memory, SETTINGS.state_refresh_ms):
        began = clock()
        state_view.state_record(memory, outcome.transitions)
        steps |= {"state record": _microseconds([began, clock()])[0]}
        body = encode(memory)
    return steps, body


def _microseconds(times: list[int]) -> list[float]:
    return [(after - before) / 1000 for before, after in itertools.pairwise(times)]


if __name__ == "__main__":
    main()
