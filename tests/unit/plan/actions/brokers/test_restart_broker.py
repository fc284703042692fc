"""What a restart brings back, replacing a disk, doing without it: KIP-18's list, KIP-112's advice, who leads when."""

import math
from dataclasses import replace

import pytest

from logdirwatch.model.vocabulary import ActionKind, Cause
from logdirwatch.plan.actions.brokers.restart_broker import restart_partitions
from logdirwatch.plan.availability.fault_tolerance import lost_together
from logdirwatch.plan.reassignment.log_dir_removal import leaving
from logdirwatch.plan.recommend import recommend
from logdirwatch.plan.settings import ToolSettings
from tests.unit.plan.answers import answered, holds, kinds, of_kind, vetoed
from tests.unit.plan.builders import MIB, NOW_MS, alert, broker, directory, facts, offline, policy, replica, topic

FULL = [
    offline(1, cause=Cause.FULL, used=1000 * MIB),
    directory(1, "/d2", 50 * MIB),
    directory(2, used=10 * MIB),
    directory(3, used=20 * MIB),
    topic("t", (1, 2), (2, 1), (1, 2, 3)),
    topic("u", (1, 2)),
    *(replica(1, "/d1", "t", number) for number in range(3)),
    replica(1, "/d2", "u"),
]
TWO_DISKS = [
    offline(1, is_metadata_dir=False),
    directory(1, "/d2", 50 * MIB, is_metadata_dir=False),
    directory(2, used=10 * MIB),
    topic("t", (1, 2), (2, 1)),
    *(replica(number, "/d1", "t", part) for number in (1, 2) for part in (0, 1)),
]


def recommended(*parts, cause=Cause.FAILED, **limits):
    return recommend(alert(cause=cause), facts(*parts), policy(**limits), NOW_MS)


def restart(*parts, cause=Cause.FULL):
    return of_kind(recommended(*parts, cause=cause), ActionKind.RESTART_BROKER)


class TestWhatComesBack:
    def test_the_list_has_kip_18s_form_with_its_strings(self):
        assert restart(*FULL).expected["restart_partitions"] == {
            "version": "1",
            "broker": "1",
            "partitions": [{"topic": "t", "partitions": ["0", "1", "2"]}],
        }

    def test_partitions_are_ordered_by_number_not_by_letter(self):
        found = facts(topic("t", *[(1, 2)] * 12))
        told = restart_partitions(1, found.partitions.values())
        assert told["partitions"][0]["partitions"] == [str(number) for number in range(12)]

    def test_the_whole_list_is_there_and_some_of_it_as_names(self):
        many = [topic("t", *[(1, 2)] * 30), *(replica(1, "/d1", "t", number) for number in range(30))]
        action = restart(*FULL[:4], *many)
        assert (action.expected["returns_count"], len(action.expected["returns"])) == (30, 20)
        assert len(action.expected["restart_partitions"]["partitions"][0]["partitions"]) == 30

    def test_leaders_are_predicted_for_every_step_of_all_the_brokers_partitions(self):
        steps = restart(*FULL).expected["leadership"]
        assert steps["partitions"] == 4
        assert [step["step"] for step in steps["steps"]] == ["now", "stopped", "started", "preferred"]
        by_name = {example["partition"]: example for example in steps["examples"]}
        assert [by_name["u-0"][step]["leader"] for step in ("now", "stopped", "started", "preferred")] == [1, 2, 2, 1]
        assert [by_name["t-0"][step]["isr"] for step in ("now", "stopped", "started")] == [[2], [2], [1, 2]]

    def test_what_has_no_other_copy_has_no_leader_until_the_broker_is_back(self):
        parts = [*FULL, topic("alone", (1,)), replica(1, "/d1", "alone")]
        steps = {s["step"]: s["leaderless"] for s in restart(*parts).expected["leadership"]["steps"]}
        assert steps == {"now": 1, "stopped": 1, "started": 0, "preferred": 0}
        assert restart(*parts).expected["leadership"]["examples"][0]["partition"] == "alone-0"

    def test_room_is_for_a_person_to_see_and_it_is_said_how_much_there_was(self):
        action = restart(*FULL)
        assert holds(action, "room_for_recovery") is None
        assert "when last seen 0 B were free" in action.preconditions[0]["text"]

    def test_topics_deleted_meanwhile_free_nothing_and_stay_as_strays(self):
        action = restart(*FULL)
        (told,) = [p["text"] for p in action.preconditions if p["name"] == "strays"]
        assert holds(action, "strays") is None
        assert "deleted while /d1 was offline still lie there" in told

    def test_the_election_afterwards_is_named(self):
        assert "kafka-leader-election.sh" in restart(*FULL).commands[-1]
        assert restart(*FULL).commands[-1].startswith("# ")


