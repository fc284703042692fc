"""One plan for all open alerts: the loudest first, none against another, no more than is needed."""

from dataclasses import replace

import pytest
from msgspec.structs import replace as changed

from logdirwatch.model.vocabulary import ActionKind, ActionStatus, Cause, LogDirStatus, Rule, Severity
from logdirwatch.plan.cluster.assignment import from_json
from logdirwatch.plan.cluster.cordons import CORDON
from logdirwatch.plan.fix.plan import mixed_brokers, reassignment, steps
from logdirwatch.plan.fix.planner import fix, freed_in_time, given
from logdirwatch.plan.lifecycle.overlay import with_actions
from logdirwatch.report.actions.plans import as_data, view
from tests.unit.plan.answers import holds, of_kind
from tests.unit.plan.builders import (
    MIB,
    NOW_MS,
    action,
    alert,
    broker,
    directory,
    facts,
    offline,
    policy,
    replica,
    slowly,
    space_alert,
    topic,
)


def filling(path, *, name=None, severity=Severity.WARNING, number=1, **fields):
    """An alert of a directory that fills, under the name of its path."""
    return space_alert(alert_id=name or path, log_dir=path, number=number, severity=severity, **fields)


def placed(number, path, name, *sizes):
    return [replica(number, path, name, partition, size * MIB) for partition, size in enumerate(sizes)]


def planned(alerts, *parts, known=(), growth=None, **limits):
    return fix(alerts, known, facts(*parts, growth=growth or {}), policy(**limits), NOW_MS)


def told(plan):
    """By alert: the kinds of its actions."""
    return {remedy.alert.alert_id: [str(action.kind) for action in remedy.actions] for remedy in plan.remedies}


def moved(plan):
    """What moves where, as ``t-0 1/d3``."""
    return [
        f"{assignment.label} {broker}{path}"
        for action in plan.actions
        for assignment in from_json(action.reassignment or {"partitions": []})
        for broker, path in assignment.chosen
    ]


TWO_FULL = [
    directory(1, "/d1", 800 * MIB),
    directory(1, "/d2", 820 * MIB),
    directory(1, "/d3", 600 * MIB),
    topic("a", (1,), (1,)),
    topic("b", (1,), (1,)),
    *placed(1, "/d1", "a", 150, 30),
    *placed(1, "/d2", "b", 160, 40),
]
"""/d3 has room for 250 MiB up to 85 %; each of the others must give 100 and 120 MiB to be under 70 %."""


def test_nothing_open_needs_nothing():
    plan = planned([], *TWO_FULL)
    assert (plan.remedies, plan.actions) == ((), [])
    assert reassignment(plan) == {"version": 1, "partitions": []}


def test_the_loudest_alert_comes_first_and_its_moves_count_in_the_room_of_the_next():
    alone = planned([filling("/d1")], *TWO_FULL)
    assert moved(alone) == ["a-0 1/d3"]
    plan = planned([filling("/d1"), filling("/d2", severity=Severity.PAGE, to="saturated")], *TWO_FULL)
    assert [remedy.alert.alert_id for remedy in plan.remedies] == ["/d2", "/d1"]
    assert moved(plan)[0] == "b-0 1/d3"
    assert "a-0 1/d3" not in moved(plan), "160 of the 250 MiB are taken"


def test_of_equally_loud_alerts_the_older_one_comes_first():
    young = filling("/d2", opened_at_ms=NOW_MS)
    plan = planned([young, filling("/d1", opened_at_ms=NOW_MS - 1)], *TWO_FULL)
    assert [remedy.alert.alert_id for remedy in plan.remedies] == ["/d1", "/d2"]


