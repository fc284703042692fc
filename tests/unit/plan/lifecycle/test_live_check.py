"""``actions check``: an action against the cluster as it is this moment, one reason for everything that changed."""

from dataclasses import replace as with_fields

import pytest
from msgspec.structs import replace as changed

from logdirwatch.collect.kafka.answers import Quorum
from logdirwatch.execute.begin import reason_against_applying
from logdirwatch.model.vocabulary import (
    LOG_DIR_THROTTLE,
    ActionKind,
    ActionStatus,
    BrokerStatus,
    Cause,
    ClusterOwner,
    LogDirStatus,
    Rule,
)
from logdirwatch.plan.action_types import ACTION_TYPES
from logdirwatch.plan.cluster.assignment import Assignment, to_json
from logdirwatch.plan.commands import operations
from logdirwatch.plan.commands.operations import ANOTHER_TOPIC, UNKNOWN, as_data, cancel_moves, prefer_leaders, reassign
from logdirwatch.plan.commands.throttles import Limits
from logdirwatch.plan.content_hash import content_hash
from logdirwatch.plan.lifecycle.live_check import left_to_see, reasons_against
from logdirwatch.plan.proposal import Owner
from logdirwatch.plan.recommend import recommend
from tests.unit.plan.answers import of_kind
from tests.unit.plan.builders import (
    MIB,
    NOW_MS,
    alert,
    broker,
    directory,
    facts,
    moving,
    offline,
    partition_of,
    policy,
    replica,
    space_alert,
    topic,
)

QUORUM = Quorum(leader=1, caught_up={1: True, 2: True, 3: True})


def still(made):
    """Return the topic with the answer that no reassignment runs, as a live cluster gives it."""
    for partition in made.partitions:
        made = partition_of(made, partition.partition, adding=(), removing=())
    return made


FAILED = [
    offline(1),
    directory(2, used=10 * MIB),
    directory(3, used=20 * MIB),
    still(topic("t", (1, 2))),
    replica(1, "/d1", "t"),
    replica(2, "/d1", "t"),
]
FILLING = [
    directory(1, "/d1", 850 * MIB),
    directory(1, "/d2", 100 * MIB),
    directory(2, used=50 * MIB),
    still(topic("t", (1, 2))),
    replica(1, "/d1", "t", size=200 * MIB),
    replica(2, "/d1", "t", size=200 * MIB),
]
NO_ROOM = [*FILLING, directory(1, "/d1", 990 * MIB), directory(1, "/d2", 800 * MIB)]


def planned(kind, an_alert=None, parts=FAILED):
    return of_kind(recommend(an_alert or alert(), facts(*parts), policy(), NOW_MS), kind)


def against(action, *parts, quorum=QUORUM, now_ms=NOW_MS, **fields):
    return reasons_against(action, facts(*parts, **fields), quorum, policy(), now_ms)


def test_on_the_same_cluster_everything_still_holds():
    assert against(planned(ActionKind.REASSIGN), *FAILED) == []
    assert against(planned(ActionKind.REPLACE_DISK), *FAILED) == []
    assert against(planned(ActionKind.MOVE_LOG_DIR, space_alert(), FILLING), *FILLING) == []
    assert against(planned(ActionKind.LOWER_RETENTION, space_alert(), NO_ROOM), *NO_ROOM) == []


def test_what_only_a_person_sees_is_listed():
    assert left_to_see(planned(ActionKind.REASSIGN)) == [
        "no other reassignment is running; the tool refuses otherwise",
        "the old copies on /d1 are strays once the disk is back",
        "no limit of other moves is set on broker 2, 3; this plan sets its own, and removes only these",
    ]


