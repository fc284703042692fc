"""Alerts about brokers, doubtful disks and endangered partitions: better than a bare runbook where facts allow."""

from dataclasses import replace

import pytest

from logdirwatch.model.vocabulary import ActionKind, BrokerStatus, Cause, LogDirStatus, Rule
from logdirwatch.plan.availability import offline_log_dirs
from logdirwatch.plan.cluster.assignment import from_json
from logdirwatch.plan.cluster.metadata_version import CORDON
from logdirwatch.plan.lifecycle.overlay import with_alerts
from logdirwatch.plan.recommend import recommend
from logdirwatch.plan.vetoes.reassignment import violations
from tests.unit.plan.builders import MIB, NOW_MS, alert, broker, directory, facts, policy, replica, topic
from tests.unit.plan.failures import holds, kinds, of_kind, veto_names

MINUTE, HALF_HOUR = 60_000, 1_800_000
UNSEEN = {"status": LogDirStatus.UNKNOWN}

GONE = [
    broker(1, BrokerStatus.OFFLINE),
    directory(1, "/d1", 100 * MIB, **UNSEEN),
    directory(1, "/d2", 200 * MIB, **UNSEEN),
    directory(2, used=10 * MIB),
    directory(3, used=20 * MIB),
    topic("t", (1, 2), (2, 1)),
    *(replica(number, "/d1", "t", part) for number in (1, 2) for part in (0, 1)),
]


def answered(an_alert, *parts, **limits):
    return recommend(an_alert, with_alerts(facts(*parts), [an_alert]), policy(**limits), NOW_MS)


class TestBrokerOffline:
    def gone(self, *parts, opened_ms=NOW_MS - HALF_HOUR, evidence=None, **limits):
        about = alert(
            Rule.BROKER_OFFLINE,
            log_dir=None,
            to="offline",
            cause=None,
            opened_at_ms=opened_ms,
            evidence=evidence or {},
        )
        return answered(about, *parts, **limits)

    def test_start_it_first_and_look_why_it_stopped(self):
        actions = self.gone(*GONE)
        assert kinds(actions) == ["restart_broker", "reassign", "investigate"]
        start = actions[0]
        assert start.target == {"broker": 1, "log_dir": None}
        assert veto_names(start) == []
        assert start.expected["restart_partitions"]["partitions"] == [{"topic": "t", "partitions": ["0", "1"]}]
        assert not any("Stop broker" in command for command in start.commands)

    def test_a_start_takes_nothing_away_so_other_brokers_that_are_down_do_not_hinder_it(self):
        assert veto_names(self.gone(*GONE, broker(3, BrokerStatus.OFFLINE))[0]) == []

    def test_when_it_is_gone_for_long_its_replicas_get_a_new_home(self):
        action = of_kind(self.gone(*GONE), ActionKind.REASSIGN)
        moved = {a.label: a.replicas for a in from_json(action.reassignment)}
        assert moved == {"t-0": (3, 2), "t-1": (2, 3)}
        assert violations(from_json(action.reassignment), facts(*GONE), policy()) == []
        assert action.undo["text"] == "only once broker 1 is alive again"

    def test_its_rebuilding_sets_no_limit_on_the_broker_that_is_gone(self):
        """Kafka's tool would try to, and fail (KAFKA-13392)."""
        action = of_kind(self.gone(*GONE), ActionKind.REASSIGN)
        _write, limit, execute, _wait, _verify, _clear = action.commands
        assert [line for line in limit.splitlines() if line.startswith(("brokers ", "topics "))] == [
            "brokers 2 leader.replication.throttled.rate=50000000",
            "brokers 3 follower.replication.throttled.rate=50000000",
            "topics t follower.replication.throttled.replicas=0:3,1:3",
            "topics t leader.replication.throttled.replicas=0:2,1:2",
        ]
        assert "throttle" not in execute

    def test_before_that_it_is_told_what_it_would_cost_and_why_not_yet(self):
        action = of_kind(self.gone(*GONE, opened_ms=NOW_MS - MINUTE), ActionKind.REASSIGN)
        assert veto_names(action) == ["may_come_back"]
        assert (action.commands, action.reassignment) == ([], None)
        assert action.expected["copies_bytes"] == 200 * MIB
        assert "wait 30 min" in action.vetoes[0]["reason"]

    def test_how_long_is_a_setting(self):
        actions = self.gone(*GONE, opened_ms=NOW_MS - MINUTE, rebuild_after_ms=MINUTE)
        assert veto_names(of_kind(actions, ActionKind.REASSIGN)) == []

    def test_where_nothing_can_be_rebuilt_nothing_is_said_of_it(self):
        assert "reassign" not in kinds(self.gone(*GONE[:4], *GONE[5:]))

    def test_a_full_directory_needs_room_first_the_metadata_directory_before_others(self):
        told = {"log_dirs": {path: {"last_status": "saturated"} for path in ("/d1", "/d2")}}
        full = [
            directory(1, "/d1", 990 * MIB, **UNSEEN),
            directory(1, "/d2", 980 * MIB, is_metadata_dir=True, **UNSEEN),
        ]
        actions = self.gone(*GONE, *full, evidence=told)
        assert [(str(a.kind), a.target.get("log_dir")) for a in actions[:4]] == [
            ("expand_disk", "/d2"),
            ("investigate", "/d2"),
            ("expand_disk", "/d1"),
            ("investigate", "/d1"),
        ]
        assert not any("Stop broker" in command for command in actions[1].commands), "it is down"
        start = of_kind(actions, ActionKind.RESTART_BROKER)
        assert "make room in /d2, /d1 first, or it halts again" in start.reason
        assert [p["name"] for p in start.preconditions] == ["room_for_recovery"] * 2

    def test_a_failed_disk_is_replaced_before_the_broker_is_started(self):
        sick = directory(1, "/d1", 100 * MIB, cause=Cause.FAILED, **UNSEEN)
        actions = self.gone(*GONE, sick)
        assert kinds(actions)[0] == "replace_disk"
        assert veto_names(actions[0]) == []
        assert not any("Stop broker" in command for command in actions[0].commands)
        start = of_kind(actions, ActionKind.RESTART_BROKER)
        assert veto_names(start) == ["known_sick_disk"]
        assert start.position == len(actions) - 1, "what must not be done stands behind what may"

    @pytest.mark.parametrize("number", [None, 9])
    def test_many_brokers_in_turn_or_a_stranger_are_looked_at(self, number):
        about = alert(Rule.BROKER_OFFLINE, number=number, log_dir=None, to="offline", cause=None)
        assert kinds(answered(about, *GONE)) == ["investigate"]

    def test_a_planned_absence_is_only_looked_at(self):
        planned = {"maintenance": {"until_ms": NOW_MS + MINUTE}}
        assert kinds(self.gone(*GONE, evidence=planned)) == ["investigate"]