def test_history_is_cut_only_as_far_as_moves_do_not_suffice():
    parts = [
        directory(1, "/d1", 800 * MIB),
        directory(1, "/d2", 100 * MIB),
        topic("a", (1,)),
        *placed(1, "/d1", "a", 150),
    ]
    enough = planned([filling("/d1")], *parts)
    assert told(enough)["/d1"][0] == "move_log_dir"
    assert "lower_retention" not in told(enough)["/d1"]
    assert enough.remedies[0].missing_bytes == 0
    parts[0] = directory(1, "/d1", 900 * MIB, growth_bytes_per_s=0.1 * MIB)
    parts[1] = directory(1, "/d2", 840 * MIB)
    cut = planned([filling("/d1")], *parts, growth=slowly(*parts))
    assert told(cut)["/d1"][:2] == ["expand_disk", "lower_retention"]
    assert cut.remedies[0].missing_bytes == 0, "it is safe until the volume has grown"


def test_what_the_configuration_marks_takes_nothing_and_the_plan_says_so():
    parts = [
        directory(1, "/d1", 800 * MIB),
        directory(1, "/d2", 100 * MIB),
        topic("a", (1,), configs={"cleanup.policy": "compact"}),
        *placed(1, "/d1", "a", 150),
    ]
    assert moved(planned([filling("/d1")], *parts)) == ["a-0 1/d2"]
    plan = planned([filling("/d1")], *parts, log_dirs=[{"log_dir": "/d2", "destination": False}])
    assert moved(plan) == []
    grow = next(action for action in plan.actions if action.kind is ActionKind.EXPAND_DISK)
    assert "plan.log_dirs says that /d2 on broker 1 is no destination" in grow.reason


def test_what_one_alert_cuts_is_not_moved_for_another_and_helps_it_too():
    """Nothing can be moved on broker 1, so t is cut: on broker 2, too, which needs no move any more."""
    parts = [
        directory(1, "/d1", 900 * MIB, growth_bytes_per_s=0.1 * MIB),
        directory(2, "/d1", 740 * MIB),
        directory(2, "/d2", 100 * MIB),
        topic("t", (1, 2)),
        *placed(1, "/d1", "t", 400),
        *placed(2, "/d1", "t", 400),
    ]
    quiet = filling("/d1", name="two", number=2)
    assert moved(planned([quiet], *parts)) == ["t-0 2/d2"]
    plan = planned([filling("/d1", name="one", severity=Severity.PAGE), quiet], *parts)
    assert told(plan)["one"][:2] == ["expand_disk", "lower_retention"]
    assert moved(plan) == []
    assert [remedy.missing_bytes for remedy in plan.remedies] == [0, 0]


def test_no_partition_is_reassigned_twice_for_two_alerts():
    parts = [
        offline(1, "/d1", used=300 * MIB),
        offline(2, "/d1", used=300 * MIB),
        *(directory(number, "/d1", 100 * MIB, total=1000 * MIB + number) for number in (3, 4, 5)),
        topic("t", (1, 2, 3), isr={0: (3,)}),
        *placed(1, "/d1", "t", 100),
        *placed(2, "/d1", "t", 100),
        *placed(3, "/d1", "t", 100),
    ]
    alerts = [alert(alert_id="one", number=1), alert(alert_id="two", number=2)]
    plan = planned(alerts, *parts)
    keys = [a.key for action in plan.actions for a in from_json(action.reassignment or {"partitions": []})]
    assert keys == [("t", 0)]
    assert any("reassigns t-0" in str(action.reason) for action in plan.remedies[1].actions)


def test_where_nothing_fits_it_says_what_stands_against_and_what_is_missing():
    parts = [
        directory(1, "/d1", 800 * MIB),
        directory(1, "/d2", 100 * MIB, status=LogDirStatus.OFFLINE, cause=Cause.FAILED),
        topic("__internal", (1,)),
        *placed(1, "/d1", "__internal", 150),
    ]
    plan = planned([filling("/d1")], *parts)
    (remedy,) = plan.remedies
    assert [str(a.kind) for a in remedy.actions if a.kind not in {ActionKind.CORDON_LOG_DIR}] == ["expand_disk"]
    assert "/d2 of broker 1 is offline" in remedy.actions[0].reason
    full = planned([filling("/d1")], *parts, log_dirs=[{"log_dir": "/d1", "max_bytes": 1000 * MIB}])
    assert "expand_disk" not in told(full)["/d1"]


