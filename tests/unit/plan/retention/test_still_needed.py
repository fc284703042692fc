"""What published advice would leave by now: less than must stay is a reason against it."""

import pytest

from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.retention.cut_conditions import keeps_too_little
from logdirwatch.plan.settings import TopicRule
from tests.unit.plan.builders import MIB, action, directory, facts, policy, replica, slowly, topic

HOUR_MS = 3_600_000
SIZED = replica(1, "/d1", "t", size=400 * MIB)
FOR_EVER = {"retention.ms": "-1", "retention.bytes": "-1"}


def cut(key="retention.bytes", to=200 * MIB, *, data_loss=True, freed=190 * MIB):
    return action(
        ActionKind.LOWER_RETENTION,
        target={"broker": 1, "log_dir": "/d1", "topic": "t"},
        configs={"t": {key: {"from": "-1", "to": str(to)}}},
        expected={"on": [{"broker": 1, "log_dir": "/d1", "bytes": freed}]},
        data_loss=data_loss,
    )


def deletion(percent=50):
    return action(
        ActionKind.DELETE_RECORDS,
        target={"broker": 1, "log_dir": "/d1", "topic": "t"},
        expected={"on": [], "deletes_percent": percent},
        data_loss=True,
    )


def against(an_action, made=None, *, rate=None, **limits):
    made = made or topic("t", (1,), unread={})
    growth = slowly(SIZED, rate=rate) if rate is not None else {}
    return keeps_too_little(an_action, facts(directory(1), made, SIZED, growth=growth), policy(**limits))


def test_what_leaves_enough_holds():
    assert against(cut()) == []
    assert against(cut(), rate=200 * MIB / 3600) == []


def test_a_topic_that_is_written_faster_by_now_would_keep_too_little():
    (why,) = against(cut(), rate=200 * MIB / 1800)
    assert why == (
        f"retention.bytes of t would be {200 * MIB}: at 113.8 KiB/s that is 30 min of history, 1 h should stay"
    )


def test_a_rate_that_only_wavers_withdraws_nothing():
    assert against(cut(), rate=200 * MIB / (3600 * 0.8)) == []
    assert len(against(cut(), rate=200 * MIB / (3600 * 0.79))) == 1


def test_the_owners_history_counts_instead_of_the_general_one():
    rules = [TopicRule(topic="t", min_retention_ms=4 * HOUR_MS)]
    assert len(against(cut(), rate=200 * MIB / 7200, topics=rules)) == 1
    assert against(cut(), rate=200 * MIB / 7200) == []


def test_a_limit_of_age_below_the_history_that_must_stay():
    assert len(against(cut("retention.ms", HOUR_MS - 1))) == 1
    assert against(cut("retention.ms", HOUR_MS)) == []


@pytest.mark.parametrize(
    ("value", "holds"), [(f"\x00+{HOUR_MS}\n", True), ("\x001", False), ("1e9", False), (None, False)]
)
def test_a_limit_is_read_as_kafka_reads_it(value, holds):
    made = cut("retention.ms")
    made.configs["t"]["retention.ms"]["to"] = value
    assert (against(made) == []) == holds


def test_a_local_limit_is_told_by_its_own_age():
    local = topic("t", (1,), configs={"local.retention.ms": str(HOUR_MS), "remote.storage.enable": "true"}, unread={})
    # 400 MiB are kept for an hour, so 200 hold half of one.
    assert len(against(cut("local.retention.bytes", data_loss=False), local, rate=0.0)) == 1
    remote = topic("t", (1,), configs={"local.retention.ms": "-2", "remote.storage.enable": "true"}, unread={})
    assert against(cut("local.retention.bytes", data_loss=False), remote, rate=0.0) == []


def test_below_the_owners_bytes():
    rules = [TopicRule(topic="t", min_retention_bytes=200 * MIB + 1)]
    assert against(cut(), topics=rules) == [
        f"retention.bytes of t would be {200 * MIB}: the configuration asks for {200 * MIB + 1} at least"
    ]


