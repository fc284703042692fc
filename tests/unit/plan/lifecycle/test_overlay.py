"""Alerts come first: their word holds over tables that lag."""

import pytest

from logdirwatch.model.vocabulary import ActionKind, ActionStatus, BrokerStatus, Cause, LogDirStatus, Rule
from logdirwatch.plan.lifecycle.overlay import with_actions, with_alerts, with_own_cordons
from tests.unit.plan.builders import MIB, NOW_MS, action, alert, directory, facts, space_alert

EVIDENCE = {"sample_at_ms": NOW_MS, "total_bytes": 1000, "usable_bytes": 30, "growth_bytes_per_s": 2.5}


def seen(an_alert, *parts):
    return with_alerts(facts(*parts), [an_alert])


def test_a_directory_that_an_alert_calls_offline_is_offline_and_its_broker_degraded():
    after = seen(alert(cause=Cause.FULL), directory(1), directory(2))
    assert after.directories[1, "/d1"].status is LogDirStatus.OFFLINE
    assert after.directories[1, "/d1"].cause is Cause.FULL
    assert after.brokers[1].status is BrokerStatus.DEGRADED
    assert after.brokers[2].status is BrokerStatus.ONLINE


def test_that_holds_though_the_table_was_written_later():
    after = seen(alert(at_ms=NOW_MS), directory(1, state_at_ms=NOW_MS + 1))
    assert after.directories[1, "/d1"].status is LogDirStatus.OFFLINE


def test_a_directory_that_no_table_knows_yet_is_known_from_its_alert():
    after = seen(alert(evidence=EVIDENCE), directory(2))
    assert after.directories[1, "/d1"].usable_bytes == 30


def test_the_newer_sample_wins():
    older = directory(1, sample_at_ms=NOW_MS - 1, state_at_ms=NOW_MS - 1)
    newer = directory(1, sample_at_ms=NOW_MS + 1, state_at_ms=NOW_MS - 1)
    assert seen(space_alert("critical", evidence=EVIDENCE), older).directories[1, "/d1"].growth_bytes_per_s == 2.5
    after = seen(space_alert("critical", evidence=EVIDENCE), newer).directories[1, "/d1"]
    assert (after.status, after.growth_bytes_per_s) == (LogDirStatus.CRITICAL, None)


def test_a_level_that_the_table_knows_better_stays():
    later = directory(1, status=LogDirStatus.SATURATED, state_at_ms=NOW_MS + 1)
    assert seen(space_alert("filling"), later).directories[1, "/d1"].status is LogDirStatus.SATURATED


def test_a_stale_alert_says_nothing_of_space():
    unknown = directory(1, status=LogDirStatus.UNKNOWN)
    after = seen(space_alert("filling", stale_since_ms=NOW_MS), unknown)
    assert after.directories[1, "/d1"].status is LogDirStatus.UNKNOWN


def test_suspect_and_unknown_directories_are_not_served_from():
    for rule in (Rule.LOG_DIR_SUSPECT, Rule.LOG_DIR_UNKNOWN):
        after = seen(alert(rule, to="unknown", cause=None), directory(1))
        assert after.directories[1, "/d1"].status is LogDirStatus.UNKNOWN
        assert after.directories[1, "/d1"].is_suspect is (rule is Rule.LOG_DIR_SUSPECT)


def test_a_suspect_directory_that_kafka_measures_still_serves():
    suspect = alert(Rule.LOG_DIR_SUSPECT, to="critical", cause=None, at_ms=NOW_MS + 1, evidence={"why": ["slow_probe"]})
    for alerts in ([space_alert("critical"), suspect], [suspect]):
        found = with_alerts(facts(directory(1, status=LogDirStatus.CRITICAL)), alerts).directories[1, "/d1"]
        assert (found.status, found.is_suspect) == (LogDirStatus.CRITICAL, True)


def test_another_alert_of_a_suspect_directory_does_not_make_it_healthy():
    after = seen(space_alert("filling"), directory(1, is_suspect=True), directory(2))
    assert {place: found.is_suspect for place, found in after.directories.items()} == {
        (1, "/d1"): True,
        (2, "/d1"): False,
    }


def test_a_cluster_that_nobody_reports_has_no_broker_that_is_known_to_live():
    silent = alert(Rule.BROKER_UNKNOWN, number=None, log_dir=None, to="unknown", cause=None)
    after = seen(silent, directory(1), directory(2))
    assert {broker.status for broker in after.brokers.values()} == {BrokerStatus.UNKNOWN}
    for rule in (Rule.PARTITIONS_AT_RISK, Rule.FLEET_SPACE):
        after = seen(alert(rule, number=None, log_dir=None, to="filling", cause=None), directory(1))
        assert after.brokers[1].status is BrokerStatus.ONLINE


