"""What wins time, keeps replicas out, gives more room, or is lost for good: when it is advised and what it says."""

import os
import subprocess

import pytest

from logdirwatch.model.vocabulary import ActionKind, BrokerStatus, LogDirStatus
from logdirwatch.plan.cluster.metadata_version import CORDON, at_least
from logdirwatch.plan.cluster.snapshot import Partition, Topic
from logdirwatch.plan.recommend import recommend
from logdirwatch.plan.settings import LogDirRule, ToolSettings, TopicRule
from tests.unit.plan.builders import (
    CONFIGS,
    MIB,
    NOW_MS,
    broker,
    directory,
    facts,
    policy,
    replica,
    slowly,
    space_alert,
    topic,
)

DAY_MS = 86_400_000
SATURATED = directory(1, "/d1", 960 * MIB, growth_bytes_per_s=1.0 * MIB, status=LogDirStatus.SATURATED)
CRITICAL = directory(1, "/d1", 900 * MIB, growth_bytes_per_s=1.0 * MIB, status=LogDirStatus.CRITICAL)
IDLE = {"same_since_ms": NOW_MS - 8 * DAY_MS}
COMPACT_DELETE = {"cleanup.policy": "compact,delete"}
FOR_EVER = {"retention.ms": "-1", "retention.bytes": "-1"}


def recommended(*parts, limits=None, tools=None, **fields):
    return recommend(space_alert(), facts(*parts, **fields), policy(tools=tools, **(limits or {})), NOW_MS)


def kinds(actions):
    return [str(action.kind) for action in actions]


def the(kind, actions):
    (found,) = [action for action in actions if action.kind is kind]
    return found


def vetoed(action):
    return [veto["name"] for veto in action.vetoes]


def holds(action, name):
    return next(p["holds"] for p in action.preconditions if p["name"] == name)


class TestCordon:
    PARTS = (
        broker(1, **{"log.dirs": "/d1,/d2", "cordoned.log.dirs": ""}),
        directory(1, "/d1", 850 * MIB, is_cordoned=False),
        directory(1, "/d2", 100 * MIB, is_cordoned=False),
        directory(2),
        topic("t", (1, 2)),
        replica(1, "/d1", "t", size=200 * MIB),
    )

    def cordon(self, *parts, version=CORDON):
        actions = recommended(*self.PARTS, *parts, metadata_version=version)
        return the(ActionKind.CORDON_LOG_DIR, actions)

    def test_where_the_version_allows_it_comes_before_what_is_moved_away(self):
        actions = recommended(*self.PARTS, metadata_version=CORDON)
        assert kinds(actions) == ["cordon_log_dir", "move_log_dir"]
        action = actions[0]
        (command,) = action.commands
        assert command == (
            "kafka-configs.sh --bootstrap-server kafka:9092 --alter --entity-type brokers --entity-name=1 "
            "--add-config 'cordoned.log.dirs=[/d1]'"
        )
        assert action.undo["commands"][0].endswith("--delete-config cordoned.log.dirs")
        assert holds(action, "path_listed") is True

    @pytest.mark.parametrize("version", ["4.2-IV1", None, "level 12", "whatever"])
    def test_where_it_is_not_known_to_be_allowed_it_is_not_advised(self, version):
        assert "cordon_log_dir" not in kinds(recommended(*self.PARTS, metadata_version=version))

    def test_what_is_cordoned_already_stays_so(self):
        other = broker(1, **{"log.dirs": "/d1,/d2", "cordoned.log.dirs": "/d2"})
        action = self.cordon(other, directory(1, "/d2", 100 * MIB, is_cordoned=True), directory(3))
        assert "'cordoned.log.dirs=[/d2,/d1]'" in action.commands[0]
        assert "'cordoned.log.dirs=[/d2]'" in action.undo["commands"][0]

    def test_a_cordoned_directory_is_not_cordoned_again(self):
        actions = recommended(*self.PARTS, directory(1, "/d1", 850 * MIB, is_cordoned=True), metadata_version=CORDON)
        assert "cordon_log_dir" not in kinds(actions)

    def test_a_path_that_log_dirs_spells_otherwise_would_not_be_enforced(self):
        action = self.cordon(broker(1, **{"log.dirs": "d1,/d2"}))
        assert vetoed(action) == ["cordon_not_enforced"]
        assert action.commands == []

    def test_where_log_dirs_was_not_read_that_is_left_to_be_checked(self):
        action = self.cordon(broker(1))
        assert vetoed(action) == []
        assert holds(action, "path_listed") is None

    def test_a_path_that_the_tool_cannot_carry_is_refused(self):
        parts = [
            directory(1, "/d[1]", 850 * MIB, is_cordoned=False),
            *self.PARTS[2:5],
            replica(1, "/d[1]", "t", size=200 * MIB),
        ]
        an_alert = space_alert(log_dir="/d[1]")
        actions = recommend(an_alert, facts(*parts, metadata_version=CORDON), policy(), NOW_MS)
        assert vetoed(the(ActionKind.CORDON_LOG_DIR, actions)) == ["path_not_expressible"]

    def test_the_last_open_directory_that_a_topic_needs_is_not_cordoned(self):
        action = self.cordon(directory(1, "/d2", 100 * MIB, is_cordoned=True))
        assert vetoed(action) == ["nowhere_else"]
        assert (
            "1 brokers would be left to take new partitions, topics here have 2 replicas" in action.vetoes[0]["reason"]
        )

    @pytest.mark.parametrize(
        ("version", "is_enough"),
        [("4.3-IV0", True), ("4.4-IV0", True), ("10.0-IV2", True), ("4.2-IV9", False), ("level 31", True)],
    )
    def test_versions_are_ordered_by_their_numbers(self, version, is_enough):
        assert at_least(version, CORDON) is is_enough

    @pytest.mark.parametrize("version", [None, "level 30", "latest"])
    def test_a_version_that_says_nothing_allows_nothing(self, version):
        assert at_least(version, CORDON) is None


