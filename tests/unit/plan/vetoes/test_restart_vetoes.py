"""Every reason not to restart a broker: rules.md's list, one small cluster each."""

from dataclasses import replace

import pytest

from logdirwatch.model.vocabulary import BrokerStatus, Cause, LogDirStatus
from logdirwatch.plan.vetoes import restart_vetoes
from tests.unit.plan.builders import broker, directory, facts, offline, replica, topic

MINIMUM = {"min.insync.replicas": "2"}
VOTERS = {"process.roles": "broker,controller", "controller.quorum.voters": "1@a:9,2@b:9,3@c:9"}


def names(*parts, number=1):
    return [veto.name for veto in restart_vetoes.against_restart(facts(*parts), number)]


def test_a_broker_that_nothing_speaks_against_may_be_restarted():
    assert names(directory(1), directory(2), directory(3), topic("t", (1, 2, 3), configs=MINIMUM)) == []


@pytest.mark.parametrize(
    ("cause", "veto"), [(Cause.FAILED, "known_sick_disk"), (Cause.FILE_SYSTEM, "unrepaired_file_system")]
)
@pytest.mark.parametrize("status", [LogDirStatus.OFFLINE, LogDirStatus.UNKNOWN])
def test_not_onto_a_disk_that_failed_also_when_nobody_sees_it_any_more(cause, veto, status):
    assert names(directory(1, status=status, cause=cause), directory(2)) == [veto]


@pytest.mark.parametrize("cause", [*sorted({*Cause} - {Cause.FAILED, Cause.FILE_SYSTEM}), None])
def test_other_causes_make_no_sick_disk(cause):
    assert names(offline(1, cause=cause), directory(2)) == []


def test_a_disk_that_failed_once_and_serves_again_is_not_sick():
    assert names(directory(1, cause=Cause.FAILED), directory(2)) == []


def test_not_onto_a_suspect_disk_whether_or_not_it_is_known_which():
    assert names(directory(1, is_suspect=True), directory(2)) == ["suspect_disk"]
    assert names(replace(broker(1), is_suspect=True), directory(1), directory(2)) == ["suspect_disk"]
    assert names(directory(1), directory(2, is_suspect=True)) == [], "another broker's disk"


def test_not_without_room_for_the_recovery_in_what_serves():
    assert names(directory(1, status=LogDirStatus.SATURATED), directory(2)) == ["no_room_for_recovery"]
    assert names(directory(1, used=1000 << 20), directory(2)) == ["no_room_for_recovery"], "no byte is free"


@pytest.mark.parametrize("status", [BrokerStatus.OFFLINE, BrokerStatus.UNKNOWN])
def test_not_while_another_broker_is_down_or_not_known_to_be_up(status):
    assert names(broker(2, status), directory(1), directory(2)) == ["other_broker_down"]


def test_not_the_last_in_sync_replica():
    assert names(directory(1), directory(2), topic("t", (1, 2), isr={0: (1,)})) == ["last_in_sync_replica"]
    assert names(directory(1), directory(2), topic("t", (1, 2), isr={0: (2,)})) == []
    assert names(directory(1), directory(2), topic("alone", (1,))) == ["last_in_sync_replica"]


def test_the_last_in_sync_replica_is_counted_among_the_living():
    """The metadata may still list a replica whose disk is dead by now."""
    parts = [directory(1), offline(2), directory(2, "/d2"), topic("t", (1, 2)), replica(2, "/d1", "t")]
    assert names(*parts) == ["last_in_sync_replica"]


def test_a_replica_that_is_lost_on_this_broker_takes_nothing_away():
    parts = [offline(1, cause=Cause.FULL), directory(1, "/d2"), directory(2)]
    assert names(*parts, topic("t", (1, 2), isr={0: (1,)}), replica(1, "/d1", "t")) == []


def test_not_who_is_needed_for_the_minimum_where_waiting_helps():
    parts = [directory(1), directory(2), directory(3)]
    assert names(*parts, topic("t", (1, 2, 3), isr={0: (1, 2)}, configs=MINIMUM)) == ["min_isr_lost"]
    assert names(*parts, topic("t", (1, 2, 3), configs=MINIMUM)) == []


def test_a_topic_that_needs_all_its_replicas_for_writes_is_said_and_vetoes_nothing():
    found = facts(directory(1), directory(2), topic("t", (1, 2), configs=MINIMUM))
    assert restart_vetoes.against_restart(found, 1) == ()
    told = restart_vetoes.writes_go_on(found, 1)
    assert (told.holds, "t-0" in told.text) == (False, True)