class TestReplacing:
    def test_what_is_copied_again_is_counted_with_the_time_it_takes_at_least(self):
        action = of_kind(recommended(*TWO_DISKS), ActionKind.REPLACE_DISK)
        expected = 200 * MIB
        assert action.expected["copies_again"] == {
            "replicas": 2,
            "bytes": expected,
            "needs_ms": expected * 1000 // 50_000_000,
        }

    def test_the_smallest_new_disk_that_holds_it_is_told_with_the_planners_limit(self):
        action = of_kind(recommended(*TWO_DISKS), ActionKind.REPLACE_DISK)
        least = math.ceil(200 * MIB / 0.85)
        assert action.expected["new_disk"] == {"least_bytes": least, "was_bytes": 1000 * MIB}
        assert "needs at least 235.3 MiB, to hold that at no more than 85.0 %" in action.reason

    def test_what_the_old_size_does_not_hold_is_said_and_a_reserve_file_counts(self):
        large = [*TWO_DISKS, topic("large", (1, 2)), replica(1, "/d1", "large", 0, 600 * MIB)]
        rules = [{"reserve_file": ".reserve", "reserve_bytes": 100 * MIB}]
        action = of_kind(recommended(*large, log_dirs=rules), ActionKind.REPLACE_DISK)
        assert action.expected["new_disk"]["least_bytes"] == math.ceil(900 * MIB / 0.85)
        assert "more than the old one's 1000 MiB" in action.reason

    def test_where_nothing_was_lost_any_disk_will_do(self):
        action = of_kind(recommended(*TWO_DISKS[:3]), ActionKind.REPLACE_DISK)
        assert "the new disk needs" not in action.reason

    def test_of_what_nobody_measured_no_size_is_made_up(self):
        unmeasured = [topic("dark", (1, 2)), replica(1, "/d1", "dark", 0, None)]
        action = of_kind(recommended(*TWO_DISKS, *unmeasured), ActionKind.REPLACE_DISK)
        assert action.expected["new_disk"]["least_bytes"] is None
        assert "how large the new disk must be is not known" in action.reason

    def test_what_only_this_disk_holds_is_named_as_lost(self):
        action = of_kind(
            recommended(*TWO_DISKS, topic("only", (1,)), replica(1, "/d1", "only")), ActionKind.REPLACE_DISK
        )
        assert action.data_loss
        assert action.expected["lost_with_it"] == {"count": 1, "examples": ["only-0"]}
        assert holds(action, "last_copy_saved") is None
        assert "the data that only this disk holds is lost with it: only-0" in action.reason

    def test_with_other_copies_nothing_is_lost(self):
        action = of_kind(recommended(*TWO_DISKS), ActionKind.REPLACE_DISK)
        assert not action.data_loss
        assert action.expected["lost_with_it"]["count"] == 0

    def test_no_disk_is_changed_while_its_broker_is_needed(self):
        needed = [*TWO_DISKS, topic("v", (1, 2), isr={0: (1,)}), replica(1, "/d2", "v")]
        action = of_kind(recommended(*needed), ActionKind.REPLACE_DISK)
        assert vetoed(action) == ["last_in_sync_replica"]
        assert action.commands == []

    def test_a_copy_that_was_under_way_to_a_good_disk_is_told(self):
        moving = replica(1, "/d2", "t", 0, 30 * MIB, is_future=True)
        action = of_kind(recommended(*TWO_DISKS, moving), ActionKind.REPLACE_DISK)
        assert action.expected["unfinished_copies"] == ["t-0"]

    @pytest.mark.parametrize(
        ("configs", "is_told"),
        [
            ({"process.roles": "broker,controller", "controller.quorum.voters": ""}, True),
            ({"process.roles": "broker,controller", "controller.quorum.voters": None}, True),
            ({"process.roles": "broker,controller", "controller.quorum.voters": "1@a:1"}, False),
            ({"process.roles": "broker", "controller.quorum.voters": ""}, False),
            ({}, False),
        ],
    )
    def test_a_controller_without_static_voters_is_told_that_it_brings_none_along(self, configs, is_told):
        """Kafka 4.3.1 ``StorageTool`` refuses to format it otherwise."""
        parts = [broker(1, **configs), *TWO_DISKS]
        for tools in (None, ToolSettings(server_config="/etc/k.properties")):
            found = recommend(alert(), facts(*parts), policy(tools=tools), NOW_MS)
            (told,) = [c for c in of_kind(found, ActionKind.REPLACE_DISK).commands if " format " in c]
            assert ("format --ignore-formatted --no-initial-controllers --cluster-id" in told) == is_told

    @pytest.mark.parametrize(
        ("is_metadata_dir", "voters", "said"),
        [
            (True, None, "broker 1 votes no more"),
            (None, None, "if the metadata log was in /d1, broker 1 votes no more"),
            (False, None, None),
            (True, "1@a:1,2@b:1", None),
        ],
    )
    def test_a_controller_whose_metadata_log_is_gone_is_made_a_voter_again(self, is_metadata_dir, voters, said):
        """Kafka 4.3.1 ``AddVoterHandler`` refuses an id that is a voter's, so the voter it was goes first."""
        configs = {"process.roles": "broker,controller", "controller.quorum.voters": voters}
        parts = [broker(1, **configs), offline(1, is_metadata_dir=is_metadata_dir), *TWO_DISKS[1:]]
        tools = ToolSettings(server_config="/etc/k.properties")
        found = recommend(alert(), facts(*parts), policy(tools=tools), NOW_MS)
        commands = of_kind(found, ActionKind.REPLACE_DISK).commands
        steps = [c for c in commands if c.startswith("#") and "controller" in c]
        if said is None:
            assert steps == []
            return
        (remove, add) = steps
        assert said in remove
        assert "remove-controller --controller-id 1 --controller-directory-id ID" in remove
        assert add.endswith("--command-config /etc/k.properties add-controller")
        assert commands.index(remove) < commands.index(add)
        assert all("start" not in c.lower() for c in commands[commands.index(add) :])