class TestBrake:
    PARTS = (SATURATED, topic("t", (1,)), topic("u", (1,)), replica(1, "/d1", "t"), replica(1, "/d1", "u"))

    def test_when_nothing_is_in_time_producers_are_slowed(self):
        action = the(ActionKind.THROTTLE_PRODUCERS, recommended(*self.PARTS))
        assert "which topics grow there is not known yet" in action.reason
        # 40 MiB free, a cut takes 6 min: half as much again is to be won.
        assert action.expected["producer_byte_rate"] == 40 * MIB * 1000 // 540_000
        assert action.expected["wins_ms"] == pytest.approx(540_000 - 40_000, abs=20)
        assert holds(action, "client_known") is None
        assert action.requires_approval

    def test_the_topics_that_grow_fastest_are_named_when_they_are_known(self):
        growth = {((1, "/d1"), ("t", 0)): 0.25 * MIB, ((1, "/d1"), ("u", 0)): 0.75 * MIB}
        owner = TopicRule(topic="u", owner="ann")
        action = the(
            ActionKind.THROTTLE_PRODUCERS, recommended(*self.PARTS, growth=growth, limits={"topics": (owner,)})
        )
        assert [one["topic"] for one in action.expected["growing"]] == ["u", "t"]
        assert any("ann, the owner of u," in p["text"] for p in action.preconditions)
        # The other topic alone fills 40 MiB in 160 s, whatever the quota of the first is.
        assert action.expected["producer_byte_rate"] == 1
        assert action.expected["time_to_full_after_ms"] == pytest.approx(160_000, abs=10)

    def test_without_a_client_id_the_quota_runs_nothing(self):
        (_, quota) = the(ActionKind.THROTTLE_PRODUCERS, recommended(*self.PARTS)).commands
        done = subprocess.run(
            ["sh", "-c", quota], capture_output=True, env={"PATH": os.environ["PATH"]}, check=False, text=True
        )
        assert done.returncode != 0
        assert "set it to the client.id of the producer" in done.stderr

    def test_as_long_as_something_is_in_time_nobody_is_slowed(self):
        room = [directory(1, "/d2", 50 * MIB), topic("v", (1,)), replica(1, "/d1", "v", size=300 * MIB)]
        quick = directory(1, "/d1", 900 * MIB, growth_bytes_per_s=0.5 * MIB, status=LogDirStatus.CRITICAL)
        assert "throttle_producers" not in kinds(recommended(*self.PARTS, quick, *room))

    def test_a_directory_that_is_only_filling_slows_nobody(self):
        calm = directory(1, "/d1", 960 * MIB, growth_bytes_per_s=1.0 * MIB, status=LogDirStatus.FILLING)
        assert "throttle_producers" not in kinds(recommended(*self.PARTS, calm))

    def test_without_known_growth_nothing_is_reckoned(self):
        still = directory(1, "/d1", 960 * MIB, status=LogDirStatus.SATURATED)
        assert "throttle_producers" not in kinds(recommended(*self.PARTS, still))