class TestRecord:
    @pytest.mark.parametrize("status", [ActionStatus.DONE, ActionStatus.WITHDRAWN, ActionStatus.REJECTED])
    def test_what_is_closed_holds_no_more(self, status):
        action = changed(planned(ActionKind.REASSIGN), status=status, status_reason="because")
        assert against(action, *FAILED) == [f"it is {status}: because"]

    def test_what_runs_is_not_begun_again(self):
        action = changed(planned(ActionKind.REASSIGN), status=ActionStatus.RUNNING)
        assert "it is running already" in against(action, *FAILED)

    def test_what_nobody_renewed_is_too_old_unless_somebody_took_it_up(self):
        action = planned(ActionKind.REASSIGN)
        late = action.expires_at_ms + 60_000
        assert against(action, *FAILED, now_ms=late) == ["it expired 1 min ago and was not renewed"]
        assert against(changed(action, status=ActionStatus.ACCEPTED), *FAILED, now_ms=late) == []

    def test_vetoes_and_broken_preconditions_of_the_record_count(self):
        action = changed(
            planned(ActionKind.REASSIGN),
            vetoes=[{"name": "x", "reason": "a veto"}],
            preconditions=[{"name": "y", "text": "a condition", "holds": False}],
        )
        assert against(action, *FAILED) == [
            "when it was planned: a veto",
            "when it was planned this did not hold: a condition",
        ]

    def test_a_move_that_was_planned_under_somebody_elses_limit_holds(self):
        parts = [*FILLING, broker(1, **{LOG_DIR_THROTTLE: "40000000"})]
        action = planned(ActionKind.MOVE_LOG_DIR, space_alert(), parts)
        assert {one["name"]: one["holds"] for one in action.preconditions}["throttle_free"] is False
        assert against(action, *parts) == []

    def test_a_move_that_will_be_late_holds(self):
        parts = [*FILLING, directory(1, "/d1", 850 * MIB, growth_bytes_per_s=3.0 * MIB)]
        action = planned(ActionKind.MOVE_LOG_DIR, space_alert(), parts)
        assert {one["name"]: one["holds"] for one in action.preconditions}["in_time"] is False
        assert against(action, *parts) == []

    def test_replicas_that_would_pass_another_directory_under_somebody_elses_limit_hold(self):
        parts = [*FAILED, directory(3, "/d2", 30 * MIB), broker(3, **{LOG_DIR_THROTTLE: "1500000"})]
        action = planned(ActionKind.REASSIGN, parts=parts)
        assert {one["name"]: one["holds"] for one in action.preconditions}["born_elsewhere"] is False
        assert against(action, *parts) == []


class TestReassignment:
    def test_a_destination_that_died(self):
        (reason,) = against(planned(ActionKind.REASSIGN), broker(3, BrokerStatus.UNKNOWN), *FAILED)
        assert "broker 3 is not known to be alive" in reason

    def test_a_destination_that_filled_meanwhile(self):
        (reason,) = against(planned(ActionKind.REASSIGN), *FAILED, directory(3, used=840 * MIB))
        assert "would fill /d1 on broker 3" in reason

    def test_a_destination_that_was_marked_meanwhile(self):
        rules = [{"broker": 3, "destination": False}]
        found = facts(*FAILED)
        (reason,) = reasons_against(planned(ActionKind.REASSIGN), found, QUORUM, policy(log_dirs=rules), NOW_MS)
        assert "/d1 on broker 3 is no destination" in reason

    def test_replicas_that_somebody_else_moved(self):
        (reason,) = against(planned(ActionKind.REASSIGN), *FAILED, still(topic("t", (2, 3))), directory(1, "/d2"))
        assert reason == "the replicas of t-0 are no longer those that it was planned for"

    def test_another_reassignment_that_runs(self):
        other = moving(topic("u", (1, 2, 3)), adding=(3,))
        assert against(planned(ActionKind.REASSIGN), *FAILED, other) == [
            "another reassignment runs (u-0); Kafka's tool refuses a second one"
        ]

    def test_beside_others_if_its_operations_say_so_even_without_a_command(self):
        other = moving(topic("u", (1, 2, 3)), adding=(3,))
        asked = planned(ActionKind.REASSIGN)
        beside = [{**one, "args": {**one["args"], "additional": True}} for one in asked.operations]
        assert against(changed(asked, operations=beside, commands=[]), *FAILED, other) == []

    def test_a_deleted_topic(self):
        (reason,) = against(planned(ActionKind.REASSIGN), *FAILED[:3])
        assert reason == "t-0 does not exist any more"

    @pytest.mark.parametrize(("now", "holds"), [("one", True), (None, True), ("two", False)])
    def test_a_topic_that_was_created_again(self, now, holds):
        before, after = ([*FAILED[:3], still(topic("t", (1, 2), topic_id=each)), *FAILED[4:]] for each in ("one", now))
        found = planned(ActionKind.REASSIGN, parts=before)
        assert found.based_on["topic_ids"] == {"t": "one"}
        assert against(found, *after) == ([] if holds else [f"t {ANOTHER_TOPIC}"])

    @pytest.mark.parametrize("ids", ["one", ["one"], {"t": 1}, None])
    def test_ids_that_nobody_can_read_say_nothing(self, ids):
        asked = planned(ActionKind.REASSIGN)
        asked = changed(asked, based_on={**asked.based_on, "topic_ids": ids})
        assert (asked.topic_ids, against(asked, *FAILED)) == ({}, [])

    def test_what_cannot_be_asked_is_no_yes(self):
        unknown = topic("t", (1, 2))
        assert against(planned(ActionKind.REASSIGN), *FAILED, unknown) == [
            "whether a reassignment runs cannot be asked"
        ]
        reasons = against(planned(ActionKind.REASSIGN), *FAILED, inventory_at_ms=None)
        assert reasons == ["the topics cannot be listed, so nobody knows where their replicas are"]


