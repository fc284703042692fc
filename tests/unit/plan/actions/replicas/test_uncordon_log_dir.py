"""A cordon is ended for the move that needs the room, or once its reason is over; others' cordons stay."""

import pytest

from logdirwatch.model.vocabulary import ActionKind, ActionStatus, LogDirStatus
from logdirwatch.plan.actions.replicas.uncordon_log_dir import ACTION_TYPE, propose_uncordon, propose_uncordon_for
from logdirwatch.plan.lifecycle.transitions import progress
from logdirwatch.plan.proposal import Precondition, ProposedAction, effect
from tests.unit.plan.answers import conditions, reasons
from tests.unit.plan.builders import MIB, action, broker, directory, facts, policy

SET = "kafka-configs.sh --bootstrap-server kafka:9092 --alter --entity-type brokers --entity-name=1 "
CORDONED = directory(1, "/d2", 100 * MIB, is_cordoned=True)
ALONE = [broker(1, **{"cordoned.log.dirs": "/d2"}), directory(1), CORDONED]
BESIDE = [broker(1, **{"cordoned.log.dirs": "/d2,/d3"}), directory(1), CORDONED, directory(1, "/d3", is_cordoned=True)]


def follow_up(*parts, place=CORDONED, **fields):
    return propose_uncordon(place, facts(*parts, **fields), policy(), "one")


@pytest.mark.parametrize(
    ("parts", "command", "undo"),
    [
        (ALONE, "--delete-config cordoned.log.dirs", "--add-config 'cordoned.log.dirs=[/d2]'"),
        (
            BESIDE,
            "--add-config 'cordoned.log.dirs=[/d3]'",
            "--add-config 'cordoned.log.dirs=[/d3,/d2]'",
        ),
    ],
)
def test_only_its_own_path_leaves_the_brokers_list(parts, command, undo):
    found = follow_up(*parts)
    assert found.commands == (SET + command,)
    assert found.undo == {"commands": [SET + undo]}


def test_what_follows_a_cordon_names_it_and_takes_no_time():
    found = follow_up(*ALONE)
    assert found.kind is ActionKind.UNCORDON_LOG_DIR
    assert found.target == {"broker": 1, "log_dir": "/d2", "after": "one"}
    assert (found.expected["needs_ms"], found.expected["is_cordoned"], found.expected["on"]) == (0, False, [])
    assert not found.data_loss


@pytest.mark.parametrize(
    ("status", "vetoes"),
    [
        (LogDirStatus.ONLINE, []),
        (LogDirStatus.FILLING, ["not_enough_room"]),
        (LogDirStatus.OFFLINE, ["not_enough_room"]),
    ],
)
def test_new_replicas_come_only_where_there_is_room(status, vetoes):
    place = directory(1, "/d2", 100 * MIB, status=status, is_cordoned=True)
    assert list(reasons(follow_up(broker(1), place, place=place))) == vetoes


def test_the_command_says_whose_wishes_it_carries_out_too():
    found = follow_up(*BESIDE, cordoning={(1, "/d3"): False})
    assert found.commands == (SET + "--delete-config cordoned.log.dirs",)
    assert found.reason.endswith("so it includes /d3 for other actions")
    assert follow_up(*BESIDE).reason.endswith("the reason is over")


class TestForAMove:
    THEN = ProposedAction(
        ActionKind.MOVE_LOG_DIR,
        {},
        "",
        effect(frees_bytes=300 * MIB, needs_ms=6000, in_time_bytes=200 * MIB, throttle_bytes_per_s=50 * MIB),
        preconditions=(
            Precondition("in_time", "it is so", True),
            Precondition("no_retention_cut", "none", None),
            Precondition("rate_sustained", "it can be", None),
        ),
    )

    def found(self, **fields):
        return propose_uncordon_for(directory(1), CORDONED, self.THEN, facts(*ALONE, **fields), policy())

    def test_it_acts_on_the_cordoned_directory_and_promises_what_the_move_does(self):
        found = self.found()
        assert found.kind is ActionKind.UNCORDON_LOG_DIR
        assert found.target == {"broker": 1, "log_dir": "/d2"}
        assert found.expected == effect(
            needs_ms=6000,
            is_cordoned=False,
            then_frees_bytes=300 * MIB,
            then_kind="move_log_dir",
            in_time_bytes=200 * MIB,
            throttle_bytes_per_s=50 * MIB,
        )
        assert found.commands == (SET + "--delete-config cordoned.log.dirs",)
        assert found.undo == {"commands": [SET + "--add-config 'cordoned.log.dirs=[/d2]'"]}

    def test_it_says_how_empty_it_is_and_what_it_wins_when(self):
        assert (
            "uncordon /d2 of broker 1, 90.0 % free: then 300 MiB of /d1 can be moved there in 6 s"
            in self.found().reason
        )

    def test_whoever_cordoned_it_is_asked_and_the_moves_own_time_is_told(self):
        assert conditions(self.found()) == {"cordon_over": None, "in_time": True, "rate_sustained": None}

    def test_nobody_is_asked_about_an_own_cordon(self):
        assert conditions(self.found(own_cordons=frozenset({(1, "/d2")})))["cordon_over"] is True
        assert conditions(self.found(own_cordons=frozenset({(1, "/d1")})))["cordon_over"] is None


@pytest.mark.parametrize(("is_cordoned", "done"), [(False, True), (True, False), (None, None)])
def test_it_is_done_when_the_broker_reports_no_cordon(is_cordoned, done):
    asked = action(
        ActionKind.UNCORDON_LOG_DIR,
        target={"broker": 1, "log_dir": "/d2"},
        status=ActionStatus.ACCEPTED,
        expected={"is_cordoned": False},
    )
    seen = progress(asked, facts(directory(1, "/d2", is_cordoned=is_cordoned)))
    assert (seen and seen.is_done) == done
    assert progress(asked, facts(directory(1))) is None


def test_it_sets_the_brokers_whole_list_so_another_list_is_another_action():
    assert ACTION_TYPE.sets_whole_list
