"""The generated schedules of ``tests.simulation.hand`` on real brokers, with the same laws."""

import time
from collections import Counter
from collections.abc import Callable, Iterable

from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch_lab.cluster import LocalCluster
from tests.chaos_apply.brokers import MIB, Brokers, wrong
from tests.simulation.hand.run import Schedule, filled

RATE = MIB // 2
"""In bytes/s: a copy of a partition takes some seconds."""


def run(disks: LocalCluster, monitored: KafkaSettings, seeds: Iterable[int], say: Callable[[str], None]) -> list[str]:
    """Run the schedule of each seed; return what happened in each one that broke a law."""
    began_s, states, broken = time.monotonic(), Counter[str](), list[str]()
    with clients.admin(monitored) as admin:
        for number, seed in enumerate(seeds):
            with Brokers(disks, admin, monitored, f"{number}-{time.time_ns()}") as brokers:
                ran = Schedule(seed, world=lambda draw, on=brokers: filled(draw, on, RATE)).run()
            states[ran.state] += 1
            say(f"schedule {seed}: {ran.state}, {', '.join(event.deed for event in ran.events) or 'nobody else'}")
            if ran.broken:
                broken.append(wrong(f"schedule {seed}", ran.log, ran.broken))
    say(f"{states.total()} schedules in {time.monotonic() - began_s:.0f} s: {dict(states)}, {len(broken)} broken")
    return broken
