"""What the chaos runs look with sees what is wrong: each check is given something that is."""

from types import SimpleNamespace

import pytest

from logdirwatch.model import topics
from logdirwatch.parse.records import Rejected, parse
from tests.chaos import ledger, loss
from tests.chaos.history import GARBAGE, METRICS, History
from tests.chaos.receiver import Heard, Picture
from tests.chaos.world import covers
from tests.unit.test_ledger import T0, play

NOW_S = 1_800_000_000.0


def posted(alert_id="a", severity="critical", *, ends_at="2030-01-01T00:00:00.000+00:00", cluster="east"):
    labels = {"alertname": "log_dir_offline", "severity": severity, "cluster": cluster, "alert_id": alert_id}
    return {"labels": labels} | ({} if ends_at is None else {"endsAt": ends_at})


@pytest.mark.parametrize(
    ("alerts", "firing"),
    [
        ([posted()], {Heard("a", "critical")}),
        ([posted(ends_at=None)], {Heard("a", "critical")}),
        ([posted(), posted(severity="page")], {Heard("a", "critical"), Heard("a", "page")}),
        ([posted(), posted(ends_at="2020-01-01T00:00:00.000+00:00")], set()),
        ([posted(cluster="quiet")], set()),
    ],
)
def test_a_receiver_sees_an_alert_fire_until_it_ends(alerts, firing):
    picture = Picture(lambda: NOW_S)
    picture.take(alerts)
    assert picture.firing({"east"}) == firing


def test_an_alert_that_is_not_repeated_ends_for_the_receiver():
    now_s = NOW_S
    picture = Picture(lambda: now_s)
    picture.take([posted(ends_at=None)])
    now_s += 600
    assert picture.firing({"east"}) == set()
    assert picture.delivered({"east"}) == {"a"}


def test_an_alert_that_fires_again_is_counted_again_and_its_repeats_are_not():
    picture = Picture(lambda: NOW_S)
    for ends_at in ("2030-01-01T00:00:00+00:00", "2030-01-01T00:00:00+00:00", "2020-01-01T00:00:00+00:00", None):
        picture.take([posted(ends_at=ends_at)])
    assert picture.fired("log_dir_offline") == 2


def record(offset, topic=METRICS, partition=1):
    return SimpleNamespace(topic=topic, partition=partition, offset=offset)


def told(first, end, query="detect", topic=METRICS, partition=1):
    found = {"topic": topic, "partition": partition, "from_offset": first, "to_offset": end}
    return {"query": query, "ranges": [found]}


@pytest.mark.parametrize(
    ("evidence", "is_whole"),
    [
        ([told(5, 8)], True),
        ([told(5, 6), told(6, 8)], True),
        ([], False),
        ([told(5, 7)], False),
        ([told(6, 8)], False),
        ([told(5, 8, query="store")], False),
        ([told(5, 8, topic="logdir.events")], False),
        ([told(5, 8, partition=2)], False),
    ],
)
def test_a_loss_that_is_not_told_with_its_whole_range_is_found(evidence, is_whole):
    assert (ledger.untold("detect", [record(5), record(6), record(7)], evidence) == []) is is_whole


@pytest.mark.parametrize(
    ("exit_code", "stderr", "may_fail", "is_right"),
    [
        (0, "", False, True),
        (0, "a note", False, True),
        (1, "logdirwatch: table x: locked by stream; stop it first", True, True),
        (1, "logdirwatch: no", False, False),
        (1, "", True, False),
        (0, "Traceback (most recent call last):\n  x\nKeyError: 1", True, False),
    ],
)
def test_a_command_that_fails_without_a_line_is_found(exit_code, stderr, may_fail, is_right):
    assert (ledger.of_command(["status"], exit_code, stderr, may_fail=may_fail) == []) is is_right


def test_the_offsets_of_a_topic_that_was_made_again_are_told_from_those_of_the_old_one():
    assert loss.went_back({0: 0, 1: 0}, {0: 5, 1: 0})
    assert loss.went_back({}, {0: 5})
    assert loss.went_back({0: 0}, {})
    assert not loss.went_back({0: 5, 1: 2}, {0: 5, 1: 2})


def test_a_topic_is_read_when_the_offsets_reach_the_end_of_each_partition():
    assert covers({0: 5, 1: 2}, {0: 5, 1: 1})
    assert covers({}, {0: 0})
    assert not covers({0: 5}, {0: 5, 1: 1})


@pytest.mark.parametrize("topic", topics.STREAMED)
def test_what_is_written_as_unreadable_is_read_by_no_topic(topic):
    for value in (*GARBAGE, None):
        assert isinstance(parse(topic, "müll".encode("latin-1"), value, T0, "none"), Rejected), value


def firing(records):
    """What fires after records, by alert: its severity."""
    alerts, _, _ = play(records)
    newest = {alert["alert_id"]: alert for alert in alerts}
    return {name: alert["severity"] for name, alert in newest.items() if alert["status"] == "firing"}


@pytest.mark.parametrize("seed", range(3))
def test_while_a_history_is_held_nothing_happens_in_it(seed):
    history = History(seed, T0)
    records = [written for _ in range(60) for written in history.tick()]
    history.is_held = True
    settled = records + [written for _ in range(9) for written in history.tick()]
    later = settled + [written for _ in range(40) for written in history.tick()]
    assert firing(settled) == firing(later)
    assert firing(settled)