@pytest.mark.parametrize(("unread", "holds"), [(0.55, True), (0.6, False), (1.0, False)])
def test_what_is_surely_unread_stays(unread, holds):
    assert (against(cut(), topic("t", (1,), unread={0: unread})) == []) is holds
    assert against(cut(data_loss=False), topic("t", (1,), unread={0: unread})) == []
    assert against(cut(), topic("t", (1,), unread={0: unread}), spare_unread=False) == []


@pytest.mark.parametrize(("unread", "holds"), [(0.55, True), (0.6, False)])
def test_so_it_does_under_a_limit_of_age(unread, holds):
    by_age = cut("retention.ms", 2 * HOUR_MS, freed=200 * MIB)
    assert (against(by_age, topic("t", (1,), unread={0: unread})) == []) is holds


@pytest.mark.parametrize(("unread", "holds"), [(0.55, True), (0.6, False)])
def test_so_it_does_when_records_are_deleted(unread, holds):
    made = topic("t", (1,), unread={0: unread})
    assert (against(deletion(), made) == []) is holds
    assert against(deletion(), made, spare_unread=False) == []


def test_where_all_is_to_go_nothing_may_be_unread():
    assert against(deletion(100), topic("t", (1,), unread={0: 0.05})) == []
    assert len(against(deletion(100), topic("t", (1,), unread={0: 0.055}))) == 1


def test_a_deletion_of_an_earlier_release_tells_no_share():
    assert against(action(ActionKind.DELETE_RECORDS, target={"topic": "t"}), topic("t", (1,), unread={0: 1.0})) == []


def test_what_is_kept_for_ever_by_now_loses_nothing():
    kept = topic("t", (1,), configs=FOR_EVER, overridden=frozenset({"retention.ms"}), unread={})
    for an_action in (cut(), deletion()):
        (why,) = against(an_action, kept)
        assert "t keeps 400 MiB for ever on purpose" in why
    tiered = topic("t", (1,), configs=FOR_EVER | {"remote.storage.enable": "true"}, unread={})
    assert against(cut("local.retention.bytes", data_loss=False), tiered) == []


@pytest.mark.parametrize(
    ("configs", "limits"),
    [({}, {"never_touch": ["t"]}), ({}, {"internal_topics": ["t"]}), ({"cleanup.policy": "compact"}, {})],
    ids=["never touched", "internal", "compacted"],
)
def test_a_topic_that_may_lose_nothing_by_now(configs, limits):
    for an_action in (cut(), deletion()):
        assert len(against(an_action, topic("t", (1,), configs=configs, unread={}), **limits)) == 1


def test_records_are_not_deleted_of_what_has_a_minimum_by_now():
    assert len(against(deletion(), topics=[TopicRule(topic="t", min_retention_ms=HOUR_MS)])) == 1


def test_a_limit_that_is_set_already_is_not_judged_any_more():
    for value, is_set in (("209715200", True), ("0", True), ("209715201", False), ("-1", False)):
        made = topic("t", (1,), configs={"retention.bytes": value}, unread={0: 1.0})
        assert (against(cut(), made) == []) is is_set


def test_other_kinds_and_topics_that_are_gone_have_nothing_to_keep():
    assert against(action(ActionKind.EXPAND_DISK, target={"topic": "t"})) == []
    assert against(cut(), topic("u", (1,))) == []


@pytest.mark.parametrize(
    "an_action",
    [cut(), cut("retention.ms", 2 * HOUR_MS, freed=1200 * MIB), deletion()],
    ids=["bytes", "age", "deletion"],
)
def test_the_group_with_most_to_read_is_named(an_action):
    made = topic("t", (1,), (1,), (1,), unread={0: 0.8, 1: 1.0, 2: 0.9})
    more = [replica(1, "/d1", "t", number, 400 * MIB) for number in (0, 1, 2)]
    (why,) = keeps_too_little(an_action, facts(directory(1), made, *more), policy())
    assert why.endswith("consumer group readers has still to read about 400 MiB of t-1")
