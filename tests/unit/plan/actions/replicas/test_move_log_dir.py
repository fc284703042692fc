"""Moves within a broker: their commands, limits and way back, what they bring when, and when not to begin."""

import json
from dataclasses import replace

import pytest

from logdirwatch.model.vocabulary import LOG_DIR_THROTTLE, ActionKind, LogDirStatus
from logdirwatch.plan.actions.replicas.move_log_dir import propose_move
from logdirwatch.plan.cluster.assignment import Assignment
from logdirwatch.plan.lifecycle.live_check import reasons_against
from logdirwatch.plan.proposal import Veto
from logdirwatch.plan.reassignment.within_broker import Moves
from tests.unit.plan.builders import MIB, NOW_MS, action, broker, directory, facts, offline, policy, replica, topic

SOURCE = directory(1, "/d1", 800 * MIB)
GROWING = directory(1, "/d1", 900 * MIB, growth_bytes_per_s=1.0 * MIB)
PARTS = [
    SOURCE,
    directory(1, "/d2"),
    directory(2),
    topic("t", (1, 2), (1, 2)),
    *(replica(number, "/d1", "t", partition, 60 * MIB) for number in (1, 2) for partition in (0, 1)),
]
KEEPS_NOTHING = broker(1, **{"log.segment.delete.delay.ms": "0"})


def planned(*sizes, rate=10 * MIB, needed=None, **fields):
    moves = [Assignment("t", number, (1, 2), ("/d2", "any")) for number in range(len(sizes))]
    before = [Assignment("t", number, (1, 2), ("/d1", "any")) for number in range(len(sizes))]
    values = {
        "assignments": tuple(moves),
        "before": tuple(before),
        "bytes_in": {(1, "/d2"): sum(sizes)},
        "needed_bytes": sum(sizes) if needed is None else needed,
        "sizes": sizes,
        "rate": rate,
    }
    return Moves(**(values | fields))


def moved(*sizes, source=SOURCE, parts=(), limits=None, **fields):
    snapshot = facts(*PARTS, source, *parts)
    sizes = sizes or (60 * MIB,)
    (found,) = propose_move(source, planned(*sizes, **fields), snapshot, policy(**(limits or {})))
    return found


def holds(found, name):
    return next(one.holds for one in found.preconditions if one.name == name)


def sent(command):
    return json.loads(command[command.index("{") : command.rindex("}") + 1])


class TestWhatItDoes:
    def test_it_is_one_reassignment_under_a_limit_that_goes_with_it(self):
        found = moved()
        assert found.kind is ActionKind.MOVE_LOG_DIR
        assert found.target == {"broker": 1, "log_dir": "/d1"}
        entry = {"topic": "t", "partition": 0, "replicas": [1, 2], "log_dirs": ["/d2", "any"]}
        assert found.reassignment == {"version": 1, "partitions": [entry]}
        assert sent(found.commands[0])["partitions"] == [entry]
        assert f"brokers 1 {LOG_DIR_THROTTLE}={10 * MIB}" in found.commands[1]
        assert "--add-config" in found.commands[1]
        assert "--execute" in found.commands[2]
        assert "--additional" not in found.commands[2]
        assert "--delete-config" in found.commands[-1]
        assert found.expected["sets_limits"] == {"brokers": {"1": {LOG_DIR_THROTTLE: 10 * MIB}}, "topics": {}}
        assert not found.data_loss

    def test_the_way_back_puts_every_replica_where_it_was(self):
        undo = moved().undo
        entry = {"topic": "t", "partition": 0, "replicas": [1, 2], "log_dirs": ["/d1", "any"]}
        assert undo["reassignment"]["partitions"] == [entry]
        assert any("--cancel" in command for command in undo["while_running"])

    def test_anothers_limit_is_not_set_over(self):
        found = moved(parts=[broker(1, **{LOG_DIR_THROTTLE: "5"})])
        assert found.expected["sets_limits"] == {"brokers": {}, "topics": {}}
        assert not any("--add-config" in command or "--delete-config" in command for command in found.commands)

    def test_beside_a_running_reassignment_the_tool_is_told_so(self):
        found = moved(parts=[topic("other", (2, 1), reassigned=[0])])
        assert any("--additional" in command for command in found.commands)
        assert holds(found, "no_reassignment_runs") is True
        assert holds(moved(), "no_reassignment_runs") is None
        assert holds(found, "no_retention_cut") is None


