"""``watch`` raises and ends the alerts that the stream raises and ends, at the same severities, over the same polls."""

from collections import defaultdict

import pytest

from logdirwatch.alone.judges import Judges, alerts_of
from logdirwatch.alone.watch import TICK_MS
from logdirwatch.collect.publish.buffer import Outgoing
from logdirwatch.model import topics
from logdirwatch.parse.records import parse
from logdirwatch.report.folding import is_heartbeat
from logdirwatch.settings import Settings
from tests.simulation import story
from tests.simulation.brokers import CLUSTER
from tests.simulation.clock import Scheduler
from tests.simulation.notifier import consumers
from tests.simulation.run import Simulation, quiet

SETTINGS = Settings(clusters={CLUSTER: {"bootstrap_servers": "h:1"}}, default_cluster=CLUSTER)


def streamed(seed):
    """Play a story of faults of brokers and disks; return the collector's records with their times, and the alerts."""
    drawn = story.story_of(seed)
    faults = tuple(one for one in drawn.faults if story.KINDS[one.kind].of == story.CLUSTER)
    scheduler, polled, alerts = Scheduler(), [], []
    with quiet(), scheduler.virtual_time():
        simulation = Simulation(drawn._replace(collectors=1, faults=faults), scheduler)

        def appended(entry):
            if entry.topic == topics.METRICS:
                now_ms = simulation.hosts["stream"].wall_ms()
                polled.append((now_ms, Outgoing(entry.topic, entry.key, entry.value)))
            elif entry.topic == topics.ALERTS:
                alerts.append(parse(entry.topic, entry.key, entry.value, 0, CLUSTER).record)

        simulation.telemetry.listeners.append(appended)
        with consumers(simulation.telemetry, simulation.hosts["notify"]):
            assert not simulation.run().wrong
    return polled, alerts


def watched(polled):
    """Return the alerts of the judges of ``watch`` for the records of a collector."""
    judges, alerts, waiting = Judges(SETTINGS), [], list(reversed(polled))
    for now_ms in range(polled[0][0], polled[-1][0] + TICK_MS, TICK_MS):
        taken = []
        while waiting and waiting[-1][0] <= now_ms:
            taken.append(waiting.pop()[1])
        alerts += alerts_of(judges.take(taken, now_ms))
    return alerts


def lives(alerts):
    """Return what each alert is about, and its statuses and severities in order."""
    found = defaultdict(list)
    for one in alerts:
        said = (str(one.status), str(one.severity))
        life = found[str(one.rule), one.broker, one.log_dir, one.alert_id]
        if not is_heartbeat(one) and life[-1:] != [said]:
            life.append(said)
    return sorted((str(place), life) for (*place, _), life in found.items() if life)


@pytest.mark.parametrize("seed", range(1, 13))
def test_watch_tells_what_the_stream_tells(seed):
    polled, alerts = streamed(seed)
    assert lives(alerts), "nothing happened in this story"
    assert lives(watched(polled)) == lives(alerts)