class TestNotNeededAnyMore:
    def test_a_directory_that_serves_again(self):
        for kind in (ActionKind.REASSIGN, ActionKind.REPLACE_DISK, ActionKind.RESTART_BROKER):
            reasons = against(changed(planned(kind), vetoes=[]), *FAILED, directory(1))
            assert "/d1 of broker 1 serves again" in reasons

    def test_a_broker_that_is_back(self):
        gone = alert(Rule.BROKER_OFFLINE, log_dir=None, to="offline", cause=None)
        down = [*FAILED, directory(1), broker(1, BrokerStatus.OFFLINE)]
        action = planned(ActionKind.RESTART_BROKER, gone, down)
        assert against(action, *down) == []
        assert "broker 1 is alive again" in against(action, *FAILED, directory(1), broker(1))

    def test_a_directory_that_fails_cannot_be_moved_from(self):
        action = planned(ActionKind.MOVE_LOG_DIR, space_alert(), FILLING)
        assert "/d1 of broker 1 is offline" in against(action, *FILLING, offline(1))

    def test_moves_that_ended(self):
        parts = [*FAILED[:2], offline(3), directory(3, "/d2"), moving(topic("t", (3, 1, 2)), adding=(3,)), directory(1)]
        action = planned(ActionKind.CANCEL_MOVES, alert(number=3), [*parts, replica(3, "/d1", "t")])
        assert "none of its moves runs any more" in against(action, *FAILED)
        forged = changed(action, expected={"copies": []})
        assert "none of its moves runs any more" in against(forged, *FAILED)


class TestConfigs:
    def test_a_retention_that_somebody_else_changed(self):
        action = planned(ActionKind.LOWER_RETENTION, space_alert(), NO_ROOM)
        other = still(topic("t", (1, 2), configs={"retention.bytes": "77"}))
        assert against(action, *NO_ROOM, other) == ["retention.bytes of t is 77, not -1 as it was"]

    def test_a_cut_of_what_a_group_has_still_to_read(self):
        action = planned(ActionKind.LOWER_RETENTION, space_alert(), NO_ROOM)
        unread = still(topic("t", (1, 2), unread={0: 0.85}))
        (reason,) = against(action, *NO_ROOM, unread)
        assert "consumer group readers has still to read about 170 MiB of t-0" in reason

    def test_a_cut_by_age_of_what_a_group_has_still_to_read(self):
        action = planned(ActionKind.LOWER_RETENTION, space_alert(), NO_ROOM)
        one = operations.topic_config("t", "retention.ms", "604800000", now=None, old=None)
        by_age = changed(action, operations=operations.as_data([one]))
        assert against(by_age, *NO_ROOM, still(topic("t", (1, 2), unread={0: 0.2}))) == []
        (reason,) = against(by_age, *NO_ROOM, still(topic("t", (1, 2), unread={0: 0.85})))
        assert reason.startswith("retention.ms of t would be 604800000: consumer group readers has still to read")

    def test_a_cut_of_a_topic_that_is_being_moved(self):
        action = planned(ActionKind.LOWER_RETENTION, space_alert(), NO_ROOM)
        copy = replica(1, "/d2", "t", size=MIB, is_future=True)
        moves = ["t-0 is being moved between directories already"]
        assert against(action, *NO_ROOM, copy) == moves
        assert list(ACTION_TYPES[ActionKind.DELETE_RECORDS].live_check(action, facts(*NO_ROOM, copy), QUORUM)) == moves

    def test_a_cut_from_before_the_cluster_was_strimzis(self):
        action = planned(ActionKind.LOWER_RETENTION, space_alert(), NO_ROOM)
        owned = with_fields(policy(), owner=Owner(ClusterOwner.STRIMZI, "c"))
        (reason,) = reasons_against(action, facts(*NO_ROOM), QUORUM, owned, NOW_MS)
        assert reason.startswith("Strimzi reverts it")
        for_strimzi = changed(action, owner=ClusterOwner.STRIMZI)
        assert reasons_against(for_strimzi, facts(*NO_ROOM), QUORUM, owned, NOW_MS) == []

    def test_a_topic_that_is_gone(self):
        action = planned(ActionKind.LOWER_RETENTION, space_alert(), NO_ROOM)
        assert against(action, *NO_ROOM[:3]) == ["topic t is not there any more, or the ACL Describe on it is missing"]


