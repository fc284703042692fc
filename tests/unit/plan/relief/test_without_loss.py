"""Room without loss: inside the broker first, then on others, then local copies, then what is closed."""

import pytest

from logdirwatch.model.vocabulary import ActionKind, BrokerStatus, LogDirStatus
from logdirwatch.plan.actions.brokers.investigate import ASK_TO_RAISE
from logdirwatch.plan.capacity.copy_rates import SHARE_OF_TIME_LEFT
from logdirwatch.plan.capacity.timing import time_to_full_ms
from logdirwatch.plan.operator_decisions import OperatorDecisions
from logdirwatch.plan.recommend import recommend
from logdirwatch.plan.relief.without_loss import relieve_without_loss
from tests.unit.plan.builders import MIB, NOW_MS, broker, directory, facts, policy, replica, topic
from tests.unit.situations.test_filling import LIMIT, limited_by_others

FULL = directory(1, "/d1", 850 * MIB)
PLACE = {"broker": 1, "log_dir": "/d1"}
PARTS = [
    FULL,
    topic("t", (1, 2)),
    replica(1, "/d1", "t", size=200 * MIB),
    replica(2, "/d1", "t", size=200 * MIB),
    directory(2, "/d1", 840 * MIB),
]
INSIDE, OUTSIDE = directory(1, "/d2", 100 * MIB), directory(3, "/d1", 100 * MIB)
CORDONED = directory(1, "/d2", 100 * MIB, is_cordoned=True)
AWAY = [broker(3, BrokerStatus.OFFLINE), directory(3, "/d1", 100 * MIB, status=LogDirStatus.UNKNOWN)]
TIERED = {
    "remote.storage.enable": "true",
    "local.retention.bytes": "-2",
    "local.retention.ms": "-2",
    "retention.ms": "-1",
}
LOCAL = [topic("tiered", (1,), configs=TIERED, remote_copy_lag_bytes=0), replica(1, "/d1", "tiered", size=300 * MIB)]


def found(*parts, needed=150 * MIB, source=FULL, **fields):
    return relieve_without_loss(source, facts(*PARTS, source, *parts, **fields), policy(), needed)


def kinds(*parts, **fields):
    return [str(one.kind) for one in found(*parts, **fields).proposals]


@pytest.mark.parametrize(
    ("parts", "planned"),
    [
        ([INSIDE, OUTSIDE], ["move_log_dir"]),
        ([OUTSIDE], ["reassign"]),
        ([OUTSIDE, *LOCAL], ["reassign"]),
        ([*LOCAL], ["lower_retention"]),
        ([*LOCAL, CORDONED], ["lower_retention"]),
        ([CORDONED], ["uncordon_log_dir"]),
        ([CORDONED, *AWAY], ["uncordon_log_dir"]),
        (AWAY, ["investigate"]),
        ([], []),
    ],
    ids=[
        "inside first",
        "then other brokers",
        "before any cut",
        "local copies of what is remote",
        "before a cordon is ended",
        "then a cordon is ended",
        "before anybody is brought back",
        "a broker is brought back",
        "nothing",
    ],
)
def test_the_next_way_is_taken_only_where_the_ones_before_do_not_give_enough(parts, planned):
    assert kinds(*parts) == planned


SOON, HURRIED = 0.36 * MIB, {"disk_bandwidth_bytes_per_s": 900 * MIB, "network_bandwidth_bytes_per_s": 900 * MIB}
USUAL = {"log_dir_throttle_bytes_per_s": 400_000, "replication_throttle_bytes_per_s": 400_000}
WAITING = [topic("tiered", (1,), configs=TIERED, remote_copy_lag_bytes=280 * MIB), *LOCAL[1:]]


@pytest.mark.parametrize(
    ("parts", "growth", "limits", "planned"),
    [
        ([INSIDE, *LOCAL], SOON, USUAL, ["lower_retention"]),
        ([OUTSIDE, *LOCAL], SOON, USUAL, ["lower_retention"]),
        ([INSIDE, *LOCAL], SOON, USUAL | {"disk_bandwidth_bytes_per_s": 760_000}, ["lower_retention"]),
        ([INSIDE, *LOCAL], SOON, USUAL | HURRIED, ["move_log_dir"]),
        ([INSIDE, *LOCAL], SOON, {}, ["move_log_dir"]),
        ([INSIDE, *LOCAL], None, USUAL, ["move_log_dir"]),
        ([INSIDE, *LOCAL], 1_000.0, USUAL, ["move_log_dir"]),
        ([INSIDE], SOON, USUAL, ["move_log_dir"]),
        ([INSIDE, LOCAL[0], replica(1, "/d1", "tiered", size=100 * MIB)], SOON, USUAL, ["move_log_dir"]),
        ([INSIDE, *WAITING], SOON, USUAL, ["move_log_dir"]),
    ],
    ids=[
        "copied faster than usual, which nobody knows the disks can",
        "and the network",
        "too late at what the disks can",
        "the disks are known to be fast",
        "in time as usual",
        "nobody knows when it is full",
        "it takes days to be full",
        "nothing is in remote storage",
        "too little is",
        "or most of it waits for its copy",
    ],
)
def test_local_copies_of_what_is_remote_come_before_moves_that_may_be_late(parts, growth, limits, planned):
    source = directory(1, "/d1", 600 * MIB, growth_bytes_per_s=growth)
    seen = facts(*PARTS, source, *parts)
    found = relieve_without_loss(source, seen, policy(**limits), 150 * MIB).proposals
    assert [str(one.kind) for one in found] == planned


@pytest.mark.parametrize("needed", [0, -1])
def test_what_needs_nothing_gets_nothing(needed):
    plan = found(INSIDE, needed=needed)
    assert (plan.proposals, plan.taken, plan.against, plan.cut) == ((), frozenset(), (), frozenset())