@pytest.mark.parametrize(("configs", "expected"), [(MINIMUM, True), ({}, None)])
def test_whether_writes_go_on_is_unknown_without_the_minimum(configs, expected):
    found = facts(directory(1), directory(2), directory(3), topic("t", (1, 2, 3), configs=configs))
    assert restart_vetoes.writes_go_on(found, 1).holds is expected


@pytest.mark.parametrize(
    ("isr", "configs", "holds", "veto"),
    [
        ((1, 2, 3), MINIMUM, True, None),
        ((1, 2), MINIMUM, False, "min_isr_lost"),
        ((1,), {"min.insync.replicas": "1"}, False, "last_in_sync_replica"),
        ((1,), MINIMUM, False, "last_in_sync_replica"),
        ((1,), {}, False, "last_in_sync_replica"),
        ((1, 2, 3), {"min.insync.replicas": "3"}, False, None),
        ((1, 2), {}, None, None),
    ],
    ids=[
        "enough are left",
        "too few are left",
        "none is left",
        "none is left and there are too few already",
        "none is left of an unknown minimum",
        "all are needed",
        "the minimum is not known",
    ],
)
def test_what_is_said_of_writes_and_what_speaks_against_a_restart_agree(isr, configs, holds, veto):
    found = facts(*(directory(number) for number in (1, 2, 3)), topic("t", (1, 2, 3), isr={0: isr}, configs=configs))
    told = restart_vetoes.writes_go_on(found, 1)
    assert told.holds is holds
    assert ("not so for t-0" in told.text) == (holds is False)
    against = [one.name for one in restart_vetoes.against_stopping(found, 1)]
    assert veto in against if veto else against == []


class TestQuorum:
    def controllers(self, *dead, number=3):
        statuses = {
            broker_id: BrokerStatus.OFFLINE if broker_id in dead else BrokerStatus.ONLINE for broker_id in (1, 2, 3)
        }
        return [broker(number, status, **VOTERS) for number, status in statuses.items()]

    def test_not_a_controller_without_which_no_majority_is_left(self):
        parts = [*self.controllers(3), directory(1), directory(2), directory(3)]
        assert "quorum_unsafe" in names(*parts)
        assert "quorum_unsafe" not in names(*self.controllers(), directory(1), directory(2), directory(3))

    def test_voters_that_are_no_brokers_are_not_seen_and_not_counted_out(self):
        alone = broker(1, **VOTERS)
        assert names(alone, directory(1), directory(4)) == []

    def test_that_the_majority_is_caught_up_is_for_a_person_to_see(self):
        found = facts(*self.controllers(), directory(1))
        assert restart_vetoes.quorum_safe(found, 1).holds is None

    def test_who_is_no_controller_is_not_needed_for_it(self):
        found = facts(broker(1, **{"process.roles": "broker"}), directory(1))
        assert restart_vetoes.quorum_safe(found, 1).holds is True

    def test_an_unknown_role_is_unknown(self):
        assert restart_vetoes.quorum_safe(facts(directory(1)), 1).holds is None

    def test_an_only_controller_can_be_restarted_and_it_is_said_what_that_means(self):
        only = broker(1, **{"process.roles": "broker,controller", "controller.quorum.voters": "1@a:9"})
        found = facts(only, directory(1), directory(2))
        assert restart_vetoes.against_restart(found, 1) == ()
        assert restart_vetoes.quorum_safe(found, 1).holds is False


def test_starting_a_broker_that_is_down_takes_nothing_away():
    down = [broker(1, BrokerStatus.OFFLINE), broker(2, BrokerStatus.OFFLINE), directory(1), directory(2)]
    assert restart_vetoes.against_starting(facts(*down), 1) == ()
    sick = directory(1, status=LogDirStatus.UNKNOWN, cause=Cause.FAILED)
    found = restart_vetoes.against_starting(facts(broker(1, BrokerStatus.OFFLINE), sick), 1)
    assert [veto.name for veto in found] == ["known_sick_disk"]


def test_stopping_for_a_new_disk_asks_nothing_of_the_old_one():
    found = facts(offline(1), directory(2))
    assert restart_vetoes.against_stopping(found, 1) == ()
    assert names(offline(1), directory(2)) == ["known_sick_disk"]


def test_every_veto_says_what_it_found():
    found = facts(directory(1), directory(2), *(topic(f"t{n}", (1,)) for n in range(7)))
    (veto,) = restart_vetoes.against_restart(found, 1)
    assert veto.reason == "broker 1 has the only in-sync replica of t0-0, t1-0, t2-0, t3-0, t4-0 and 2 more"


@pytest.mark.parametrize("value", ["²@a:1", f"{'9' * 5000}@a:1", "@"])
def test_a_voter_that_is_no_number_is_none(value):
    assert restart_vetoes.voters(facts(broker(1, **{"controller.quorum.voters": f"{value},2@b:1"}))) == {2}