class TestRestart:
    FULL = (offline(1, cause=Cause.FULL, used=1000 * MIB), directory(2), directory(3), still(topic("t", (1, 2, 3))))

    def restart(self):
        return planned(ActionKind.RESTART_BROKER, alert(cause=Cause.FULL), self.FULL)

    def test_it_holds_while_nothing_else_is_wrong(self):
        assert against(self.restart(), *self.FULL) == []

    def test_not_when_another_broker_went_away_or_a_replica_fell_behind(self):
        assert against(self.restart(), *self.FULL, broker(2, BrokerStatus.UNKNOWN)) == [
            "broker 2 is not known to be alive"
        ]
        behind = still(topic("t", (1, 2, 3), isr={0: (1,)}))
        assert against(self.restart(), *self.FULL, behind) == ["broker 1 has the only in-sync replica of t-0"]

    def test_not_without_a_majority_of_controllers_that_are_caught_up(self):
        lagging = Quorum(leader=1, caught_up={1: True, 2: True, 3: False})
        assert against(self.restart(), *self.FULL, quorum=lagging) == [
            "without broker 1 only 1 of 3 controllers are caught up"
        ]
        assert against(self.restart(), *self.FULL, quorum=Quorum(9, {7: True, 8: True, 9: True})) == []
        assert against(self.restart(), *self.FULL, quorum=Quorum(1, {1: True})) == []
        assert against(self.restart(), *self.FULL, quorum=None) == ["the controllers' quorum cannot be asked"]

    def test_a_zookeeper_cluster_has_no_quorum_to_ask(self):
        zookeeper = broker(1, **{"process.roles": ""})
        assert against(self.restart(), *self.FULL, zookeeper, quorum=None) == []

    def test_a_new_disk_is_no_restart_on_the_old_one(self):
        assert against(planned(ActionKind.REPLACE_DISK), *FAILED) == []
        restart = changed(planned(ActionKind.RESTART_BROKER), vetoes=[])
        assert against(restart, *FAILED) == ["/d1 failed; restart only after the disk was replaced"]

    def test_freeing_space_stops_the_broker_too(self):
        step = planned(ActionKind.INVESTIGATE, alert(cause=Cause.FULL), self.FULL)
        assert against(step, *self.FULL) == []
        behind = still(topic("t", (1, 2, 3), isr={0: (1,)}))
        assert against(step, *self.FULL, behind) == ["broker 1 has the only in-sync replica of t-0"]
        assert against(step, *self.FULL, quorum=None) == ["the controllers' quorum cannot be asked"]


class TestElections:
    REBUILT = (*FAILED[:3], still(partition_of(topic("t", (3, 2)), leader=2)), replica(3, "/d1", "t"))

    def test_a_preferred_replica_that_fell_behind(self):
        action = planned(ActionKind.ELECT_LEADERS, None, self.REBUILT)
        assert against(action, *self.REBUILT) == []
        behind = still(partition_of(topic("t", (3, 2)), leader=2, isr=(2,)))
        full = directory(3, used=970 * MIB, status=LogDirStatus.SATURATED)
        for by_now in (behind, full):
            (reason,) = against(action, *self.REBUILT, by_now)
            assert reason.startswith("broker 3 cannot lead t-0")
        unknown = with_fields(behind, partitions=[with_fields(behind.partitions[0], replicas=())])
        assert "the replicas of t-0 are not known" in against(action, *self.REBUILT, unknown)

    def test_an_unclean_election_where_somebody_leads_again(self):
        lost = [broker(1, BrokerStatus.OFFLINE), directory(1, status=LogDirStatus.UNKNOWN), directory(2)]
        leaderless = still(topic("t", (1, 2), isr={0: (1,)}, leaderless=[0]))
        about = alert(
            Rule.PARTITIONS_AT_RISK, number=None, log_dir=None, to=None, cause=None, opened_at_ms=NOW_MS - 3_600_000
        )
        action = planned(ActionKind.ELECT_LEADERS, about, [*lost, leaderless])
        assert against(action, *lost, leaderless) == []
        assert against(action, *lost, still(topic("t", (2, 1)))) == ["t-0 has a leader again: broker 2"]