class TestWhatItBrings:
    def test_what_leaves_is_free_when_the_copy_is_there_and_the_files_are_deleted(self):
        expected = moved().expected
        assert (expected["frees_bytes"], expected["needs_ms"]) == (60 * MIB, 66_000)
        assert expected["throttle_bytes_per_s"] == 10 * MIB
        assert (expected["waves"], expected["in_time_bytes"]) == (1, 60 * MIB)
        assert expected["on"] == [
            {"broker": 1, "log_dir": "/d1", "bytes": 60 * MIB},
            {"broker": 1, "log_dir": "/d2", "bytes": -60 * MIB},
        ]
        assert moved(source=GROWING).expected["time_to_full_after_ms"] == 160_000

    def test_copies_that_run_share_the_limit(self):
        copy = replica(1, "/d2", "t", 1, 20 * MIB, is_future=True)
        assert moved(parts=[copy]).expected["needs_ms"] == 70_000, "40 MiB at 10 MiB/s more"
        beyond = replica(1, "/d2", "t", 1, 70 * MIB, is_future=True)
        assert moved(parts=[beyond]).expected["needs_ms"] == 66_000
        elsewhere = [directory(2, "/d2"), replica(2, "/d2", "t", 1, 20 * MIB, is_future=True)]
        assert moved(parts=elsewhere).expected["needs_ms"] == 66_000

    @pytest.mark.parametrize(
        ("needed", "source", "said"),
        [
            (60 * MIB, SOURCE, "(enough)"),
            (60 * MIB + 1, SOURCE, "are needed)"),
            (60 * MIB, GROWING, "(enough)"),
            (60 * MIB, directory(1, "/d1", 950 * MIB, growth_bytes_per_s=1.0 * MIB), "(60 MiB are needed)"),
        ],
    )
    def test_enough_is_all_that_is_needed_and_in_time(self, needed, source, said):
        assert said in moved(needed=needed, source=source).reason

    @pytest.mark.parametrize(
        ("source", "in_time"),
        [
            (SOURCE, None),
            (replace(GROWING, growth_bytes_per_s=0.1 * MIB), True),
            (GROWING, None),
            (directory(1, "/d1", 950 * MIB, growth_bytes_per_s=1.0 * MIB), False),
        ],
    )
    def test_whether_it_is_in_time_is_said(self, source, in_time):
        assert holds(moved(source=source), "in_time") is in_time


class TestWaves:
    def test_each_ends_before_the_next_begins_under_one_limit(self):
        found = moved(60 * MIB, 60 * MIB, parts=[broker(1, **{"num.replica.alter.log.dirs.threads": "1"})])
        assert found.expected["waves"] == 2
        assert "in 2 waves" in found.reason
        assert [
            len(sent(one)["partitions"]) for one in found.commands if "{" in one and "}" in one and '"topic"' in one
        ] == [
            2,
            1,
            1,
        ]
        assert sum("--execute" in command for command in found.commands) == 2
        assert sum("--add-config" in command for command in found.commands) == 1
        assert "--delete-config" in found.commands[-1]
        assert len(found.reassignment["partitions"]) == 2

    def test_one_wave_is_not_spoken_of(self):
        assert "waves" not in moved(60 * MIB, 60 * MIB).reason


class TestWhenNotToMove:
    @pytest.mark.parametrize("name", ["log_dir_offline", "log_dir_unknown", "slower_than_writes", "retention_waits"])
    def test_what_hinders_every_move_is_said_by_a_vetoed_one(self, name):
        vetoes = (Veto("destination_marked", ""), Veto(name, "so it is"))
        (found,) = propose_move(SOURCE, Moves(vetoes=vetoes), facts(*PARTS), policy())
        assert found.kind is ActionKind.MOVE_LOG_DIR
        assert found.target == {"broker": 1, "log_dir": "/d1"}
        assert found.vetoes == vetoes
        assert (found.commands, found.reassignment, found.expected["frees_bytes"]) == ((), None, None)

    @pytest.mark.parametrize("vetoes", [(), (Veto("destination_marked", ""),), (Veto("below_target", ""),)])
    def test_any_other_is_not(self, vetoes):
        assert propose_move(SOURCE, Moves(vetoes=vetoes), facts(*PARTS), policy()) == []

    @pytest.mark.parametrize(
        ("place", "said"),
        [
            (SOURCE, False),
            (offline(1), True),
            (directory(1, status=LogDirStatus.UNKNOWN), True),
            (directory(2), False),
        ],
    )
    def test_the_live_source_must_serve(self, place, said):
        plan = {"version": 1, "partitions": []}
        asked = action(ActionKind.MOVE_LOG_DIR, reassignment=plan, undo={"reassignment": plan})
        found = reasons_against(asked, facts(place), None, policy(), NOW_MS)
        assert any(reason.startswith("/d1 of broker 1 is ") for reason in found) is said