class TestReserve:
    RULE = LogDirRule(log_dir="/d*", reserve_file="it's reserve", reserve_bytes=40 * MIB)

    def release(self, source=SATURATED, **fields):
        return the(ActionKind.RELEASE_RESERVE, recommended(source, limits={"log_dirs": (self.RULE,)}, **fields))

    def test_the_reserve_is_given_up_when_nothing_is_in_time(self):
        action = self.release()
        assert action.expected["frees_bytes"] == 40 * MIB
        assert action.expected["time_to_full_after_ms"] == 80_000
        assert action.commands == ["# On broker 1's host: rm -- '/d1/it'\"'\"'s reserve'"]
        assert "fallocate -l 41943040" in action.undo["commands"][0]

    def test_the_way_to_the_host_is_configured(self, tmp_path):
        tools = ToolSettings(host_command="PATH=/usr/bin:/bin sh -s -- {broker}")
        (command,) = self.release(tools=tools).commands
        lines = command.splitlines()
        assert lines[0] == "PATH=/usr/bin:/bin sh -s -- 1 <<'LOGDIRWATCH_END'"
        assert lines[-2:] == ["rm -- '/d1/it'\"'\"'s reserve'", "LOGDIRWATCH_END"]

    def test_without_one_configured_there_is_nothing_to_release(self):
        assert "release_reserve" not in kinds(recommended(SATURATED))

    def test_a_reserve_that_cannot_be_there_is_not_counted_on(self):
        gone = directory(
            1, "/d1", 960 * MIB, status=LogDirStatus.SATURATED, growth_bytes_per_s=1e6, unaccounted_bytes=MIB
        )
        assert vetoed(self.release(gone)) == ["reserve_gone"]

    def test_a_directory_with_time_left_keeps_its_reserve(self):
        calm = directory(1, "/d1", 960 * MIB, status=LogDirStatus.SATURATED)
        assert "release_reserve" not in kinds(recommended(calm, limits={"log_dirs": (self.RULE,)}))

    def test_the_first_rule_for_the_directory_holds(self):
        limits = policy(log_dirs=(LogDirRule(broker=2), LogDirRule(log_dir="/x"), self.RULE)).limits
        assert limits.log_dir_rule(1, "/d1").reserve_bytes == 40 * MIB
        assert limits.log_dir_rule(2, "/d1").reserve_bytes is None

    def test_a_file_without_a_size_is_refused(self):
        with pytest.raises(ValueError, match="go together"):
            LogDirRule(reserve_file="reserve")