class TestBrokerUnknown:
    def unknown(self, reason, *parts):
        about = alert(Rule.BROKER_UNKNOWN, log_dir=None, to="unknown", cause=None, evidence={"reason": reason})
        return answered(about, *(parts or GONE[1:]))

    def test_a_missing_permission_can_be_given(self):
        actions = self.unknown("unauthorized: [Error 31] ClusterAuthorizationFailedError: DescribeLogDirs")
        assert kinds(actions) == ["grant_permission", "investigate"]
        grant, *more = actions[0].commands
        assert "kafka-acls.sh --bootstrap-server kafka:9092 --add" in grant
        assert "--operation Describe --operation DescribeConfigs --cluster" in grant
        assert '"${COLLECTOR_PRINCIPAL:?' in grant
        assert more[0].count("--topic '*'") == 1
        assert all("--remove --force" in command for command in actions[0].undo["commands"])

    @pytest.mark.parametrize("reason", ["timeout", "error: ConnectionError", "silent: no collector reports it", None])
    def test_anything_else_is_for_a_person_to_find_out(self, reason):
        assert kinds(self.unknown(reason)) == ["investigate"]


SUSPECT = [
    directory(1, "/d1", 100 * MIB),
    directory(1, "/d2", 300 * MIB),
    directory(2, used=10 * MIB),
    directory(3, used=20 * MIB),
    topic("t", (2, 1)),
    replica(1, "/d1", "t"),
    replica(2, "/d1", "t"),
]