def test_what_moves_and_what_is_cut_is_told_apart():
    assert found(INSIDE).taken == {("t", 0)}
    assert found(OUTSIDE).taken == {("t", 0)}
    assert (found(*LOCAL).taken, found(*LOCAL).cut) == (frozenset(), {("tiered", 0)})


def test_what_the_broker_has_no_room_for_goes_to_others_beside_it():
    small = [topic("s", (1, 2)), replica(1, "/d1", "s", size=90 * MIB), replica(2, "/d1", "s", size=90 * MIB)]
    plan = found(directory(1, "/d2", 735 * MIB), OUTSIDE, *small, needed=250 * MIB)
    assert [str(one.kind) for one in plan.proposals] == ["move_log_dir", "reassign"]
    assert plan.taken == {("s", 0), ("t", 0)}


@pytest.mark.parametrize(("used", "planned"), [(790, ["reassign"]), (810, ["reassign"]), (830, ["move_log_dir"])])
def test_a_move_ends_in_a_directory_that_is_clearly_less_full_than_the_source_was(used, planned):
    neighbour = directory(1, "/d2", 600 * MIB)
    source = directory(1, "/d1", used * MIB)
    assert kinds(neighbour, OUTSIDE, source=source, needed=90 * MIB) == planned


@pytest.mark.parametrize(("used", "planned"), [(625, ["reassign"]), (635, []), (645, [])])
def test_another_broker_too_stays_clearly_less_full(used, planned):
    assert kinds(directory(3, "/d1", used * MIB)) == planned


KIB = 1024.0
QUIET = directory(4, "/d1", 500 * MIB, growth_bytes_per_s=0.0)


@pytest.mark.parametrize(
    ("grows", "source_grows", "more", "planned"),
    [
        (0.0, 1.5, {}, ["reassign"]),
        (None, 1.5, {}, ["reassign"]),
        (-9.0, 1.5, {}, ["reassign"]),
        (4.9, 1.5, {}, ["reassign"]),
        (5.2, 1.5, {}, []),
        (40.0, 1.5, {}, []),
        (40.0, None, {}, []),
        (40.0, -1.5, {}, []),
        (40.0, 0.0, {}, []),
        (5.5, None, {}, []),
        (5.5, 0.0, {}, []),
        (2.5, None, {}, ["reassign"]),
        (2.5, 0.0, {}, ["reassign"]),
        (40.0, 1.5, {"lasting_growth_bytes_per_s": 0.0}, ["reassign"]),
        (4.0, 1.5, {"incoming_bytes": 200 * MIB}, []),
        (1.6, 0.4, {}, []),
        (40.0, 90.0, {}, ["reassign"]),
    ],
)
@pytest.mark.parametrize("number", [1, 3], ids=["inside", "another broker"])
def test_where_replicas_go_lasts_longer_than_where_they_were(grows, source_grows, more, planned, number):
    source = directory(1, "/d1", 850 * MIB, growth_bytes_per_s=source_grows and source_grows * KIB)
    there = directory(number, "/d2", 300 * MIB, growth_bytes_per_s=grows and grows * KIB, **more)
    assert kinds(there, source=source) == (["move_log_dir"] if planned and number == 1 else planned)
    (one,) = found(there, QUIET, source=source).proposals
    place = [entry["log_dirs"] for entry in one.reassignment["partitions"]]
    assert ("/d1" in place[0]) is not bool(planned)


@pytest.mark.parametrize(("written", "taken"), [(999.0, {("t", 0)}), (1000.0, set())])
def test_what_a_veto_keeps_where_it_is_is_not_taken(written, taken):
    """Its throttle is below its write rate: its topic may be cut instead, not one that does not grow."""
    limited = broker(1, **{"leader.replication.throttled.rate": "1000"})
    assert found(OUTSIDE, limited, growth={(FULL.place, ("t", 0)): written}).taken == taken


def test_a_directory_that_a_new_replica_may_only_pass_need_not():
    assert kinds(directory(3, "/d1", 645 * MIB), directory(3, "/d2", 100 * MIB)) == ["reassign"]


@pytest.mark.parametrize(
    ("kind", "planned"),
    [(ActionKind.MOVE_LOG_DIR, ["reassign"]), (ActionKind.REASSIGN, ["move_log_dir"])],
)
def test_what_was_rejected_is_not_planned_again(kind, planned):
    decisions = OperatorDecisions(rejected=((kind, PLACE),))
    assert kinds(INSIDE, OUTSIDE, decisions=decisions) == planned


def test_a_rejected_end_of_a_cordon_leaves_the_broker_that_is_away():
    rejected = ((ActionKind.UNCORDON_LOG_DIR, {"broker": 1, "log_dir": "/d2"}),)
    assert kinds(CORDONED, *AWAY, decisions=OperatorDecisions(rejected=rejected)) == ["investigate"]


def test_why_there_is_not_more_is_said():
    assert found(OUTSIDE, directory(1, "/d2", 840 * MIB)).against != ()


def test_the_rate_that_is_asked_for_moves_the_bytes_in_the_time_that_is_left():
    alert, facts = limited_by_others(**{LIMIT: "7000000"})()
    (asked,) = [a for a in recommend(alert, facts, policy(), NOW_MS) if a.target.get("step") == ASK_TO_RAISE]
    limits = asked.expected["asked_limits"]
    assert {limit["from_bytes_per_s"] for limit in limits} == {7_000_000}
    left_ms = time_to_full_ms(facts.directories[alert.broker, alert.log_dir])
    in_half_of_it = left_ms * SHARE_OF_TIME_LEFT / 1000
    assert all(limit["to_bytes_per_s"] * in_half_of_it >= asked.expected["back_bytes"] for limit in limits)