class TestRoom:
    def grow(self, **rule):
        limits = {"log_dirs": (LogDirRule(**rule),)}
        return recommended(directory(1, "/d1", 850 * MIB, growth_bytes_per_s=1.0 * MIB), directory(2), limits=limits)

    def test_a_volume_grows_as_far_as_it_may_and_says_what_is_missing(self):
        action = the(ActionKind.EXPAND_DISK, self.grow(max_bytes=1100 * MIB))
        assert action.expected["total_bytes"] == 1100 * MIB
        assert "(214.3 MiB are needed; its maximum allows no more)" in action.reason
        assert holds(action, "volume_can_grow") is False

    def test_a_maximum_that_is_enough_is_known_to_be(self):
        assert holds(the(ActionKind.EXPAND_DISK, self.grow(max_bytes=9000 * MIB)), "volume_can_grow") is True

    def test_whether_the_cloud_is_quick_enough_is_told(self):
        assert holds(the(ActionKind.EXPAND_DISK, self.grow(growing_takes_ms=149_000)), "in_time") is True
        slow = the(ActionKind.EXPAND_DISK, self.grow(growing_takes_ms=6 * 3_600_000))
        assert holds(slow, "in_time") is False
        assert slow.expected["needs_ms"] == 6 * 3_600_000

    def test_a_volume_at_its_maximum_leaves_one_more_directory(self):
        add, grow = self.grow(max_bytes=1000 * MIB)
        assert (grow.kind, vetoed(grow)) == (ActionKind.EXPAND_DISK, ["volume_at_maximum"])
        assert (add.kind, vetoed(add)) == (ActionKind.ADD_LOG_DIR, [])
        assert "is as large as it can be: 1000 MiB" in add.reason
        assert any("add its path to log.dirs" in command for command in add.commands)
        assert add.expected["log_dirs_before"] == ["/d1"]

    def test_a_directory_is_not_added_while_another_broker_is_down(self):
        limits = {"log_dirs": (LogDirRule(max_bytes=1000 * MIB),)}
        parts = [directory(1, "/d1", 850 * MIB), broker(2, BrokerStatus.OFFLINE)]
        actions = recommended(*parts, limits=limits)
        assert vetoed(the(ActionKind.ADD_LOG_DIR, actions)) == ["other_broker_down"]
        assert kinds(actions)[0] == "investigate"

    def test_what_helps_only_a_part_is_followed_by_what_gives_the_rest(self):
        parts = [directory(1, "/d1", 850 * MIB), topic("t", (1,)), replica(1, "/d1", "t", size=120 * MIB)]
        actions = recommended(*parts, growth=slowly(*parts), limits={"cut_ratio": 0.7})
        assert kinds(actions) == ["expand_disk", "lower_retention"], "what loses nothing is offered first"
        assert "100 MiB of 150 MiB is all that everything else frees" in actions[0].reason
        assert actions[0].expected["frees_bytes"] == int((150 * MIB + 1) / 0.7) + 1