@pytest.mark.parametrize(
    ("action", "fields", "parts"),
    [
        (
            planned(ActionKind.MOVE_LOG_DIR, space_alert(), FILLING),
            {"reassignment": None, "undo": {}},
            [*FILLING, directory(1, "/d2", 940 * MIB, is_cordoned=True)],
        ),
        (
            planned(ActionKind.LOWER_RETENTION, space_alert(), NO_ROOM),
            {"configs": None},
            [*NO_ROOM, still(topic("t", (1, 2), configs={"retention.bytes": "77"}))],
        ),
    ],
    ids=["a move", "a cut"],
)
def test_the_operations_are_judged_not_the_fields_beside_them(action, fields, parts):
    reasons = against(action, *parts)
    assert reasons
    assert against(changed(action, **fields), *parts) == reasons


SUSPECT = (
    directory(1, is_suspect=True),
    *(directory(number, used=number * 9 * MIB) for number in (2, 3)),
    still(topic("t", (1, 2), configs={"min.insync.replicas": "1"})),
    *(replica(number, "/d1", "t") for number in (1, 2)),
)
LIMIT = {"follower.replication.throttled.rate": "1000000"}
LEFT = (broker(1, **LIMIT), directory(1), directory(2), still(topic("t", (1, 2))))
LEFT_ALERT = alert(
    Rule.THROTTLE_LEFT, log_dir=None, to=None, cause=None, evidence={"throttles": {next(iter(LIMIT)): 1000000}}
)
CLOSED = (*FILLING[:1], directory(1, "/d2", is_cordoned=True), *FILLING[3:], directory(2, used=840 * MIB))
OPEN_DIRS = tuple(directory(n, used=n * 9 * MIB, is_suspect=n == 1, is_cordoned=False) for n in (1, 2, 3))
OVERFLOWING = (
    directory(1, used=900 * MIB, incoming_bytes=270 * MIB),
    directory(1, "/d2"),
    *CLOSED[2:],
    replica(1, "/d1", "u", size=30 * MIB, is_future=True),
    still(topic("u", (1,))),
    replica(1, "/d2", "u", size=300 * MIB),
)
SUSPECT_ALERT = alert(Rule.LOG_DIR_SUSPECT, to="online", cause=None)


@pytest.mark.parametrize(
    ("kind", "an_alert", "parts", "by_now", "reason"),
    [
        (ActionKind.DEMOTE_LEADERS, SUSPECT_ALERT, SUSPECT, still(topic("t", (1, 2), isr={0: (1,)})), "cannot lead"),
        (
            ActionKind.DEMOTE_LEADERS,
            SUSPECT_ALERT,
            SUSPECT,
            directory(2, used=970 * MIB, status=LogDirStatus.SATURATED),
            "cannot lead",
        ),
        (ActionKind.CLEAR_THROTTLES, LEFT_ALERT, LEFT, moving(topic("u", (1, 2)), adding=(2,)), "u-0"),
        (
            ActionKind.UNCORDON_LOG_DIR,
            space_alert(),
            CLOSED,
            directory(1, "/d2", 900 * MIB, status=LogDirStatus.CRITICAL, is_cordoned=True),
            "is critical",
        ),
        (
            ActionKind.CORDON_LOG_DIR,
            SUSPECT_ALERT,
            (*OPEN_DIRS, *SUSPECT[3:]),
            directory(3, is_cordoned=True),
            "1 brokers would be left",
        ),
        (ActionKind.CANCEL_MOVES, space_alert(), OVERFLOWING, directory(1, "/d2", status=LogDirStatus.OFFLINE), "none"),
    ],
    ids=[
        "a new leader fell behind",
        "its disk filled",
        "a move needs the limit",
        "no room behind it",
        "the last one",
        "copies ended",
    ],
)
def test_what_would_not_be_planned_by_now_is_not_done(kind, an_alert, parts, by_now, reason):
    version = {"metadata_version": "4.3-IV0"}
    action = of_kind(recommend(an_alert, facts(*parts, **version), policy(), NOW_MS), kind)
    assert against(action, *parts, **version) == []
    found = against(action, *parts, by_now, **version)
    assert any(reason in one for one in found), found