class TestSuspect:
    def suspect(self, why, *parts):
        about = alert(Rule.LOG_DIR_SUSPECT, to="unknown", cause=None, evidence={"why": why})
        return answered(about, *parts)

    @pytest.mark.parametrize("why", ["error_code", "probe", "read_only"])
    def test_a_failing_disk_is_given_up_before_it_dies(self, why):
        actions = self.suspect([why], *SUSPECT)
        assert kinds(actions) == ["reassign", "investigate"]
        (moved,) = from_json(actions[0].reassignment)
        assert moved.replicas == (2, 3)
        assert "which is about to fail" in actions[0].reason
        assert "are deleted once the new ones are in sync" in actions[0].preconditions[1]["text"]

    def test_a_failing_one_is_cordoned_before_it_is_emptied(self):
        open_dir = directory(1, "/d1", 100 * MIB, is_cordoned=False)
        about = alert(Rule.LOG_DIR_SUSPECT, to="unknown", cause=None, evidence={"why": ["probe"]})
        actions = recommend(about, facts(*SUSPECT, open_dir, metadata_version=CORDON), policy(), NOW_MS)
        assert kinds(actions) == ["cordon_log_dir", "reassign", "investigate"]

    @pytest.mark.parametrize("why", ["slow_probe", "slow_flush", "offline_count"])
    def test_a_slow_one_is_watched(self, why):
        assert kinds(self.suspect([why], *SUSPECT)) == ["investigate"]

    def test_nothing_new_is_to_be_put_there_where_a_cordon_is_allowed(self):
        open_dir = directory(1, "/d1", 100 * MIB, is_cordoned=False)
        about = alert(Rule.LOG_DIR_SUSPECT, to="unknown", cause=None, evidence={"why": ["slow_probe"]})
        actions = recommend(about, facts(*SUSPECT, open_dir, metadata_version=CORDON), policy(), NOW_MS)
        assert kinds(actions) == ["cordon_log_dir", "investigate"]
        assert actions[0].undo["text"] == "once the disk is known to be good"
        assert kinds(self.suspect(["slow_probe"], *SUSPECT, open_dir)) == ["investigate"], "no version is known"

    def test_leaders_go_first_as_new_copies_come_from_them(self):
        led = topic("t", (1, 2))
        assert kinds(self.suspect(["probe"], *SUSPECT, led)) == ["demote_leaders", "investigate"]

    def test_where_it_cannot_be_given_up_it_says_what_would_help(self):
        (look,) = self.suspect(["probe"], *SUSPECT[:3], *SUSPECT[4:])
        assert "would help: one broker more than the replication factor" in look.reason

    def test_it_is_told_what_the_topics_there_still_endure(self):
        look = self.suspect(["slow_probe"], *SUSPECT)[-1]
        assert look.expected["endurance"]["next_failure_loses_data"] == 1

    def test_a_broker_whose_disks_are_suspect_and_nobody_knows_which(self):
        about = alert(Rule.LOG_DIR_SUSPECT, log_dir=None, to="online", cause=None, evidence={"why": ["slow_flush"]})
        assert kinds(answered(about, *SUSPECT)) == ["investigate"]
        assert with_alerts(facts(*SUSPECT), [about]).brokers[1].is_suspect

    def test_a_dead_log_cleaner_is_no_disk_in_doubt_and_needs_no_restart(self):
        about = alert(Rule.LOG_DIR_SUSPECT, log_dir=None, to="online", cause=None, evidence={"why": ["cleaner_dead"]})
        (look,) = answered(about, *SUSPECT)
        assert "change log.cleaner.threads of this broker" in look.reason
        assert not with_alerts(facts(*SUSPECT), [about]).brokers[1].is_suspect
        evidence = {"why": ["cleaner_dead", "slow_flush"]}
        both = alert(Rule.LOG_DIR_SUSPECT, log_dir=None, to="online", cause=None, evidence=evidence)
        assert with_alerts(facts(*SUSPECT), [both]).brokers[1].is_suspect


class TestUnreported:
    def unreported(self, *parts, **configs):
        about = alert(Rule.LOG_DIR_UNKNOWN, to="unknown", cause=None)
        unseen = replace(SUSPECT[0], status=LogDirStatus.UNKNOWN, is_metadata_dir=False)
        (look,) = answered(about, broker(1, **configs), *SUSPECT, unseen, *parts)
        return look

    def test_still_in_log_dirs(self):
        look = self.unreported(**{"log.dirs": "/d1, /d2"})
        assert look.expected["in_log_dirs"] is True
        assert "it is in log.dirs still" in look.reason

    def test_it_left_log_dirs_and_the_others_can_hold_its_replicas(self):
        look = self.unreported(**{"log.dirs": "/d2"})
        assert look.expected["leave_log_dirs"]["fits"] is True
        assert "its 1 replica is made anew in the broker's other directories" in look.reason

    def test_it_left_log_dirs_and_they_cannot(self):
        look = self.unreported(directory(1, "/d2", 840 * MIB), **{"log.dirs": "/d2"})
        assert "the broker's other directories lack 90 MiB for its 1 replica" in look.reason

    def test_without_the_configuration_nothing_is_claimed(self):
        look = self.unreported()
        assert look.expected["in_log_dirs"] is None
        assert "log.dirs" not in look.reason.replace("is it still in log.dirs", "")