def test_what_somebody_took_up_stands_and_what_was_rejected_is_not_proposed_again():
    (proposed,) = [a for a in planned([filling("/d1")], *TWO_FULL).actions if a.kind is ActionKind.MOVE_LOG_DIR]
    taken = changed(proposed, status=ActionStatus.ACCEPTED)
    plan = planned([filling("/d1"), filling("/d2")], *TWO_FULL, known=[taken])
    assert [action.action_id for action in plan.remedies[0].under_way] == [taken.action_id]
    assert not any(move.startswith("a-") for move in moved(plan)), "the accepted move is enough"
    assert "b-0 1/d3" not in moved(plan), "150 of the 250 MiB are spoken for"
    rejected = changed(proposed, status=ActionStatus.REJECTED)
    again = planned([filling("/d1")], *TWO_FULL, known=[rejected])
    assert proposed.action_id not in {action.action_id for action in again.actions}
    louder = planned([filling("/d1", severity=Severity.PAGE)], *TWO_FULL, known=[rejected])
    assert proposed.action_id in {action.action_id for action in louder.actions}


def test_what_was_only_proposed_is_planned_anew():
    old = action(ActionKind.MOVE_LOG_DIR, alert_id="/d1")
    assert moved(planned([filling("/d1")], *TWO_FULL, known=[old])) == ["a-0 1/d3"]


def test_a_failed_disk_is_rebuilt_before_a_warning_takes_the_room():
    parts = [
        offline(1, "/d1", used=300 * MIB),
        directory(2, "/d1", 1480 * MIB, total=2000 * MIB),
        directory(2, "/d2", 600 * MIB),
        directory(3, "/d1", 100 * MIB),
        topic("t", (1, 3), isr={0: (3,)}),
        topic("u", (2,)),
        *placed(1, "/d1", "t", 200),
        *placed(3, "/d1", "t", 200),
        *placed(2, "/d1", "u", 150),
    ]
    plan = planned([filling("/d1", number=2), alert(alert_id="dead", severity=Severity.CRITICAL)], *parts)
    assert [remedy.alert.alert_id for remedy in plan.remedies] == ["dead", "/d1"]
    assert plan.actions[0].kind is ActionKind.REASSIGN
    assert moved(plan)[0] == "t-0 2/d2"
    assert "u-0 2/d2" not in moved(plan)


def test_moves_that_would_overflow_a_directory_end_first_and_what_they_spare_counts():
    parts = [
        directory(1, "/d1", 800 * MIB),
        directory(1, "/d2", 400 * MIB),
        topic("a", (1,), (1,)),
        *placed(1, "/d1", "a", 150, 30),
        topic("b", (1,)),
        *placed(1, "/d2", "b", 300),
        replica(1, "/d1", "b", 0, 10 * MIB, is_future=True),
    ]
    plan = planned([filling("/d1")], *parts)
    assert told(plan)["/d1"][:2] == ["cancel_moves", "move_log_dir"]
    assert moved(plan) == ["a-0 1/d2"], "90 MiB are left to leave of the 390"
    assert plan.remedies[0].missing_bytes == 0


def test_the_cuts_for_a_whole_cluster_are_for_what_is_not_helped_yet():
    fleet = alert(Rule.FLEET_SPACE, alert_id="fleet", number=None, log_dir=None, severity=Severity.WARNING)
    parts = [
        directory(1, "/d1", 800 * MIB),
        directory(1, "/d2", 100 * MIB),
        topic("a", (1,)),
        *placed(1, "/d1", "a", 150),
    ]
    plan = planned([filling("/d1", severity=Severity.PAGE), fleet], *parts)
    assert told(plan)["fleet"] == ["investigate"]
    assert "no directory is above the target ratio" in plan.remedies[1].actions[0].reason