class TestZooKeeper:
    """No metadata log, no voters; ``kafka-storage format`` refuses, and a broker starts with an empty directory."""

    def replaced(self, roles, is_metadata_dir=False, tools=None):
        parts = [broker(1, **{"process.roles": roles}), offline(1, is_metadata_dir=is_metadata_dir), *TWO_DISKS[1:]]
        return of_kind(recommend(alert(), facts(*parts), policy(tools=tools), NOW_MS), ActionKind.REPLACE_DISK)

    @pytest.mark.parametrize("tools", [None, ToolSettings(server_config="/etc/k.properties")])
    def test_a_replaced_disk_is_neither_formatted_nor_does_a_quorum_matter(self, tools):
        action = self.replaced("", tools=tools)
        said = " ".join((action.reason, *action.commands))
        assert "format" not in said
        assert "quorum" not in said
        assert "mount it empty" in said
        assert "format" in " ".join(self.replaced("broker", tools=tools).commands)

    def test_a_metadata_directory_that_an_older_release_told_of_asks_for_no_majority(self):
        action = self.replaced("", is_metadata_dir=True)
        assert "quorum_caught_up" not in {precondition["name"] for precondition in action.preconditions}


class TestLeavingLogDirs:
    """KIP-112, changes in operation 3: only if there is enough space on the good log directories."""

    def judged(self, *parts):
        found = facts(*parts)
        bad = found.directories[1, "/d1"]
        return leaving(bad, lost_together([bad.place], found), found, policy())

    def test_it_may_leave_when_the_others_can_hold_its_replicas(self):
        found = self.judged(*TWO_DISKS)
        assert (found.fits, found.replicas, found.needs_bytes, found.missing_bytes) == (True, 2, 200 * MIB, 0)

    def test_not_when_they_cannot_and_it_says_how_much_is_missing(self):
        tight = [TWO_DISKS[0], directory(1, "/d2", 750 * MIB, is_metadata_dir=False), *TWO_DISKS[2:]]
        found = self.judged(*tight)
        assert (found.fits, found.missing_bytes, found.why_not.name) == (False, 100 * MIB, "destination_would_overflow")

    def test_not_the_directory_with_the_metadata_log(self):
        assert self.judged(offline(1, is_metadata_dir=True), *TWO_DISKS[1:]).why_not.name == "metadata_dir"
        unknown = self.judged(offline(1), *TWO_DISKS[1:])
        assert (unknown.fits, unknown.why_not.name) == (None, "metadata_dir_unknown")

    def test_not_the_only_directory(self):
        assert self.judged(TWO_DISKS[0], *TWO_DISKS[2:]).why_not.name == "no_directory"

    def test_not_while_another_one_is_offline_as_nothing_is_made_anew_then(self):
        assert self.judged(*TWO_DISKS, offline(1, "/d3")).why_not.name == "log_dir_offline"

    def test_a_directory_that_nobody_sees_makes_it_unknown(self):
        found = self.judged(*TWO_DISKS, directory(1, "/d3", status="unknown"))
        assert (found.fits, found.why_not.name) == (None, "log_dir_unknown")

    def test_what_nobody_measured_makes_it_unknown(self):
        unmeasured = [p for p in TWO_DISKS if getattr(p, "log_dir", None) is None]
        found = self.judged(*unmeasured, replica(1, "/d1", "t", 0, None))
        assert (found.fits, found.why_not.name) == (None, "size_unknown")

    def test_cordoned_directories_take_nothing(self):
        cordoned = [TWO_DISKS[0], directory(1, "/d2", 50 * MIB, is_metadata_dir=False, is_cordoned=True)]
        assert self.judged(*cordoned, *TWO_DISKS[2:]).why_not.name == "no_directory"

    def test_not_where_kafka_would_choose_a_marked_one(self):
        marked = directory(1, "/d3", 50 * MIB, is_metadata_dir=False, is_marked=True)
        assert self.judged(*TWO_DISKS, marked).why_not.name == "destination_marked"
        closed = replace(marked, is_cordoned=True)
        assert self.judged(*TWO_DISKS, closed).fits

    def test_it_is_a_way_of_its_own_where_no_other_broker_can_take_the_replicas(self):
        actions = recommended(*TWO_DISKS)
        assert kinds(actions) == ["replace_disk", "restart_broker", "restart_broker"]
        assert actions[1].target == {"broker": 1, "log_dir": "/d1", "step": "leave_log_dirs"}
        assert vetoed(actions[1]) == []
        assert any("take /d1 out of log.dirs" in command for command in actions[1].commands)
        assert vetoed(actions[2]) == ["known_sick_disk"]

    def test_where_they_can_it_is_only_told(self):
        third = [*TWO_DISKS, directory(3, used=20 * MIB)]
        actions = recommended(*third)
        assert kinds(actions) == ["reassign", "replace_disk", "restart_broker"]
        assert actions[1].expected["leave_log_dirs"]["fits"] is True


