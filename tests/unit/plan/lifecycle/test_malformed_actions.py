"""Records on the action topic that are not what they should be: none stops the stream, and each is counted."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.model import topics
from logdirwatch.model.vocabulary import ActionKind, ActionStatus
from logdirwatch.plan.lifecycle.action_tracker import ActionTracker
from tests.support.properties import examples
from tests.unit.plan.builders import NOW_MS, action, decision, policy, space_alert
from tests.unit.plan.test_malformed_evidence import FACTS, JSON

PARTS = ("target", "expected", "alert", "undo", "based_on", "reassignment", "configs", "observed", "decision")
PARTITION = {"topic": "t", "partition": 0, "replicas": [1], "log_dirs": ["/d1"]}
BAD = [
    {"target": {}},
    {"target": {"broker": "one", "log_dir": 7}},
    {"expected": {}},
    {"expected": {"on": [{}]}, "reassignment": {"version": 1, "partitions": [PARTITION]}},
    {"reassignment": {"partitions": [{}]}},
    {"reassignment": {}},
    {"alert": {}, "status": "rejected"},
    {"alert": {"severity": "deafening"}, "status": "rejected"},
    {"observed": {}, "status": "running"},
    {"undo": {}, "reassignment": {"version": 1, "partitions": [PARTITION]}},
    {"decision": {}, "status": "accepted"},
    {"vetoes": [{}]},
    {"configs": {"t": {"retention.bytes": 7}}},
]
KINDS = [ActionKind.MOVE_LOG_DIR, ActionKind.REASSIGN, ActionKind.LOWER_RETENTION, ActionKind.CORDON_LOG_DIR]


def record_of(kind=ActionKind.MOVE_LOG_DIR, alert_id="other", status="proposed", revision=3, **parts):
    sound = msgspec.to_builtins(action(kind, alert_id=alert_id, revision=revision, action_id="bad"))
    return {**sound, "status": status, **parts}


def tracked(*records):
    """A tracker with a sound alert, another one, and these records of actions."""
    tracker = ActionTracker(60_000)
    for one in (space_alert("critical", alert_id="sound"), space_alert("critical", alert_id="other", log_dir="/d2")):
        tracker.take(topics.ALERTS, b"", msgspec.json.encode(one), -1)
    for one in records:
        tracker.take(topics.ACTIONS, b"", msgspec.json.encode(one), -1)
    return tracker


def revised(tracker):
    return tracker.revise({"c": FACTS}, lambda _: policy(), NOW_MS)


@pytest.mark.parametrize("parts", BAD, ids=str)
@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("alert_id", ["other", "gone"])
def test_a_malformed_action_takes_the_advice_away_from_nobody(parts, kind, alert_id):
    tracker = tracked(record_of(kind, alert_id, **parts))
    found = revised(tracker)
    assert "move_log_dir" in {str(one.kind) for one in found if one.alert_id == "sound"}
    assert revised(tracker) == []


def test_it_is_counted_and_told_once():
    tracker = tracked(record_of(target={}, reassignment={"partitions": [{}]}))
    revised(tracker)
    assert tracker.unreadable == 1
    revised(tracker)
    assert tracker.unreadable == 1
    assert len(tracker.take_actions_set_aside()) <= 1
    assert tracker.take_actions_set_aside() == []


def test_a_decision_on_it_and_one_on_a_sound_action_are_both_taken():
    sound = msgspec.to_builtins(action(alert_id="sound", action_id="mine", target={"broker": 1, "log_dir": "/d1"}))
    tracker = tracked(record_of(target={}, expected={}), sound)
    for identity in ("bad", "mine"):
        said = decision(identity=identity, revision=1)
        tracker.take(topics.DECISIONS, b"", msgspec.json.encode(said), NOW_MS)
    accepted = [one for one in revised(tracker) if one.action_id == "mine"]
    assert accepted[0].status is ActionStatus.ACCEPTED


@given(
    kind=st.sampled_from(ActionKind),
    status=st.sampled_from(ActionStatus),
    alert_id=st.sampled_from(["sound", "other", "gone"]),
    parts=st.dictionaries(st.sampled_from(PARTS), st.dictionaries(st.text(max_size=8), JSON, max_size=3), max_size=4),
)
@examples(37)
def test_whatever_it_holds_the_others_get_their_advice(kind, status, alert_id, parts):
    found = revised(tracked(record_of(kind, alert_id, str(status), **parts)))
    assert [one for one in found if one.alert_id == "sound" and not one.vetoes]