def test_steps_tell_what_is_copied_and_how_full_it_gets():
    plan = planned([filling("/d1")], *TWO_FULL)
    (wave,) = steps(plan)["waves"]
    assert wave["kind"] == "move_log_dir"
    assert wave["action_id"] == plan.actions[0].action_id
    assert wave["moved_bytes"] == 150 * MIB
    assert wave["moves"] == [
        {
            "topic": "a",
            "partition": 0,
            "size_bytes": 150 * MIB,
            "from_broker": 1,
            "from_log_dir": "/d1",
            "to_broker": 1,
            "to_log_dir": "/d3",
        }
    ]
    fills = {
        one["log_dir"]: (one["before_ratio"], one["worst_ratio"], one["after_ratio"]) for one in wave["directories"]
    }
    assert fills == {"/d1": (0.8, 0.8, 0.65), "/d3": (0.6, 0.75, 0.75)}
    assert wave["throttle"] == {"log_dir_bytes_per_s": 50_000_000, "replication_bytes_per_s": None}
    assert wave["reassignment"] == reassignment(plan)
    assert wave["commands"] == plan.actions[0].commands


def test_new_replicas_on_a_broker_and_moves_within_it_do_not_belong_in_one_reassignment():
    within = [
        directory(2, "/d1", 760 * MIB),
        directory(2, "/d2", 500 * MIB),
        topic("b", (2,)),
        *placed(2, "/d1", "b", 65),
    ]
    between = [directory(1, "/d1", 840 * MIB), topic("a", (1,)), *placed(1, "/d1", "a", 72)]
    beside = [directory(3, "/d1", 800 * MIB)]
    full = [filling("/d1"), filling("/d1", number=2, name="2")]
    assert mixed_brokers(planned(full, *within, *between, *beside)) == [2]
    assert mixed_brokers(planned(full[:1], *within, *between, *beside)) == []
    assert mixed_brokers(planned(full[1:], *within, *between, *beside)) == []


def test_another_order_of_preference_is_no_copy():
    parts = [
        directory(1, "/d1", 970 * MIB, status=LogDirStatus.SATURATED),
        directory(2, "/d1", 100 * MIB),
        topic("__t", (1, 2)),
        *placed(1, "/d1", "__t", 100),
        *placed(2, "/d1", "__t", 100),
    ]
    plan = planned([filling("/d1", to="saturated", severity=Severity.PAGE)], *parts)
    assert "demote_leaders" in told(plan)["/d1"]
    assert steps(plan)["waves"] == []
    assert len(reassignment(plan)["partitions"]) == 1


def test_a_new_replica_that_any_directory_may_get_takes_room_in_all_of_them():
    plain = facts(broker(2), directory(2, "/d1"), directory(2, "/d2"), topic("t", (1,)), replica(1, "/d1", "t", 0, 7))
    plan = {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [2], "log_dirs": ["any"]}]}
    there = with_actions(plain, [action(ActionKind.REASSIGN, reassignment=plan)])
    assert there.reserved == {(2, "/d1"): 7, (2, "/d2"): 7}
    stays = replace(plain, layout=replace(plain.layout, topics={"t": topic("t", (2,))}))
    assert with_actions(stays, [action(ActionKind.REASSIGN, reassignment=plan)]).reserved == {}


def test_where_another_alerts_copies_take_the_only_way_there_is_more_room_to_ask_for():
    """A new replica is born where the fewest are: the second one in the directory whose space nobody knows."""
    compacted = {"cleanup.policy": "compact"}
    parts = [
        directory(1, "/d1", 850 * MIB),
        directory(2, "/d1", 851 * MIB),
        directory(3, "/d1", 100 * MIB),
        directory(3, "/d2", None),
        directory(4, "/d1", 852 * MIB),
        topic("a", (1, 4), configs=compacted),
        topic("b", (2, 4), configs=compacted),
        topic("c", (3,), (3,), configs=compacted),
        *placed(1, "/d1", "a", 200),
        *placed(2, "/d1", "b", 200),
        *placed(3, "/d2", "c", 1, 1),
    ]
    plan = planned([filling("/d1", name="first"), filling("/d1", name="second", number=2)], *parts)
    assert told(plan) == {"first": ["reassign", "investigate"], "second": ["expand_disk", "investigate"]}
    assert plan.remedies[1].missing_bytes == 0
    assert "the free space of /d2 on broker 3 is not known" in of_kind(plan.actions, ActionKind.EXPAND_DISK).reason