def test_brokers_are_what_their_alerts_call_them():
    for rule, status in ((Rule.BROKER_OFFLINE, "offline"), (Rule.BROKER_UNKNOWN, "unknown")):
        after = seen(alert(rule, log_dir=None, to=status, cause=None), directory(1))
        assert after.brokers[1].status == status
        assert not after.is_alive(1)


def test_other_clusters_alerts_change_nothing():
    found = facts(directory(1))
    assert with_alerts(found, [alert(cluster="other")]) == found


def test_open_actions_of_others_reserve_space_and_partitions():
    moved = {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1], "log_dirs": ["/d2"]}]}
    on = [{"broker": 1, "log_dir": "/d1", "bytes": MIB}, {"broker": 1, "log_dir": "/d2", "bytes": -MIB}]
    move = action(ActionKind.MOVE_LOG_DIR, reassignment=moved, expected={"on": on})
    after = with_actions(facts(directory(1)), [move])
    assert after.reserved == {(1, "/d2"): MIB}
    assert after.claimed == {("t", 0)}
    done = action(ActionKind.MOVE_LOG_DIR, reassignment=moved, expected={"on": on}, status=ActionStatus.DONE)
    other = action(ActionKind.MOVE_LOG_DIR, reassignment=moved, expected={"on": on}, cluster="other")
    assert with_actions(facts(directory(1)), [done, other]).reserved == {}


def test_only_a_cut_that_was_taken_up_keeps_moves_away():
    target = {"broker": 1, "log_dir": "/d1", "topic": "t"}
    proposed = action(ActionKind.LOWER_RETENTION, target=target)
    accepted = action(ActionKind.LOWER_RETENTION, target=target, status=ActionStatus.ACCEPTED)
    assert with_actions(facts(directory(1)), [proposed]).cutting == frozenset()
    assert with_actions(facts(directory(1)), [accepted]).cutting == {"t"}


def test_directories_that_share_an_alert_are_offline_each_with_its_own_cause():
    listed = {
        "/d2": {"cause": "limit", "decided_by": "broker_log"},
        "/d3": {"cause": "read_only", "decided_by": "host"},
        "/d5": {"cause": "unknown", "decided_by": "event"},
    }
    shared = alert(
        log_dir="/d1", cause=Cause.LIMIT, evidence={"log_dirs": listed, "sample_at_ms": 9, "usable_bytes": 1}
    )
    after = seen(shared, *(directory(1, path) for path in ("/d1", "/d2", "/d3", "/d4", "/d5")), directory(2))
    told = {path: (found.status, found.cause) for (number, path), found in after.directories.items() if number == 1}
    assert told == {
        "/d1": ("online", None),
        "/d2": ("offline", Cause.LIMIT),
        "/d3": ("offline", Cause.READ_ONLY),
        "/d4": ("online", None),
        "/d5": ("offline", Cause.LIMIT),
    }
    assert [after.directories[1, path].usable_bytes == 1 for path in ("/d1", "/d2", "/d3")] == [False, True, False]


SAID = {"decision": "accept", "by": "autopilot", "reason": "unattended", "at_ms": 1}
SPACE = {"rule": "log_dir_space", "severity": "critical"}


class TestOwnCordons:
    def cordon(self, kind=ActionKind.CORDON_LOG_DIR, **fields):
        values = {"status": ActionStatus.DONE, "decision": SAID, "alert": SPACE}
        return action(kind, **(values | fields))

    def own(self, *actions):
        return with_own_cordons(facts(directory(1)), actions).own_cordons

    def test_an_accepted_action_for_space_sets_one(self):
        assert self.own(self.cordon()) == {(1, "/d1")}

    @pytest.mark.parametrize(
        "fields",
        [
            {"status": ActionStatus.ACCEPTED},
            {"decision": None},
            {"decision": {**SAID, "decision": "accept_other_content"}},
            {"alert": {**SPACE, "rule": "log_dir_suspect"}},
            {"cluster": "another"},
            {"kind": ActionKind.UNCORDON_LOG_DIR},
        ],
        ids=["not yet", "somebody else", "other content", "a suspect disk", "another cluster", "none"],
    )
    def test_nothing_else_does(self, fields):
        assert self.own(self.cordon(**fields)) == frozenset()

    def test_one_that_was_ended_is_none_though_somebody_sets_it_again(self):
        ended = self.cordon(ActionKind.UNCORDON_LOG_DIR, at_ms=NOW_MS + 1)
        assert self.own(ended, self.cordon(at_ms=NOW_MS)) == frozenset()
        assert self.own(ended, self.cordon(at_ms=NOW_MS + 2)) == {(1, "/d1")}
