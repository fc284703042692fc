"""Alerts whose evidence is anything: no record ends the planner, and none takes the advice away from the others."""

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace as changed

from logdirwatch.model import topics
from logdirwatch.model.evidence import EVIDENCE
from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import Cause, Rule
from logdirwatch.plan.fix.planner import fix
from logdirwatch.plan.lifecycle import action_tracker, overlay
from logdirwatch.plan.lifecycle.action_tracker import ActionTracker
from logdirwatch.plan.recommend import recommend
from tests.support.properties import examples
from tests.unit.plan.builders import MIB, NOW_MS, alert, directory, facts, offline, policy, replica, space_alert, topic

FACTS = facts(
    directory(1, "/d1", 900 * MIB, growth_bytes_per_s=0.01 * MIB),
    directory(1, "/d2", 100 * MIB),
    offline(2, "/d1"),
    directory(2, "/d2"),
    directory(3, used=20 * MIB),
    topic("t", (1, 2), (2, 3), (1, 3)),
    *(replica(number, "/d1", "t", partition, 90 * MIB) for number, partition in ((1, 0), (2, 0), (2, 1), (1, 2))),
)
BROKER_RULES = {Rule.BROKER_OFFLINE, Rule.BROKER_UNKNOWN, Rule.PARTITION_FAILED, Rule.MOVE_STALLED, Rule.THROTTLE_LEFT}
WORDS = st.sampled_from(["/d1", "/d2", "t-0", "cause", "failed", "full", "verdict", "stands_still", "", "x", "inodes"])
NUMBERS = st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | WORDS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)


def evidences(rule):
    """Evidence with the names that the rule's own has, and values of any shape."""
    names = sorted({name for kind in EVIDENCE[rule].all for name in kind.__struct_fields__})
    return st.dictionaries(st.sampled_from(names), JSON, max_size=len(names))


@st.composite
def alerts(draw):
    """An alert of any rule, with a place where its rule has one, and any evidence."""
    rule = draw(st.sampled_from([rule for rule in Rule if rule is not Rule.HEARTBEAT]))
    number = draw(st.sampled_from([None, 1, 2, 9]))
    path = None if number is None or rule in BROKER_RULES else draw(st.sampled_from([None, "/d1", "/d2", "/d9"]))
    record = alert(
        rule,
        number=number,
        log_dir=path,
        to=draw(st.sampled_from([None, "offline", "filling", "saturated", "unknown", "of a newer release"])),
        cause=draw(st.sampled_from([None, *Cause])),
        alert_id="malformed",
    )
    return {**msgspec.to_builtins(record), "evidence": draw(evidences(rule))}


def read(record):
    """Return the alert of a record; None where it lacks what every record of its rule must have."""
    try:
        return msgspec.convert(record, AlertRecord)
    except msgspec.ValidationError:
        return None


@given(about=alerts(), has_facts=st.booleans())
def test_every_alert_gets_an_action_whatever_its_evidence(about, has_facts):
    about = read(about)
    assume(about is not None)
    found = recommend(about, FACTS if has_facts else None, policy(), NOW_MS)
    assert [action for action in found if not action.vetoes]


@given(about=alerts())
def test_the_others_get_their_advice_beside_it(about):
    book, sound = ActionTracker(60_000), space_alert("critical", alert_id="sound")
    for record in (about, sound):
        book.take(topics.ALERTS, b"", msgspec.json.encode(record), -1)
    revisions = book.revise({"c": FACTS}, lambda _: policy(), NOW_MS)
    told = {action.alert_id for action in revisions}
    assert told == {"sound"} | ({"malformed"} if read(about) else set())
    assert book.unreadable == (read(about) is None)
    assert book.take_set_aside() == []


@given(about=alerts())
@examples(20)
def test_so_does_one_plan_for_all(about):
    about = read(about)
    assume(about is not None)
    found = fix([about, space_alert("critical", alert_id="sound")], (), FACTS, policy(), NOW_MS)
    assert {remedy.alert.alert_id for remedy in found.remedies} == {"malformed", "sound"}


@pytest.fixture
def stumbling(monkeypatch):
    """A planner that fails on the alert "bad", whatever its evidence is."""

    def stumble(about: AlertRecord, *rest):
        if about.alert_id == "bad":
            raise TypeError("unhashable type: 'dict'")
        return recommend(about, *rest)

    monkeypatch.setattr(action_tracker, "recommend", stumble)


def told(book, *records):
    for record in records:
        book.take(topics.ALERTS, b"", msgspec.json.encode(record), -1)
    return book.revise({"c": FACTS}, lambda _: policy(), NOW_MS)


@pytest.mark.usefixtures("stumbling")
def test_what_the_planner_fails_on_is_set_aside_said_once_and_keeps_its_runbook_step():
    book, bad = ActionTracker(60_000), space_alert("critical", alert_id="bad", log_dir="/d2")
    found = told(book, bad, space_alert("critical", alert_id="sound"))
    assert [str(a.kind) for a in found if a.alert_id == "bad"] == ["investigate"]
    assert "cannot be planned on" in next(a.reason for a in found if a.alert_id == "bad")
    assert "move_log_dir" in {str(a.kind) for a in found if a.alert_id == "sound"}
    ((aside, error),) = book.take_set_aside()
    assert (aside.alert_id, type(error)) == ("bad", TypeError)
    assert told(book) == []
    assert book.take_set_aside() == []
    told(book, changed(bad, revision=2))
    assert [one.record.revision for one in book.take_set_aside()] == [2], "a new revision is tried again"


def test_what_cannot_be_laid_over_the_facts_does_not_hide_them_from_the_others(monkeypatch):
    laid = action_tracker.with_alerts

    def stumble(found, about):
        if any(one.alert_id == "bad" and one.evidence for one in about):
            raise KeyError("log_dirs")
        return laid(found, about)

    for module in (action_tracker, overlay):
        monkeypatch.setattr(module, "with_alerts", stumble)
    bad = alert(number=3, alert_id="bad", evidence={"x": 1})
    book = ActionTracker(60_000)
    found = told(book, bad, space_alert("critical", alert_id="sound"))
    assert {action.alert_id for action in found} == {"bad", "sound"}
    assert [one.record.alert_id for one in book.take_set_aside()] == ["bad"]