class TestPartitionFailed:
    PARTS = (
        directory(1, used=100 * MIB),
        directory(2, used=10 * MIB),
        directory(3, used=20 * MIB),
        topic("t", (2, 1), (1, 2)),
        *(replica(number, "/d1", "t", part) for number in (1, 2) for part in (0, 1)),
    )

    def failed(self, *labels, parts=PARTS, **limits):
        about = alert(Rule.PARTITION_FAILED, log_dir=None, to="online", cause=None, evidence={"why": list(labels)})
        return answered(about, *parts, **limits)

    def test_a_bad_follower_is_copied_to_another_broker(self):
        actions = self.failed("t-0")
        assert kinds(actions) == ["reassign", "investigate"]
        (moved,) = from_json(actions[0].reassignment)
        assert (moved.label, moved.replicas) == ("t-0", (2, 3))
        assert "that the log of broker 1 calls bad" in actions[0].reason

    def test_a_bad_leader_gives_way_first_or_its_copy_would_be_copied(self):
        actions = self.failed("t-1")
        assert kinds(actions) == ["demote_leaders", "investigate"]
        assert [a.replicas for a in from_json(actions[0].reassignment)] == [(2, 1)]

    def test_both_at_once_never_name_one_partition_twice(self):
        actions = self.failed("t-0", "t-1")
        assert kinds(actions) == ["demote_leaders", "reassign", "investigate"]
        named = [a.label for action in actions[:2] for a in from_json(action.reassignment)]
        assert sorted(named) == ["t-0", "t-1"]

    def test_where_no_other_broker_can_take_it_it_is_copied_again_in_place(self):
        actions = self.failed("t-0", parts=[*self.PARTS[:2], *self.PARTS[3:]])
        step = actions[0]
        assert step.target["step"] == "copy_again_in_place"
        assert "remove the folders t-0 of broker 1 while it is stopped" in step.reason
        assert veto_names(step) == []

    def test_but_not_the_last_good_copy(self):
        alone = topic("t", (2, 1), isr={0: (1,)}, leaderless=[0])
        actions = self.failed("t-0", parts=[*self.PARTS[:2], alone, *self.PARTS[4:]])
        assert kinds(actions) == ["investigate"]

    def test_what_nobody_knows_any_more_is_looked_at(self):
        assert kinds(self.failed("gone-7")) == ["investigate"]


class TestPartitionsAtRisk:
    def at_risk(self, *parts):
        about = alert(Rule.PARTITIONS_AT_RISK, number=None, log_dir=None, to="leaderless", cause=None)
        return answered(about, *parts)

    def test_it_is_told_who_brings_back_how_many(self):
        parts = [
            *(broker(number, BrokerStatus.OFFLINE) for number in (1, 2)),
            *(directory(number) for number in (1, 2, 3)),
            topic("t", (1, 3), (1, 3), (2, 3), isr={0: (1,), 1: (1,), 2: (2,)}, leaderless=[0, 1, 2]),
        ]
        look = self.at_risk(*parts)[0]
        assert look.expected["led_again_by_return_of"] == {"1": 2, "2": 1}
        assert look.expected["endangered"] == 3
        assert "broker 1 brings most back: 2 leaderless partitions" in look.reason

    def test_what_is_well_is_not_counted(self):
        parts = [*(directory(number) for number in (1, 2)), topic("t", (1, 2)), topic("alone", (1,))]
        look = self.at_risk(*parts)[0]
        assert look.expected["endangered"] == 0

    def test_one_copy_left_of_several_is(self):
        parts = [*(directory(number) for number in (1, 2)), topic("t", (1, 2), isr={0: (1,)})]
        assert self.at_risk(*parts)[0].expected["endangered"] == 1


def test_restart_of_a_full_broker_waits_for_what_a_person_sees():
    full = directory(1, status=LogDirStatus.OFFLINE, cause=Cause.FULL, used=1000 * MIB)
    found = answered(alert(cause=Cause.FULL), full, directory(2), topic("t", (1, 2)))
    assert holds(of_kind(found, ActionKind.RESTART_BROKER), "quorum_safe") is None


@pytest.mark.parametrize("listed", [["/d1"], {"/d1": None}, {"/d1": "failed"}, "/d1"])
def test_a_list_of_directories_that_is_none_counts_as_left_out(listed):
    an_alert = alert(evidence={"log_dirs": listed})
    assert offline_log_dirs.places_of(an_alert) == [(1, "/d1")]