def test_after_a_rejected_cut_there_is_more_room_to_ask_for():
    parts = [directory(1, "/d1", 870 * MIB, growth_bytes_per_s=0.1 * MIB), topic("t", (1,))]
    parts += placed(1, "/d1", "t", 800)
    grow, cut = planned([filling("/d1")], *parts).actions
    assert (grow.kind, cut.kind) == (ActionKind.EXPAND_DISK, ActionKind.LOWER_RETENTION)
    rejected = changed(cut, status=ActionStatus.REJECTED)
    assert told(planned([filling("/d1")], *parts, known=[rejected])) == {"/d1": ["expand_disk"]}


def test_a_cordon_keeps_what_the_plan_cordons_before_it():
    parts = [
        broker(1, **{"log.dirs": "/d1,/d2", "cordoned.log.dirs": ""}),
        directory(1, "/d1", 850 * MIB, is_cordoned=False),
        directory(1, "/d2", 840 * MIB, is_cordoned=False),
        directory(2),
        *(topic(name, (1,)) for name in "tu"),
        *placed(1, "/d1", "t", 400),
        *placed(1, "/d2", "u", 400),
    ]
    found = fix([filling("/d1"), filling("/d2")], (), facts(*parts, metadata_version=CORDON), policy(), NOW_MS)
    first, second = (action for action in found.actions if action.kind is ActionKind.CORDON_LOG_DIR)
    assert first.commands[0].endswith("'cordoned.log.dirs=[/d1]'")
    assert second.commands[0].endswith("'cordoned.log.dirs=[/d1,/d2]'")


def test_of_two_moves_of_which_only_the_first_is_in_time_the_second_counts_for_nothing():
    """The directory is full in 5 min; with what the first frees in 10. The second takes longer than that."""
    compacted = {"cleanup.policy": "compact"}
    parts = [
        directory(1, "/d1", 940 * MIB, growth_bytes_per_s=0.2 * MIB),
        directory(1, "/d2", 740 * MIB),
        directory(2, "/d1", 500 * MIB),
        directory(3, "/d1", 100 * MIB),
        topic("a", (1,), configs=compacted),
        topic("b", (2, 1), configs=compacted),
        *placed(1, "/d1", "a", 60),
        *placed(1, "/d1", "b", 420),
        *placed(2, "/d1", "b", 420),
    ]
    slow = {"disk_bandwidth_bytes_per_s": MIB, "network_bandwidth_bytes_per_s": MIB}
    (remedy,) = planned([filling("/d1", to="critical")], *parts, **slow).remedies
    first, second = (a for a in remedy.actions if a.kind in {ActionKind.MOVE_LOG_DIR, ActionKind.REASSIGN})
    assert (holds(first, "in_time"), holds(second, "in_time")) == (None, False)
    assert remedy.missing_bytes == 240 * MIB + 1 - 60 * MIB
    assert remedy.full_in_ms == 300_000
    quick = planned([filling("/d1", to="critical")], *parts).remedies[0]
    assert quick.missing_bytes == 0


def test_what_is_missing_when_it_is_full_is_said_with_the_time():
    parts = [directory(1, "/d1", 940 * MIB, growth_bytes_per_s=0.2 * MIB)]
    plan = planned([filling("/d1", to="critical")], *parts, log_dirs=[{"log_dir": "/d1", "max_bytes": 1000 * MIB}])
    text = "\n".join(str(line) for line in view(plan, NOW_MS, 200).renderables)
    assert "it is full in about 5 min, and 240 MiB are missing with everything that is in time" in text
    assert as_data(plan)["alerts"][0]["full_in_ms"] == 300_000