class TestDeleteRecords:
    PARTS = (
        CRITICAL,
        topic("a.b", (1,), configs=COMPACT_DELETE),
        replica(1, "/d1", "a.b", size=420 * MIB),
        topic("u", (1,)),
        replica(1, "/d1", "u", size=120 * MIB),
    )

    def test_where_no_retention_reaches_records_are_deleted_once(self):
        found = recommended(*self.PARTS, growth=slowly(*self.PARTS), limits={"cut_ratio": 0.7})
        action = the(ActionKind.DELETE_RECORDS, found)
        assert action.target["topic"] == "a.b"
        # 200 MiB are needed, the cut of u gives 100; 27 % of 420 MiB are 113.4, less one segment of 10.
        assert "the oldest 27 % of the records of a.b" in action.reason
        assert 100 * MIB < action.expected["frees_bytes"] < 105 * MIB
        assert action.expected["is_estimate"]
        assert action.data_loss
        assert action.configs is None

    def test_what_a_group_has_still_to_read_stays(self):
        parts = [
            p if p != self.PARTS[1] else topic("a.b", (1,), configs=COMPACT_DELETE, unread={0: 0.8}) for p in self.PARTS
        ]
        action = the(ActionKind.DELETE_RECORDS, recommended(*parts))
        assert "the oldest 20 % of the records of a.b" in action.reason
        assert holds(action, "consumers_done") is True

    def test_it_is_never_advised_for_a_saturated_directory(self):
        full = directory(1, "/d1", 960 * MIB, status=LogDirStatus.SATURATED)
        action = the(ActionKind.DELETE_RECORDS, recommended(*self.PARTS, full))
        assert vetoed(action) == ["delete_records_frees_nothing"]
        assert action.commands == []

    def test_an_offline_directory_gets_no_such_advice(self):
        from logdirwatch.plan.retention.retention_vetoes import delete_records_frees_nothing

        assert (
            delete_records_frees_nothing(directory(1, status=LogDirStatus.OFFLINE)).name
            == "delete_records_frees_nothing"
        )
        assert delete_records_frees_nothing(CRITICAL) is None

    def test_without_a_leader_nobody_takes_the_request(self):
        parts = [
            CRITICAL,
            topic("c", (1,), leaderless=(0,), configs=COMPACT_DELETE),
            replica(1, "/d1", "c", size=420 * MIB),
        ]
        assert vetoed(the(ActionKind.DELETE_RECORDS, recommended(*parts))) == ["leaders_missing"]

    @pytest.mark.parametrize(
        ("kind", "rule"),
        [
            (topic("c", (1,), configs={"cleanup.policy": "compact"}), TopicRule()),
            (topic("c", (1,), configs={"cleanup.policy": None}), TopicRule()),
            (topic("__c", (1,), configs=COMPACT_DELETE), TopicRule()),
            (topic("c", (1,), configs=COMPACT_DELETE | {"remote.storage.enable": "true"}), TopicRule()),
            (topic("c", (1,), configs=COMPACT_DELETE), TopicRule(never_touch=True)),
            (topic("c", (1,), configs=COMPACT_DELETE), TopicRule(min_retention_ms=1)),
            (topic("c", (1,), configs=COMPACT_DELETE, reassigned=(0,)), TopicRule()),
            (topic("c", (1,), configs=COMPACT_DELETE | FOR_EVER, overridden=frozenset({"retention.ms"})), TopicRule()),
        ],
    )
    def test_some_topics_lose_no_records(self, kind, rule):
        parts = [CRITICAL, kind, replica(1, "/d1", kind.name, size=420 * MIB)]
        assert "delete_records" not in kinds(recommended(*parts, limits={"topics": (rule,)}))

    def test_the_offsets_are_asked_for_and_reckoned_for_this_topic_alone(self, tmp_path):
        """A real shell and awk between tools that stand in for Kafka's."""
        tools = tmp_path / "bin"
        tools.mkdir()
        (tools / "kafka-get-offsets.sh").write_text(
            '#!/bin/sh\ncase "$*" in *"--time -2"*) printf "a.b:0:100\\na.b:1:0\\n";; '
            '*) printf "a.b:0:1100\\na.b:1:9000000000\\n";; esac\n'
        )
        (tools / "kafka-delete-records.sh").write_text("#!/bin/sh\ncat\n")
        for tool in tools.iterdir():
            tool.chmod(0o755)
        found = recommended(*self.PARTS, growth=slowly(*self.PARTS), tools=ToolSettings(prefix=f"{tools}/"))
        (command,) = the(ActionKind.DELETE_RECORDS, found).commands
        assert "--topic=a\\.b" in command
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
        assert done.stdout == (
            '{"version":1,"partitions":[{"topic":"a.b","partition":0,"offset":370},'
            '{"topic":"a.b","partition":1,"offset":2430000000}]}\n'
        )