class TestNothingFits:
    def test_with_as_many_brokers_as_replicas_it_says_what_would_help(self):
        action = of_kind(recommended(*TWO_DISKS), ActionKind.REPLACE_DISK)
        assert action.expected["would_help"] == ["one broker more than the replication factor"]
        assert action.expected["unplaced_count"] == 2
        assert action.expected["unplaced_bytes"] == 200 * MIB
        assert "none of its 2 replicas can be rebuilt elsewhere" in action.reason

    def test_with_every_disk_full_it_says_so(self):
        parts = [offline(1), directory(2, used=840 * MIB), directory(3, used=840 * MIB), topic("t", (1, 2))]
        action = of_kind(recommended(*parts, replica(1, "/d1", "t")), ActionKind.REPLACE_DISK)
        assert "would fill /d1 on broker 3" in action.reason
        assert action.expected["would_help"] == [
            "room on another broker: topics deleted, retention cut, a disk more or a bigger volume"
        ]

    def test_a_copy_on_another_dead_disk_is_nothing_to_copy_from(self):
        parts = [offline(1), offline(2), directory(2, "/d2"), directory(3), topic("t", (1, 2))]
        action = of_kind(recommended(*parts, replica(1, "/d1", "t"), replica(2, "/d1", "t")), ActionKind.REPLACE_DISK)
        assert [one["name"] for one in action.expected["unplaced"]] == ["no_live_source"]

    def test_of_what_nobody_measured_no_sum_is_given(self):
        parts = [offline(1), directory(2), directory(3), topic("t", (1, 2)), replica(1, "/d1", "t", size=None)]
        action = of_kind(recommended(*parts), ActionKind.REPLACE_DISK)
        assert action.expected["unplaced_bytes"] is None


@pytest.mark.parametrize("limit", [1, 2])
def test_a_plan_takes_as_many_partitions_as_fit_into_a_record_the_most_endangered_first(limit):
    made = topic("t", (1, 2, 3), (1, 2, 3), (1, 2, 3), isr={1: (1, 2)})
    parts = [offline(1), *(directory(number, used=number * MIB) for number in (2, 3, 4)), made]
    action = recommended(*parts, *(replica(1, "/d1", "t", n) for n in range(3)), partitions_per_reassignment=limit)[0]
    assert action.reassignment["partitions"][0]["partition"] == 1
    assert len(action.reassignment["partitions"]) == limit
    assert action.expected["later"] == 3 - limit
    assert f"{3 - limit} more follow when these are done" in action.reason


PARTS = (
    *(broker(number) for number in (1, 2, 3)),
    offline(1, cause=Cause.FILE_SYSTEM),
    directory(1, "/d2"),
    directory(2),
    directory(3),
    topic("t", (1, 2, 3), configs={"min.insync.replicas": "2"}),
)


def asked(*parts):
    action = of_kind(answered(alert(cause=Cause.FILE_SYSTEM), *parts), ActionKind.RESTART_BROKER)
    return {one["name"]: one["text"] for one in action.preconditions}


def test_a_broker_that_runs_is_stopped_only_while_writes_go_on():
    assert asked(*PARTS)["writes_go_on"] == "every partition of broker 1 takes writes while it is away"
