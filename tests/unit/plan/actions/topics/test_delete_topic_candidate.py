"""Idle and large topics are named for a person to think about; nothing deletes them."""

import pytest

from logdirwatch.model.vocabulary import ActionKind, LogDirStatus
from logdirwatch.plan.cluster.layout import Partition, Topic
from logdirwatch.plan.settings import TopicRule
from tests.unit.plan.answers import holds, recommended
from tests.unit.plan.builders import (
    CONFIGS,
    MIB,
    NOW_MS,
    directory,
    replica,
    topic,
)

DAY_MS = 86_400_000
IDLE = {"same_since_ms": NOW_MS - 8 * DAY_MS}


class TestCandidates:
    def candidates(self, *parts, **limits):
        limits = {"idle_topic_min_bytes": 100 * MIB} | limits
        actions = recommended(directory(1, "/d1", 990 * MIB), *parts, limits=limits)
        return [action for action in actions if action.kind is ActionKind.DELETE_TOPIC_CANDIDATE]

    def test_idle_and_large_topics_are_named_and_nothing_deletes_them(self):
        parts = [topic("old", (1,), configs={"cleanup.policy": "compact"})]
        (action,) = self.candidates(*parts, replica(1, "/d1", "old", size=300 * MIB, **IDLE))
        assert "old has 300 MiB in /d1, and its size has not changed for 8 d" in action.reason
        described, groups = (command.partition(".sh ") for command in action.commands)
        assert (described[0].endswith("kafka-topics"), groups[0].endswith("kafka-consumer-groups")) == (True, True)
        assert "--describe --topic=old" in described[2]
        assert groups[2].endswith("--describe --all-groups")
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