class TestCandidates:
    def candidates(self, *parts, **limits):
        limits = {"idle_topic_min_bytes": 100 * MIB} | limits
        actions = recommended(directory(1, "/d1", 990 * MIB), *parts, limits=limits)
        return [action for action in actions if action.kind is ActionKind.DELETE_TOPIC_CANDIDATE]

    def test_idle_and_large_topics_are_named_and_nothing_deletes_them(self):
        parts = [topic("old", (1,), configs={"cleanup.policy": "compact"})]
        (action,) = self.candidates(*parts, replica(1, "/d1", "old", size=300 * MIB, **IDLE))
        assert "old has 300 MiB in /d1, and its size has not changed for 8 d" in action.reason
        assert not any("--delete" in command for command in action.commands)
        assert any("kafka-consumer-groups.sh" in command for command in action.commands)
        assert holds(action, "not_read") is None
        assert action.data_loss

    def test_one_without_a_leader_is_not_to_be_deleted_before_it_has_one(self):
        old = replica(1, "/d1", "old", size=300 * MIB, **IDLE)
        kind = topic("old", (1,), (1,), leaderless=(1,), configs={"cleanup.policy": "compact"})
        (action,) = self.candidates(kind, old)
        assert [veto["name"] for veto in action.vetoes] == ["deleted_leaderless"]
        assert "old-1 has no leader" in action.vetoes[0]["reason"]

    def test_one_that_a_group_reads_is_not(self):
        old = replica(1, "/d1", "old", size=300 * MIB, **IDLE)
        configs = {"cleanup.policy": "compact"}
        assert self.candidates(topic("old", (1,), configs=configs, unread={0: 0.05}), old) == []
        (action,) = self.candidates(topic("old", (1,), configs=configs, unread={}), old)
        assert "no consumer group committed an offset" in action.preconditions[0]["text"]

    @pytest.mark.parametrize(
        ("size", "since_ms"),
        [(99 * MIB, NOW_MS - 8 * DAY_MS), (300 * MIB, NOW_MS - 6 * DAY_MS), (300 * MIB, None)],
    )
    def test_small_busy_and_unknown_ones_are_not(self, size, since_ms):
        kind = topic("old", (1,), configs={"cleanup.policy": "compact"})
        assert self.candidates(kind, replica(1, "/d1", "old", size=size, same_since_ms=since_ms)) == []

    def test_a_replica_elsewhere_that_grows_keeps_a_topic_off_the_list(self):
        kind = topic("old", (1,), (2,), configs={"cleanup.policy": "compact"})
        busy = replica(2, "/d1", "old", 1, same_since_ms=NOW_MS)
        assert self.candidates(kind, directory(2), busy, replica(1, "/d1", "old", size=300 * MIB, **IDLE)) == []

    @pytest.mark.parametrize(
        ("kind", "limits"),
        [
            (topic("__old", (1,)), {}),
            (topic("old", (1,), is_internal=True), {}),
            (topic("old", (1,)), {"never_touch": ("old",)}),
            (topic("old", (1,)), {"topics": (TopicRule(topic="old", never_touch=True),)}),
        ],
    )
    def test_internal_topics_and_those_never_touched_are_not_named(self, kind, limits):
        assert self.candidates(kind, replica(1, "/d1", kind.name, size=300 * MIB, **IDLE), **limits) == []

    def test_as_long_as_something_gentler_is_enough_none_is_named(self):
        kind = topic("old", (1,))
        assert self.candidates(kind, replica(1, "/d1", "old", size=400 * MIB, **IDLE)) == []

    def test_where_it_frees_bytes_is_told_but_not_for_what_is_offline(self):
        kind = Topic(
            "old", (Partition("old", 0, 1, (1, 2), (1, 2)),), CONFIGS | {"cleanup.policy": "compact"}, frozenset()
        )
        parts = [
            kind,
            directory(2, status=LogDirStatus.OFFLINE),
            replica(1, "/d1", "old", size=300 * MIB, **IDLE),
            replica(2, "/d1", "old", size=300 * MIB, **IDLE),
        ]
        (action,) = self.candidates(*parts)
        assert action.expected["on"] == [{"broker": 1, "log_dir": "/d1", "bytes": 300 * MIB}]
