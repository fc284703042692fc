"""What is recommended for each alert, as records: first things first, honest effects, at least one without a veto."""

from dataclasses import replace as changed

import pytest

from logdirwatch.model.vocabulary import ActionKind, ActionStatus, Cause, LogDirStatus, Rule, Severity
from logdirwatch.plan.cluster.assignment import from_json
from logdirwatch.plan.recommend import recommend
from logdirwatch.plan.vetoes.reassignment import violations
from tests.unit.plan.answers import kinds, of_kind
from tests.unit.plan.builders import (
    FAILED,
    MIB,
    NOW_MS,
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

SOURCE = directory(1, "/d1", 850 * MIB, growth_bytes_per_s=1.0 * MIB)
NO_ROOM = (directory(1, "/d2", 840 * MIB), directory(2, "/d1", 850 * MIB))
FILLING = [
    SOURCE,
    directory(1, "/d2", 100 * MIB),
    directory(2, "/d1", 50 * MIB),
    topic("t", (1, 2)),
    replica(1, "/d1", "t", size=200 * MIB),
    replica(2, "/d1", "t", size=200 * MIB),
]


IN_TIME = [changed(SOURCE, growth_bytes_per_s=0.1 * MIB), *FILLING[1:]]


def recommended(an_alert, *parts, growth=None, **limits):
    return recommend(an_alert, facts(*parts, growth=growth or {}) if parts else None, policy(**limits), NOW_MS)


def undo_of_move(source, metadata_version="4.3-IV0"):
    """The commands that undo the move off a directory, which is cordoned before where the version allows it."""
    found = recommend(space_alert(), facts(source, *FILLING[1:], metadata_version=metadata_version), policy(), NOW_MS)
    return of_kind(found, ActionKind.MOVE_LOG_DIR).undo["commands"]


class TestFilling:
    def test_a_move_that_is_enough_and_in_time_leaves_nothing_to_lose(self):
        assert kinds(recommended(space_alert(), *IN_TIME)) == ["move_log_dir"]

    def test_a_move_says_what_it_frees_where_and_when(self):
        action = recommended(space_alert(), *IN_TIME)[0]
        seconds = 200 * MIB * (1 + 0.1 * MIB / 50_000_000) / 50_000_000
        assert action.expected["frees_bytes"] == 200 * MIB
        assert action.expected["needs_ms"] == pytest.approx(seconds * 1000 + 60_000, abs=2)
        assert action.expected["frees_by_ms"] == NOW_MS + action.expected["needs_ms"]
        assert action.expected["time_to_full_after_ms"] == 3500 * 1000
        assert action.expected["on"] == [
            {"broker": 1, "log_dir": "/d1", "bytes": 200 * MIB},
            {"broker": 1, "log_dir": "/d2", "bytes": -200 * MIB},
        ]

    def test_a_move_is_what_kafkas_tool_takes_and_goes_back(self):
        action = recommended(space_alert(), *FILLING)[0]
        moved = {"topic": "t", "partition": 0, "replicas": [1, 2], "log_dirs": ["/d2", "any"]}
        assert action.reassignment == {"version": 1, "partitions": [moved]}
        assert action.undo["reassignment"] == {"version": 1, "partitions": [moved | {"log_dirs": ["/d1", "any"]}]}
        assert any("--execute" in command for command in action.undo["commands"])
        assert "--cancel" in action.undo["while_running"][0]

    def test_a_move_goes_back_only_to_a_directory_that_is_not_cordoned(self):
        asked = "If /d1 of broker 1 is cordoned by then, uncordon it first"
        assert asked in undo_of_move(SOURCE)[0]
        assert undo_of_move(changed(SOURCE, is_cordoned=True))[0].endswith("--delete-config cordoned.log.dirs")
        assert not [command for command in undo_of_move(SOURCE, "3.9-IV0") if "cordon" in command]

    def test_in_time_holds_only_when_it_is(self):
        def in_time(rate, growth_bytes_per_s=MIB):
            full = changed(FILLING[0], growth_bytes_per_s=float(growth_bytes_per_s))
            limits = {"disk_bandwidth_bytes_per_s": growth_bytes_per_s + rate}
            action = of_kind(recommended(space_alert(), full, *FILLING[1:], **limits), ActionKind.MOVE_LOG_DIR)
            return next(p["holds"] for p in action.preconditions if p["name"] == "in_time")

        assert in_time(50_000_000, MIB // 10) is True
        assert in_time(50_000_000) is None
        assert in_time(2_000_000) is False

    def test_without_known_growth_nothing_is_claimed_of_time(self):
        parts = [directory(1, "/d1", 850 * MIB), *FILLING[1:]]
        action = recommended(space_alert(), *parts)[0]
        assert action.expected["time_to_full_after_ms"] is None
        assert next(p["holds"] for p in action.preconditions if p["name"] == "in_time") is None

    def test_a_cut_loses_data_and_says_so(self):
        found = recommended(space_alert(), *FILLING, *NO_ROOM, growth=slowly(*FILLING))
        action = of_kind(found, ActionKind.LOWER_RETENTION)
        assert action.data_loss
        assert action.requires_approval
        assert action.configs == {"t": {"retention.bytes": {"from": "-1", "to": str(39 * MIB)}}}
        assert action.expected["frees_bytes"] == 151 * MIB
        assert action.expected["needs_ms"] == 360_000
        assert action.expected["on"] == [
            {"broker": 1, "log_dir": "/d1", "bytes": 151 * MIB},
            {"broker": 2, "log_dir": "/d1", "bytes": 151 * MIB},
        ]
        (command,) = action.commands
        assert command == (
            "kafka-configs.sh --bootstrap-server kafka:9092 --alter --entity-type topics --entity-name=t "
            f"--add-config retention.bytes={39 * MIB}"
        )

    def test_the_undo_of_a_cut_deletes_an_override_that_was_not_there(self):
        action = of_kind(recommended(space_alert(), *FILLING, *NO_ROOM), ActionKind.LOWER_RETENTION)
        assert action.undo["commands"][0].endswith("--delete-config retention.bytes")

    @pytest.mark.parametrize("overridden", [frozenset({"retention.bytes"}), None])
    def test_the_undo_of_a_cut_restores_an_override_and_what_nobody_knows(self, overridden):
        limited = topic("t", (1, 2), configs={"retention.bytes": str(900 * MIB)}, overridden=overridden)
        action = of_kind(recommended(space_alert(), *FILLING, *NO_ROOM, limited), ActionKind.LOWER_RETENTION)
        assert action.undo["commands"][0].endswith(f"--add-config retention.bytes={900 * MIB}")

    def test_history_that_may_get_too_short_is_said_not_hidden(self):
        """Half of what is there stays where nobody knows how fast it is written, and nobody knows how long that is."""
        action = of_kind(recommended(space_alert(), *FILLING, *NO_ROOM), ActionKind.LOWER_RETENTION)
        assert action.configs["t"]["retention.bytes"]["to"] == str(100 * MIB)
        assert action.expected["keeps_ms_at_least"] is None
        assert next(p["holds"] for p in action.preconditions if p["name"] == "min_retention") is None

    def test_where_the_rate_is_known_so_is_the_history_that_stays(self):
        growth = slowly(*FILLING, rate=1.0 * MIB)
        found = recommended(space_alert(), *FILLING, *NO_ROOM, growth=growth, min_retention_ms=100_000)
        action = of_kind(found, ActionKind.LOWER_RETENTION)
        assert action.configs["t"]["retention.bytes"]["to"] == str(100 * MIB)
        assert action.expected["keeps_ms_at_least"] == 100_000
        assert next(p["holds"] for p in action.preconditions if p["name"] == "min_retention") is True

    def test_where_nothing_helps_a_bigger_volume_is_asked_for_and_why(self):
        (action,) = recommended(space_alert(), SOURCE, directory(1, "/d2", 830 * MIB))
        assert action.kind is ActionKind.EXPAND_DISK
        needed = 850 * MIB - 700 * MIB + 1
        assert action.expected["frees_bytes"] == int(needed / 0.7) + 1
        assert "may be moved" in action.reason
        assert "no topic in /d1 has anything to give" in action.reason

    def test_a_vetoed_move_is_told_with_its_reason_and_cannot_be_pasted(self):
        parts = [*FILLING, offline(1, "/d3")]
        *others, last = recommended(space_alert(), *parts, growth=slowly(*parts))
        assert last.kind is ActionKind.MOVE_LOG_DIR
        assert [veto["name"] for veto in last.vetoes] == ["log_dir_offline"]
        assert last.commands == []
        assert last.reassignment is None
        assert kinds(others) == ["expand_disk", "lower_retention"]

    def test_below_the_target_the_runbook_step_is_left(self):
        assert kinds(recommended(space_alert(), directory(1, "/d1", 500 * MIB))) == ["investigate"]


class TestFailed:
    def test_rebuild_then_replace_then_restart(self):
        assert kinds(recommended(alert(), *FAILED)) == ["reassign", "replace_disk", "restart_broker"]

    def test_the_reassignment_keeps_replication_factor_and_is_valid(self):
        action = recommended(alert(), *FAILED)[0]
        moved = {"topic": "t", "partition": 0, "replicas": [3, 2], "log_dirs": ["/d1", "any"]}
        assert action.reassignment == {"version": 1, "partitions": [moved]}
        assert violations(from_json(action.reassignment), facts(*FAILED), policy()) == []
        assert action.expected["needs_ms"] == 100 * MIB * 1000 // 50_000_000 + 60_000
        assert action.undo["reassignment"]["partitions"][0]["replicas"] == [1, 2]

    def test_the_copy_is_throttled_and_given_time_to_find_its_directory(self):
        _write, limit, execute, *_ = recommended(alert(), *FAILED)[0].commands
        assert "follower.replication.throttled.rate=50000000" in limit
        assert "replica.alter.log.dirs" not in limit, "it would keep the copy where it was born"
        assert "--timeout 60000" in execute

    def test_the_old_copies_are_named_as_strays_that_come_back_with_the_disk(self):
        (strays,) = (p for p in recommended(alert(), *FAILED)[0].preconditions if p["name"] == "strays")
        assert strays["text"] == "the old copies on /d1 are strays once the disk is back"

    def test_restart_waits_for_the_disk(self):
        action = of_kind(recommended(alert(), *FAILED), ActionKind.RESTART_BROKER)
        assert [veto["name"] for veto in action.vetoes] == ["known_sick_disk"]
        assert action.commands == []
        assert action.expected["returns"] == ["t-0"]

    def test_when_nothing_fits_it_says_so_and_what_would_help(self):
        parts = [offline(1), directory(2), topic("t", (1, 2)), replica(1, "/d1", "t"), replica(2, "/d1", "t")]
        actions = recommended(alert(), *parts)
        assert kinds(actions) == ["replace_disk", "restart_broker"]
        assert "its only replica cannot be rebuilt elsewhere" in actions[0].reason
        assert "one broker more than the replication factor" in actions[0].reason

    def test_what_cannot_be_rebuilt_is_listed_beside_what_can(self):
        parts = [*FAILED, topic("u", (1,)), replica(1, "/d1", "u")]
        action = recommended(alert(), *parts)[0]
        assert action.expected["rebuilds"] == 1
        assert [(u["partition"], u["name"]) for u in action.expected["unplaced"]] == [("u-0", "no_live_source")]

    def test_the_formatting_that_kafka_demands_is_named(self):
        action = of_kind(recommended(alert(), *FAILED), ActionKind.REPLACE_DISK)
        assert any(command.startswith("# Format it") for command in action.commands)

    @pytest.mark.parametrize(
        ("is_metadata_dir", "asked"),
        [
            (True, ["disk_is_broken", "quorum_caught_up"]),
            (None, ["disk_is_broken", "quorum_caught_up"]),
            (False, ["disk_is_broken"]),
        ],
    )
    def test_where_a_voters_metadata_may_lie_the_quorum_is_asked_first(self, is_metadata_dir, asked):
        parts = [offline(1, is_metadata_dir=is_metadata_dir), *FAILED[1:]]
        action = of_kind(recommended(alert(), *parts), ActionKind.REPLACE_DISK)
        assert [p["name"] for p in action.preconditions] == asked


class TestOtherCauses:
    def test_a_full_disk_needs_room_before_a_restart(self):
        actions = recommended(alert(cause=Cause.FULL), offline(1, cause=Cause.FULL, used=1000 * MIB), *FAILED[1:])
        assert kinds(actions) == ["expand_disk", "investigate", "restart_broker"]
        assert actions[1].target["step"] == "free_space_while_stopped"
        assert actions[2].vetoes == []
        assert "room_for_recovery" in [p["name"] for p in actions[2].preconditions]

    @pytest.mark.parametrize(
        ("part", "veto"),
        [
            (topic("u", (1, 2), isr={0: (1,)}), "last_in_sync_replica"),
            (broker(3, status="offline"), "other_broker_down"),
        ],
    )
    def test_no_space_is_freed_by_stopping_a_broker_that_is_needed(self, part, veto):
        full = offline(1, cause=Cause.FULL, used=1000 * MIB)
        step = of_kind(recommended(alert(cause=Cause.FULL), full, *FAILED[1:], part), ActionKind.INVESTIGATE)
        assert step.target["step"] == "free_space_while_stopped"
        assert [found["name"] for found in step.vetoes] == [veto]
        assert step.commands == []

    def test_stopping_a_broker_to_free_space_needs_approval(self):
        full = offline(1, cause=Cause.FULL, used=1000 * MIB)
        step = of_kind(recommended(alert(cause=Cause.FULL), full, *FAILED[1:]), ActionKind.INVESTIGATE)
        assert (step.requires_approval, step.vetoes) == (True, [])
        assert step.commands[0] == "# Stop broker 1."
        looked = recommended(alert(cause=Cause.UNKNOWN), offline(1, cause=Cause.UNKNOWN), *FAILED[1:])
        assert not looked[0].requires_approval

    def test_only_replicas_with_two_other_copies_are_called_spare(self):
        parts = [
            offline(1, cause=Cause.FULL, used=1000 * MIB),
            directory(2),
            directory(3),
            topic("safe", (1, 2, 3)),
            topic("pair", (1, 2)),
            replica(1, "/d1", "safe"),
            replica(1, "/d1", "pair"),
        ]
        action = of_kind(recommended(alert(cause=Cause.FULL), *parts), ActionKind.INVESTIGATE)
        assert action.expected["spare_replicas"] == ["safe-0"]

    def test_no_restart_that_takes_the_last_replica_or_a_second_broker(self):
        def vetoes(*parts):
            found = recommended(alert(cause=Cause.FULL), offline(1, cause=Cause.FULL), directory(2), *parts)
            return [veto["name"] for veto in of_kind(found, ActionKind.RESTART_BROKER).vetoes]

        assert vetoes(topic("t", (1, 2), isr={0: (1,)})) == ["last_in_sync_replica"]
        assert vetoes(broker(2, status="offline")) == ["other_broker_down"]

    def test_a_limit_is_raised_and_no_disk_replaced(self):
        actions = recommended(alert(cause=Cause.LIMIT), offline(1, cause=Cause.LIMIT), *FAILED[1:])
        assert kinds(actions) == ["raise_limit", "restart_broker"]

    @pytest.mark.parametrize(
        ("cause", "first"),
        [
            (Cause.READ_ONLY, "investigate"),
            (Cause.REMOUNT, "investigate"),
            (Cause.PERMISSION, "grant_permission"),
            (Cause.UNKNOWN, "investigate"),
        ],
    )
    def test_what_a_restart_brings_back_is_looked_at_or_mended_and_restarted(self, cause, first):
        actions = recommended(alert(cause=cause), offline(1, cause=cause), *FAILED[1:])
        assert kinds(actions) == [first, "restart_broker"]
        assert [action.vetoes for action in actions] == [[], []]


@pytest.mark.parametrize("rule", [rule for rule in Rule if rule is not Rule.HEARTBEAT])
@pytest.mark.parametrize("known", [(), (directory(1),)])
def test_every_alert_gets_an_action_that_nothing_speaks_against(rule, known):
    actions = recommended(alert(rule, to=None, cause=None), *known)
    assert any(not action.vetoes for action in actions)


@pytest.mark.parametrize("log_dir", [None, "/nowhere"])
def test_an_alert_whose_directory_nobody_knows_is_investigated(log_dir):
    assert kinds(recommended(alert(log_dir=log_dir), *FAILED)) == ["investigate"]


@pytest.mark.parametrize("rule", [Rule.PARTITIONS_AT_RISK, Rule.FLEET_SPACE, Rule.BROKER_UNKNOWN])
def test_an_alert_about_a_whole_cluster_is_investigated(rule):
    about_cluster = alert(rule, number=None, log_dir=None, to=None, cause=None)
    for actions in (recommended(about_cluster, *FAILED), recommended(about_cluster)):
        (action,) = actions
        assert (action.kind, action.target) == ("investigate", {"broker": None, "log_dir": None, "step": str(rule)})
        assert action.commands
        assert "None" not in " ".join([action.reason, *action.commands])


def test_without_facts_the_runbook_step_comes_at_once():
    (action,) = recommended(alert())
    assert (action.kind, action.status) == (ActionKind.INVESTIGATE, ActionStatus.PROPOSED)
    assert action.based_on == {"state_at_ms": None, "inventory_at_ms": None}
    assert "the full action follows" in action.reason


@pytest.mark.parametrize("inventory_at_ms", [None, NOW_MS - 240_001])
def test_on_old_facts_nothing_is_planned(inventory_at_ms):
    old = facts(*FAILED, inventory_at_ms=inventory_at_ms)
    assert kinds(recommend(alert(), old, policy(), NOW_MS)) == ["investigate"]
    fresh = facts(*FAILED, inventory_at_ms=NOW_MS - 240_000)
    assert kinds(recommend(alert(), fresh, policy(), NOW_MS))[0] == "reassign"


def test_on_an_inventory_of_the_future_nothing_is_planned():
    ahead = facts(*FAILED, inventory_at_ms=NOW_MS + 7_200_000)
    (action,) = recommend(alert(), ahead, policy(), NOW_MS)
    assert action.kind == "investigate"
    assert "the last inventory is 2 h ahead of the clock" in action.reason
    near = facts(*FAILED, inventory_at_ms=NOW_MS + 60_000)
    assert kinds(recommend(alert(), near, policy(), NOW_MS))[0] == "reassign"


def test_an_action_tells_of_its_alert_and_its_facts():
    action = recommended(alert(severity=Severity.PAGE, revision=4), *FAILED)[0]
    assert action.alert["severity"] == "page"
    assert action.alert["revision"] == 4
    assert action.based_on == {"state_at_ms": NOW_MS, "inventory_at_ms": NOW_MS}
    assert action.expires_at_ms == NOW_MS + 1_800_000


def test_identities_depend_on_alert_kind_and_target_alone():
    one, two = recommended(alert(), *FAILED), recommended(alert(revision=2), *FAILED, replica(1, "/d1", "t", 9))
    assert [a.action_id for a in one] == [a.action_id for a in two]
    other = recommended(alert(alert_id="other"), *FAILED)
    assert {a.action_id for a in one}.isdisjoint(a.action_id for a in other)
    assert len({a.action_id for a in one}) == len(one)


def test_the_same_facts_give_the_same_actions():
    assert recommended(alert(), *FAILED) == recommended(alert(), *FAILED)


def test_an_unknown_directory_of_the_broker_stops_moves_only():
    parts = [*FILLING, directory(1, "/d3", status=LogDirStatus.UNKNOWN)]
    actions = recommended(space_alert(), *parts, growth=slowly(*parts))
    assert [(str(a.kind), [v["name"] for v in a.vetoes]) for a in actions] == [
        ("expand_disk", []),
        ("investigate", []),
        ("lower_retention", []),
        ("move_log_dir", ["log_dir_unknown"]),
    ]
