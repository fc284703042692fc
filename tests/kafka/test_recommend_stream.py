"""The query recommend as a process on a real telemetry cluster: what it says, also without input and after a kill."""

from itertools import pairwise

import msgspec
import pytest

from logdirwatch.kafka.clients import producer
from logdirwatch.model import topics
from logdirwatch.model.records import ActionRecord, DecisionRecord
from logdirwatch.model.vocabulary import AlertStatus, Decision
from logdirwatch_lab.config import INTERPRETED
from tests.kafka.telemetry import Run, fresh_topics
from tests.support.waiting import DEADLINE_S
from tests.unit.plan.builders import NOW_MS, alert

STREAM = {
    "driver_memory": "1g",
    "recommend_interval_ms": 500,
    "driver_java_options": "-XX:TieredStopAtLevel=1",
    "extra": INTERPRETED,
}


class Recommending(Run):
    """A run of recommend alone; there are no tables, so alerts get their runbook step."""

    def alert(self, **fields):
        self._send(topics.ALERTS, b"alert", alert(**fields))

    def decide(self, identity):
        said = DecisionRecord(version=1, id=identity, decision=Decision.ACCEPT, by="ann", reason="", at_ms=NOW_MS)
        self._send(topics.DECISIONS, identity.encode(), said)

    def _send(self, topic, key, record):
        client = producer(self.settings.telemetry, acks="all")
        try:
            client.send(topic, key=key, value=msgspec.json.encode(record)).get(timeout=DEADLINE_S)
        finally:
            client.close(timeout=5)

    def actions(self):
        return [msgspec.json.decode(value, type=ActionRecord) for _, value in self.values(topics.ACTIONS)]

    def told(self):
        return [(str(action.kind), str(action.status), action.revision) for action in self.actions()]

    def waits_to_be_told(self, *expected):
        self.wait_for(lambda: self.told() == list(expected), f"{expected} and nothing else, not {self.told()}")


@pytest.fixture
def make_run(on_disks, tmp_path):
    runs = []

    def make(name, **plan):
        runs.append(Recommending(tmp_path / name, on_disks, {"plan": plan, "stream": STREAM}, queries=("recommend",)))
        fresh_topics(on_disks)
        return runs[-1]

    yield make
    for run in runs:
        run.stop()


@pytest.mark.long
def test_an_alert_is_answered_accepted_and_ended_with_nothing_said_twice(make_run):
    run = make_run("life")
    run.start()
    run.alert()
    run.waits_to_be_told(("investigate", "proposed", 1))
    run.kill()
    run.start()
    run.decide(run.actions()[0].action_id)
    run.waits_to_be_told(("investigate", "proposed", 1), ("investigate", "accepted", 2))
    run.stop()
    run.alert(revision=2, status=AlertStatus.RESOLVED, reason="recovered")
    run.start()
    run.waits_to_be_told(
        ("investigate", "proposed", 1), ("investigate", "accepted", 2), ("investigate", "withdrawn", 3)
    )
    assert {key for key, _ in run.values(topics.ACTIONS)} == {run.actions()[0].action_id.encode()}


@pytest.mark.long
def test_an_open_alert_is_looked_at_without_any_new_record(make_run):
    """A proposal that nobody took up is renewed when its time has passed."""
    run = make_run("looks", expires_after_ms=1_000)
    run.start()
    run.alert()
    run.wait_for(lambda: len(run.told()) >= 3, "two renewals")
    renewed = run.actions()
    assert [action.revision for action in renewed[:3]] == [1, 2, 3]
    assert all(b.at_ms - a.at_ms >= 1_000 for a, b in pairwise(renewed))
