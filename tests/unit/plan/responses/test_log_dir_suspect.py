"""A suspect or unreported log directory: leaders and replicas away from it while there is a choice."""

from dataclasses import replace

import pytest

from logdirwatch.model.vocabulary import LogDirStatus, Rule
from logdirwatch.plan.cluster.assignment import from_json
from logdirwatch.plan.cluster.cordons import CORDON
from logdirwatch.plan.lifecycle.overlay import with_alerts
from logdirwatch.plan.recommend import recommend
from tests.unit.plan.answers import answered, kinds
from tests.unit.plan.builders import MIB, NOW_MS, alert, broker, directory, facts, policy, replica, topic

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

    @pytest.mark.parametrize("why", ["error_code", "probe"])
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

    def test_but_a_last_copy_waits_for_no_leader(self):
        parts = *SUSPECT, topic("t", (1, 2)), topic("only", (1,)), replica(1, "/d1", "only")
        about = alert(Rule.LOG_DIR_SUSPECT, to="online", cause=None, evidence={"why": ["medium_error"]})
        actions = answered(about, *parts)
        assert kinds(actions) == ["reassign", "demote_leaders", "investigate"]
        assert [one.topic for one in from_json(actions[0].reassignment)] == ["only"]
        assert actions[0].expected["unplaced"] == [], "the rest follows once others lead: nothing stands against it"

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
        assert "its 1 replica is made again in the broker's other directories; keep its volume until" in look.reason

    def test_it_left_log_dirs_and_they_cannot(self):
        look = self.unreported(directory(1, "/d2", 840 * MIB), **{"log.dirs": "/d2"})
        assert "the broker's other directories lack 90 MiB for its 1 replica" in look.reason

    def test_without_the_configuration_nothing_is_claimed(self):
        look = self.unreported()
        assert look.expected["in_log_dirs"] is None
        assert "log.dirs" not in look.reason.replace("is it still in log.dirs", "")