def test_a_topic_that_nobody_may_touch_by_now_is_not_moved():
    action, found = planned(ActionKind.MOVE_LOG_DIR, space_alert(), FILLING), facts(*FILLING)
    (reason,) = reasons_against(action, found, QUORUM, policy(never_touch=["t"]), NOW_MS)
    assert reason == "the configuration says that t is never touched"


DAYS_LATER_MS = NOW_MS + 6 * 24 * 3_600_000
ROOMY = [
    *NO_ROOM,
    directory(1, "/d1", 990 * MIB, total=10_240 * MIB),
    directory(1, "/d2", 800 * MIB, total=10_240 * MIB),
]


@pytest.mark.parametrize(
    ("parts", "now_ms", "holds"),
    [
        (NO_ROOM, DAYS_LATER_MS, True),
        (ROOMY, NOW_MS, True),
        (ROOMY, DAYS_LATER_MS, False),
        ([*ROOMY, directory(1, "/d1", 7_300 * MIB, total=10_240 * MIB)], DAYS_LATER_MS, True),
    ],
    ids=["still full", "just planned", "planned days ago, and empty now", "above the target"],
)
def test_history_is_deleted_only_where_the_need_is_seen(parts, now_ms, holds):
    action = changed(planned(ActionKind.LOWER_RETENTION, space_alert(), NO_ROOM), status=ActionStatus.ACCEPTED)
    reasons = against(action, *parts, now_ms=now_ms, state_at_ms=now_ms, inventory_at_ms=now_ms)
    assert (not any("history would be deleted for nothing" in reason for reason in reasons)) == holds


NOTHING = {"op": "reassign", "args": {}, "expect_before": {}, "expect_after": {}}


def two_sided(make, there, here, *more, **named):
    """Return an operation of which each side has the replicas of some partitions, by topic."""
    plans = (
        to_json([Assignment(name, 0, found, ("any",) * len(found)) for name, found in plan.items()])
        for plan in (there, here, *more)
    )
    return as_data([make(*plans, "f", **named)])[0]


def moved(there, here):
    return two_sided(reassign, there, here, limits=Limits(), back=Limits())


def cancelled(moves, goals, kept):
    return two_sided(cancel_moves, moves, goals, kept, again=Limits())


T, U, AWAY = {"t": (1, 2)}, {"u": (1, 2)}, {"t": (3, 2)}


REFUSED = {
    "nothing": {},
    "no arguments": {"op": "reassign"},
    "one of another release": {"op": "format_disk"},
    "no partitions": {**NOTHING, "inverse": {"op": "reassign", "args": {}}},
    "a move of another partition back": moved(AWAY, U),
    "a move of more partitions back": moved(AWAY, {**T, **U}),
    "fewer replicas": moved({"t": (3,)}, T),
    "a broker twice": moved({"t": (3, 3)}, T),
    "a cancellation with another goal": cancelled(AWAY, U, T),
    "a cancellation with other replicas to keep": cancelled(AWAY, AWAY, U),
    "a cancellation of nothing": cancelled({}, {}, {}),
    "a cancellation with more goals": cancelled(AWAY, {**AWAY, **U}, T),
    "another replica by an order": two_sided(prefer_leaders, AWAY, T),
    "the order of another partition back": two_sided(prefer_leaders, T, U),
}


@pytest.mark.parametrize("operation", REFUSED.values(), ids=REFUSED)
def test_operations_that_cannot_be_read_or_contradict_themselves_are_a_reason(operation):
    made = changed(planned(ActionKind.MOVE_LOG_DIR, space_alert(), FILLING), operations=[operation])
    assert against(made, *FILLING) == [f"it {UNKNOWN}"]
    assert reason_against_applying(changed(made, content_hash=content_hash(made))) == UNKNOWN