HERE = (1, "/d1")
FULL = directory(1, used=1_000_000_000 - 700_000, total=1_000_000_000, growth_bytes_per_s=1000.0)
"""Full 100 s after a person has begun, who takes ten minutes; at 1,000 bytes per second."""


def on(*bytes_of):
    return [{"broker": number, "log_dir": path, "bytes": size} for number, path, size in bytes_of]


def move(size, needs_ms, *, kind=ActionKind.MOVE_LOG_DIR, alert_id="alert", name="t", where=HERE):
    plan = {"version": 1, "partitions": [{"topic": name, "partition": 0, "replicas": [1], "log_dirs": ["/d2"]}]}
    expected = {"on": on((*where, size), (1, "/d2", -size)), "needs_ms": needs_ms}
    return action(kind, alert_id=alert_id, reassignment=plan, expected=expected)


def cut(size, needs_ms, **fields):
    return action(ActionKind.LOWER_RETENTION, expected={"on": on((*HERE, size)), "needs_ms": needs_ms}, **fields)


def freed(*agreed, volume=(HERE,), parts=()):
    return freed_in_time(space_alert(), FULL, volume, agreed, facts(FULL, *parts))


@pytest.mark.parametrize(
    ("agreed", "total"),
    [
        ([move(10, 99_999)], 10),
        ([move(10, 100_000)], 0),
        ([move(10, 60_000), move(7, 60_000)], 10),
        ([move(50_000, 60_000), move(7, 60_000)], 50_007),
        ([move(10, 60_000), move(7, 60_000, alert_id="other")], 17),
        ([move(10, 60_000), cut(7, 60_000)], 17),
        ([move(10, None), move(7, 60_000)], 7),
        ([cut(10, None)], 0),
        ([cut(10, 650_000)], 0),
        ([cut(10, 650_000, status=ActionStatus.ACCEPTED)], 10),
        ([action(ActionKind.INVESTIGATE, expected={})], 0),
        ([move(10, 1, kind=ActionKind.CANCEL_MOVES)], 0),
        ([move(10, 1, where=(2, "/d1"))], 0),
        ([], 0),
    ],
    ids=[
        "in time",
        "when it is full already",
        "the second ends too late",
        "the first makes it last for the second",
        "another alert's runs beside it",
        "a cut runs beside it",
        "one of unknown length delays nothing",
        "a cut of unknown length",
        "a cut that nobody has accepted",
        "a cut that is accepted",
        "what frees nothing",
        "what is done first is in the snapshot",
        "elsewhere",
        "nothing",
    ],
)
def test_what_is_there_before_it_is_full(agreed, total):
    assert freed(*agreed) == total


def test_what_is_seen_to_move_is_counted_in_the_snapshot():
    running = [topic("t", (1,)), replica(1, "/d1", "t"), directory(1, "/d2"), replica(1, "/d2", "t", is_future=True)]
    assert freed(move(10, 1), move(7, 1, name="u"), parts=running) == 7


def test_every_directory_of_the_volume_counts_and_what_is_taken_does_not():
    moved = move(10, 1)
    assert freed(moved, volume=(HERE, (1, "/d2"))) == 10
    assert freed(move(10, 1, where=(1, "/d3")), volume=(HERE, (1, "/d3"))) == 10


class TestWhatIsGiven:
    def test_it_is_added_up_by_directory(self):
        assert given([move(10, 1), cut(5, 1)]) == {HERE: 15, (1, "/d2"): 0}

    def test_copies_that_end_do_not_come(self):
        cancel = action(ActionKind.CANCEL_MOVES, expected={"on": on((*HERE, 3)), "spares_bytes": 20})
        assert given([cancel, cut(5, 1)]) == {HERE: 28}
        alone = action(ActionKind.CANCEL_MOVES, expected={"spares_bytes": 20})
        assert given([alone, alone]) == {HERE: 40}

    def test_what_changes_no_directory_gives_nothing(self):
        assert given([action(ActionKind.INVESTIGATE, expected={"on": None}), action(expected={})]) == {}
