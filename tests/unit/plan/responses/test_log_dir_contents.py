"""What lies in a log directory: too much beside its siblings, what no replica explains, another volume."""

from dataclasses import replace

import pytest

from logdirwatch.model.vocabulary import ActionKind, LogDirStatus, MetadataMode, Rule
from logdirwatch.plan.cluster.assignment import from_json
from logdirwatch.plan.recommend import recommend
from logdirwatch.plan.settings import LogDirRule
from tests.unit.plan.answers import recommended_for
from tests.unit.plan.builders import (
    MIB,
    NOW_MS,
    SIZE,
    alert,
    broker,
    directory,
    facts,
    offline,
    policy,
    replica,
    space_alert,
    topic,
)

UNEQUAL = alert(Rule.LOG_DIR_IMBALANCE, log_dir=None, to=None, cause=None)
PARTS = [
    directory(1, "/d1", 600 * MIB),
    directory(1, "/d2", 100 * MIB),
    directory(1, "/d3", 200 * MIB),
    directory(2),
    topic("t", (1, 2), (1, 2)),
    replica(1, "/d1", "t", 0, 180 * MIB),
    replica(1, "/d1", "t", 1, 130 * MIB),
]


class TestImbalance:
    def test_the_fullest_gives_what_it_has_above_the_mean(self):
        (action,) = recommended_for(UNEQUAL, *PARTS)
        assert action.kind is ActionKind.MOVE_LOG_DIR
        assert action.target == {"broker": 1, "log_dir": "/d1"}
        # The mean is 300 MiB.
        assert {a.label: a.directory_of(1) for a in from_json(action.reassignment)} == {"t-0": "/d2", "t-1": "/d3"}

    def test_a_wave_has_no_more_copies_than_the_broker_has_threads(self):
        one = broker(1, **{"num.replica.alter.log.dirs.threads": "1"})
        (action,) = recommended_for(UNEQUAL, one, *PARTS)
        assert action.expected["waves"] == 2
        assert "in 2 waves, so that the first is free sooner (the broker's threads for copies: 1)" in action.reason
        (action,) = recommended_for(UNEQUAL, *PARTS)
        assert action.expected["waves"] == 1, "Kafka's default is a thread for each of its three directories"

    def test_no_move_makes_another_directory_fuller_than_the_fullest_is(self):
        big = replica(1, "/d1", "t", 0, 550 * MIB)
        (action,) = recommended_for(UNEQUAL, *PARTS[:5], big)
        assert action.kind is ActionKind.INVESTIGATE
        (action,) = recommended_for(UNEQUAL, *PARTS[:5], replica(1, "/d1", "t", 0, 450 * MIB))
        assert action.kind is ActionKind.MOVE_LOG_DIR

    def test_it_yields_to_a_directory_that_fills(self):
        filling = directory(1, "/d1", 600 * MIB, status=LogDirStatus.FILLING)
        (action,) = recommended_for(UNEQUAL, filling, *PARTS[1:])
        assert action.kind is ActionKind.INVESTIGATE
        assert "its own alert says what to move" in action.reason

    def test_while_a_directory_is_offline_nothing_moves(self):
        look, action = recommended_for(UNEQUAL, *PARTS, offline(1, "/d4"))
        assert [veto["name"] for veto in action.vetoes] == ["log_dir_offline"]
        assert look.kind is ActionKind.INVESTIGATE

    def test_what_is_cordoned_or_not_known_is_no_part_of_the_mean(self):
        for closed in ({"is_cordoned": True}, {"is_marked": True}):
            (action,) = recommended_for(UNEQUAL, *PARTS, directory(1, "/d4", 0, **closed))
            assert action.expected["frees_bytes"] == 310 * MIB

    def test_a_broker_that_nobody_knows_is_looked_at(self):
        (action,) = recommended_for(alert(Rule.LOG_DIR_IMBALANCE, number=9, log_dir=None), *PARTS)
        assert action.kind is ActionKind.INVESTIGATE


UNEXPLAINED = alert(Rule.UNACCOUNTED_BYTES, to="online", cause=None)


