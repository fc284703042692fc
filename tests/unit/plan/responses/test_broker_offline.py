"""A broker that is offline or does not report: start it, make room before, or rebuild its replicas elsewhere."""

import pytest

from logdirwatch.model.vocabulary import ActionKind, BrokerStatus, Cause, LogDirStatus, Rule
from logdirwatch.plan.availability import offline_log_dirs
from logdirwatch.plan.cluster.assignment import from_json
from logdirwatch.plan.lifecycle.live_check import reasons_against
from logdirwatch.plan.vetoes.reassignment import violations
from tests.unit.plan.answers import answered, holds, kinds, of_kind, vetoed
from tests.unit.plan.builders import MIB, NOW_MS, alert, broker, directory, facts, policy, replica, topic

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
        assert vetoed(start) == []
        assert start.expected["restart_partitions"]["partitions"] == [{"topic": "t", "partitions": ["0", "1"]}]
        assert not any("Stop broker" in command for command in start.commands)

    def test_a_recovery_that_goes_on_is_waited_for(self):
        actions = self.gone(*GONE, evidence={"recovering_logs": 160})
        assert [one.kind for one in actions if not one.vetoes] == [ActionKind.INVESTIGATE]
        assert "has 160 logs still to recover" in actions[0].reason
        assert vetoed(of_kind(actions, ActionKind.RESTART_BROKER)) == ["recovering"]

    def test_a_start_takes_nothing_away_so_other_brokers_that_are_down_do_not_hinder_it(self):
        assert vetoed(self.gone(*GONE, broker(3, BrokerStatus.OFFLINE))[0]) == []

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
        assert vetoed(action) == ["may_come_back"]
        assert (action.commands, action.reassignment) == ([], None)
        assert action.expected["copies_bytes"] == 200 * MIB
        assert "wait 30 min" in action.vetoes[0]["reason"]

    def test_how_long_is_a_setting(self):
        actions = self.gone(*GONE, opened_ms=NOW_MS - MINUTE, rebuild_after_ms=MINUTE)
        assert vetoed(of_kind(actions, ActionKind.REASSIGN)) == []

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
        assert vetoed(actions[0]) == []
        assert not any("Stop broker" in command for command in actions[0].commands)
        assert reasons_against(actions[0], facts(*GONE, sick), None, policy(), NOW_MS) == []
        start = of_kind(actions, ActionKind.RESTART_BROKER)
        assert vetoed(start) == ["known_sick_disk"]
        assert start.position == len(actions) - 1, "what must not be done stands behind what may"

    def test_several_failed_disks_are_replaced_once_nothing_common_explains_them(self):
        sick = [directory(1, path, 100 * MIB, cause=Cause.FAILED, **UNSEEN) for path in ("/d1", "/d2")]
        actions = [a for a in self.gone(*GONE, *sick) if a.kind is ActionKind.REPLACE_DISK]
        assert [a.preconditions[0]["name"] for a in actions] == ["no_common_cause"] * 2

    @pytest.mark.parametrize("number", [None, 9])
    def test_many_brokers_in_turn_or_a_stranger_are_looked_at(self, number):
        about = alert(Rule.BROKER_OFFLINE, number=number, log_dir=None, to="offline", cause=None)
        assert kinds(answered(about, *GONE)) == ["investigate"]

    def test_a_planned_absence_is_only_looked_at(self):
        planned = {"maintenance": {"until_ms": NOW_MS + MINUTE}}
        assert kinds(self.gone(*GONE, evidence=planned)) == ["investigate"]


def test_restart_of_a_full_broker_waits_for_what_a_person_sees():
    full = directory(1, status=LogDirStatus.OFFLINE, cause=Cause.FULL, used=1000 * MIB)
    found = answered(alert(cause=Cause.FULL), full, directory(2), topic("t", (1, 2)))
    assert holds(of_kind(found, ActionKind.RESTART_BROKER), "quorum_safe") is None


@pytest.mark.parametrize("listed", [["/d1"], {"/d1": None}, {"/d1": "failed"}, "/d1"])
def test_a_list_of_directories_that_is_none_counts_as_left_out(listed):
    an_alert = alert(evidence={"log_dirs": listed})
    assert offline_log_dirs.places_of(an_alert) == [(1, "/d1")]


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