class TestUnaccounted:
    def test_it_is_looked_for_on_the_host(self):
        (action,) = recommended_for(UNEXPLAINED, *PARTS)
        assert action.kind is ActionKind.INVESTIGATE
        assert any("du -x --max-depth=1 -- /d1" in command for command in action.commands)
        assert all(command.startswith(("kafka-", "# ")) for command in action.commands)

    def test_the_reserve_explains_a_part(self):
        limits = {"log_dirs": (LogDirRule(reserve_file="r", reserve_bytes=40 * MIB),)}
        (action,) = recommended_for(UNEXPLAINED, *PARTS, **limits)
        assert "40 MiB of them are the reserve file /d1/r" in action.reason

    def test_a_reserve_alone_is_no_riddle_for_a_directory_that_fills(self):
        limits = {"log_dirs": (LogDirRule(reserve_file="r", reserve_bytes=500 * MIB),)}
        source = directory(1, "/d1", 850 * MIB, unaccounted_bytes=500 * MIB)
        kinds = [action.kind for action in recommended_for(space_alert(), source, **limits)]
        assert ActionKind.INVESTIGATE not in kinds

    @pytest.mark.parametrize(
        ("case", "unaccounted_mib", "growth", "told", "is_searched"),
        [
            ("much lies there", 110, 0.0, {}, True),
            ("little lies there, and its topics grow", 20, 5000.0, {"t": 5000.0, "u": 0.0}, False),
            ("it is what grows", 20, 5000.0, {"t": 100.0, "u": 0.0}, True),
            ("it has a small share in the growth", 20, 5000.0, {"t": 2000.0, "u": 0.0}, False),
            ("the growth of a topic is not known", 20, 5000.0, {"t": 100.0}, False),
            ("a replica is fetched", 20, 5000.0, {"t": 100.0, "u": 0.0, "isr": {0: (2,)}}, False),
            ("too little lies there: topics write more than when they were looked at", 2, 5000.0,
             {"t": 100.0, "u": 0.0}, False),
        ],
    )  # fmt: skip
    def test_it_comes_before_a_larger_volume_and_before_data_is_lost(
        self, case, unaccounted_mib, growth, told, is_searched
    ):
        source = directory(
            1,
            "/d1",
            900 * MIB,
            status=LogDirStatus.CRITICAL,
            unaccounted_bytes=unaccounted_mib * MIB,
            growth_bytes_per_s=growth,
        )
        snapshot = facts(
            source,
            directory(2, used=800 * MIB),
            topic("t", (1, 2), isr=told.get("isr")),
            topic("u", (1, 2)),
            *(replica(number, "/d1", name, 0, 400 * MIB) for number in (1, 2) for name in "tu"),
            growth={((1, "/d1"), (name, 0)): told[name] for name in "tu" if name in told},
        )
        actions = recommend(space_alert("critical"), snapshot, policy(), NOW_MS)
        assert ("explained by no replica" in actions[0].reason) is is_searched, case
        assert any("lsof +L1" in command for command in actions[0].commands) is is_searched

    @pytest.mark.parametrize(("mode", "is_named"), [(MetadataMode.KRAFT, True), (MetadataMode.ZOOKEEPER, False)])
    def test_the_metadata_log_is_named_which_no_answer_lists(self, mode, is_named):
        source = directory(1, "/d1", 850 * MIB, unaccounted_bytes=500 * MIB, is_metadata_dir=True)
        for asked in (UNEXPLAINED, space_alert()):
            first, *_ = recommended_for(asked, replace(broker(1), metadata_mode=mode), source)
            assert ("the metadata log, __cluster_metadata-0, is among them" in first.reason) is is_named


SMALLER = {"total_bytes_before": SIZE, "total_bytes": SIZE // 20}
LARGER = {"total_bytes_before": SIZE, "total_bytes": 2 * SIZE}


@pytest.mark.parametrize(
    ("evidence", "is_mount_gone"),
    [
        ({"why": "capacity"} | SMALLER, True),
        ({"why": "root_volume"} | SMALLER, True),
        ({"why": "root_volume"} | LARGER, True),
        ({"why": "root_volume"}, True),
        ({"why": "volume"} | SMALLER, True),
        ({"why": "volume", "total_bytes_before": SIZE, "total_bytes": SIZE}, True),
        ({"why": "volume", "total_bytes_before": 0, "total_bytes": SIZE}, True),
        ({}, True),
        ({"why": "capacity"} | LARGER, False),
        ({"why": "volume"} | LARGER, False),
        ({"why": "reserve"}, False),
    ],
)
def test_what_to_do_about_a_mount_that_may_be_gone(evidence, is_mount_gone):
    changed = alert(Rule.LOG_DIR_CHANGED, log_dir="/d1", to="online", cause=None, evidence=evidence)
    (look,) = recommend(changed, facts(directory(1, used=20 * MIB)), policy(), NOW_MS)
    assert any("findmnt --target /d1; df -h /d1" in one for one in look.commands)
    said = "\n".join([look.reason, *look.commands])
    assert ("Stop the broker, mount the volume and start it; make no file system on it" in said) is is_mount_gone
    assert ("Make no file system on it" in said) is is_mount_gone
    assert "kafka-storage" not in said


def test_a_path_is_quoted_for_the_shell():
    changed = alert(Rule.LOG_DIR_CHANGED, log_dir="/a b", to="online", cause=None, evidence={"why": "root_volume"})
    (look,) = recommend(changed, facts(directory(1, "/a b")), policy(), NOW_MS)
    assert "findmnt --target '/a b'" in look.commands[0]
