"""Moves that run are taken back: to the letter what Kafka's tool is told, what that brings, and when it is done."""

import json

import pytest

from logdirwatch.model.vocabulary import ActionKind, ActionStatus, BrokerStatus
from logdirwatch.plan.actions.replicas.cancel_moves import cancel_dead_ends, cancel_moves, propose_overflow_cancel
from logdirwatch.plan.lifecycle.live_check import reasons_against
from logdirwatch.plan.lifecycle.transitions import progress
from logdirwatch.plan.reassignment.running_copies import copies_to
from tests.unit.plan.answers import conditions, vetoed
from tests.unit.plan.builders import (
    MIB,
    NOW_MS,
    action,
    broker,
    directory,
    facts,
    moving,
    partition_of,
    policy,
    replica,
    topic,
)

POLICY = policy()
HERE = directory(1, used=900 * MIB, growth_bytes_per_s=1.0 * MIB, incoming_bytes=270 * MIB)
INSIDE = [
    HERE,
    directory(1, "/d2"),
    directory(2),
    topic("in", (1, 2)),
    replica(1, "/d2", "in", size=300 * MIB),
    replica(2, "/d1", "in", size=300 * MIB),
    replica(1, "/d1", "in", size=30 * MIB, is_future=True),
]
BETWEEN = [
    directory(3),
    moving(topic("out", (1, 2, 3), isr={0: (2, 3)}), adding=(1,), removing=(3,)),
    *(replica(number, "/d1", "out", size=200 * MIB) for number in (2, 3)),
    replica(1, "/d1", "out", size=20 * MIB),
]


def sent(command):
    """The plan that a command writes to its file."""
    return json.loads(command[command.index("{") : command.rindex("}") + 1])


class TestCopiesThatWouldOverflow:
    def found(self, *parts, **fields):
        seen = facts(*parts, **fields)
        place = seen.directories[1, "/d1"]
        (found,) = propose_overflow_cancel(place, copies_to([place.place], seen), seen, POLICY)
        return found

    def test_what_was_copied_is_free_again_and_the_rest_does_not_come(self):
        expected = self.found(*INSIDE).expected
        assert expected["frees_bytes"] == 30 * MIB
        assert expected["on"] == [{"broker": 1, "log_dir": "/d1", "bytes": 30 * MIB}]
        assert expected["spares_bytes"] == 270 * MIB
        assert expected["time_to_full_after_ms"] == 130_000
        assert expected["copies"] == [
            {"topic": "in", "partition": 0, "broker": 1, "log_dir": "/d1", "remaining_bytes": 270 * MIB}
        ]

    @pytest.mark.parametrize(
        ("version", "parts", "is_said"),
        [
            (None, INSIDE, True),
            ("whatever", INSIDE, True),
            ("3.3-IV0", INSIDE, True),
            ("3.9-IV0", INSIDE, True),
            ("4.1-IV1", INSIDE, True),
            ("level 30", INSIDE, True),
            ("4.2-IV0", INSIDE, False),
            ("4.2-IV1", INSIDE, False),
            ("4.3-IV0", INSIDE, False),
            ("level 31", INSIDE, False),
            ("3.9-IV0", [HERE, directory(2), *BETWEEN], False),
            ("3.9-IV0", [*INSIDE, *BETWEEN], True),
        ],
    )
    def test_retention_that_stops_is_named_unless_the_release_rules_it_out(self, version, parts, is_said):
        """KAFKA-19458: only copies between directories, and only before Kafka 4.2."""
        assert ("before Kafka 4.2 retention" in self.found(*parts, metadata_version=version).reason) is is_said

    def test_leaders_are_told_where_a_reassignment_ends(self):
        assert "leadership" not in self.found(*INSIDE).expected
        leadership = self.found(*INSIDE, *BETWEEN).expected["leadership"]
        assert [one["partition"] for one in leadership["examples"]] == ["out-0"]

    def test_nothing_is_lost_and_whoever_began_them_is_asked(self):
        found = self.found(*INSIDE)
        assert found.kind is ActionKind.CANCEL_MOVES
        assert found.target == {"broker": 1, "log_dir": "/d1"}
        assert not found.data_loss
        assert conditions(found) == {"nobody_needs_it": None, "still_running": None}
        assert found.undo["text"].startswith("begin the moves again, from the start")

    def test_without_any_there_is_nothing_to_cancel(self):
        assert propose_overflow_cancel(HERE, [], facts(*INSIDE), POLICY) == []


GONE = broker(3, BrokerStatus.OFFLINE)


def stuck(name, replicas=(3, 1, 2), *, adding=(3,), removing=(1,), isr=(1, 2)):
    return moving(topic(name, replicas, isr={0: isr}), adding=adding, removing=removing)


ENDLESS = [GONE, directory(1), directory(2), stuck("a"), replica(1, "/d1", "a"), replica(2, "/d1", "a")]


class TestReassignmentsThatCannotEnd:
    def cancelled(self, *parts, broker=3, path=None, **limits):
        return cancel_dead_ends(broker, path, facts(*parts), policy(**limits))

    def test_the_tool_is_told_what_it_was_to_reach(self):
        (found,) = self.cancelled(*ENDLESS, path="/d1")
        target = [{"topic": "a", "partition": 0, "replicas": [3, 2], "log_dirs": ["any", "any"]}]
        assert found.expected["cancels"]["partitions"] == target
        assert sent(found.commands[0])["partitions"] == target
        assert "--preserve-throttles" in found.commands[1]
        assert found.target == {"broker": 3, "log_dir": "/d1"}
        assert found.expected["examples"] == [{"partition": "a-0", "adding": [3], "removing": [1]}]
        assert conditions(found) == {"not_wanted": None}
        assert found.kind is ActionKind.CANCEL_MOVES
        assert all("logdirwatch-cancel_moves-" in command for command in found.commands)

    def test_undo_begins_it_again_under_a_limit(self):
        (found,) = self.cancelled(*ENDLESS, replication_throttle_bytes_per_s=7 * MIB)
        assert found.undo["reassignment"] == found.expected["cancels"]
        assert any("--execute" in command for command in found.undo["commands"])
        assert any(f"replication.throttled.rate={7 * MIB}" in command for command in found.undo["commands"])

    def test_why_and_how_many_is_said(self):
        (found,) = self.cancelled(*ENDLESS, stuck("b"))
        assert found.reason.startswith(
            "2 reassignments can no longer end (broker 3 that it adds is offline): cancel them"
        )

    @pytest.mark.parametrize("number", [1, 2, 3])
    def test_those_that_name_the_broker_are_its_own(self, number):
        assert len(self.cancelled(*ENDLESS, broker=number)) == 1
        assert self.cancelled(*ENDLESS, broker=4) == []

    @pytest.mark.parametrize(("most", "named", "later"), [(1, ["a"], 2), (2, ["a", "b"], 1), (3, ["a", "b", "c"], 0)])
    def test_they_come_in_waves(self, most, named, later):
        (found,) = self.cancelled(*ENDLESS, stuck("b"), stuck("c"), partitions_per_reassignment=most)
        assert [one["topic"] for one in found.expected["cancels"]["partitions"]] == named
        assert found.expected["later"] == later
        assert found.expected["leadership"]["partitions"] == len(named)

    def test_where_only_the_added_copy_is_good_cancelling_loses_it(self):
        last = [directory(3), stuck("z", isr=(3,), adding=(3,))]
        seen = facts(*ENDLESS[1:], *last)
        partitions = [seen.partitions["z", 0], seen.partitions["a", 0]]
        both = cancel_moves(3, None, partitions, seen, POLICY, "why")
        alone = cancel_moves(3, None, partitions[:1], seen, POLICY, "why")
        assert [one["topic"] for one in both.expected["cancels"]["partitions"]] == ["a"]
        assert (both.data_loss, alone.data_loss) == (False, True)
        assert both.expected["later"] == 1
        assert "Not so z-0: only what the move adds is in sync" in both.reason
        assert "bring broker" not in both.reason
        assert "Not so" not in cancel_moves(3, None, partitions[1:], seen, POLICY, "why").reason

    def test_the_old_replicas_that_are_away_are_asked_back_first(self):
        last = partition_of(stuck("z", (3, 4, 5, 1), isr=(3,), adding=(3,), removing=(4,)), offline_replicas=(4, 5))
        seen = facts(directory(3), directory(1), broker(5, BrokerStatus.OFFLINE), broker(4, BrokerStatus.OFFLINE), last)
        found = cancel_moves(3, None, [seen.partitions["z", 0]], seen, POLICY, "why")
        assert found.reason.endswith("; bring broker 4, 5 back first")


class TestWhetherItIsDone:
    def asked(self, **expected):
        return action(
            ActionKind.CANCEL_MOVES,
            target={"broker": 3, "log_dir": None},
            status=ActionStatus.ACCEPTED,
            expected=expected,
        )

    def reached(self, *parts, **expected):
        seen = progress(self.asked(**expected), facts(*parts))
        return seen and (seen.reached, seen.of)

    CANCELS = {"partitions": [{"topic": "a", "partition": 0, "replicas": [3, 2], "log_dirs": ["any", "any"]}]}  # noqa: RUF012

    @pytest.mark.parametrize(
        ("parts", "reached"),
        [
            ([stuck("a")], 0),
            ([topic("a", (1, 2))], 1),
            ([topic("a", (3, 2))], 0),
            ([], 0),
        ],
        ids=["it runs", "its old replicas", "it came to its end", "no such topic"],
    )
    def test_a_reassignment_that_runs_no_more_and_did_not_end(self, parts, reached):
        assert self.reached(directory(1), *parts, cancels=self.CANCELS) == (reached, 1)

    def test_copies_that_run_no_more(self):
        copies = [
            {"topic": "in", "partition": 0, "broker": 1, "log_dir": "/d1"},
            {"topic": "other", "partition": 0, "broker": 1, "log_dir": "/d1"},
        ]
        assert self.reached(*INSIDE, copies=copies) == (1, 2)
        assert self.reached(*INSIDE[:-1], copies=copies) == (2, 2)

    def test_of_neither_nothing_is_known(self):
        assert self.reached(*INSIDE) is None

    def test_the_live_cluster_is_asked_whether_any_still_runs(self):
        asked = self.asked(cancels=self.CANCELS)
        over = reasons_against(asked, facts(directory(1), topic("a", (1, 2))), None, POLICY, NOW_MS)
        assert "none of its moves runs any more" in over
        assert "none of its moves runs any more" not in reasons_against(asked, facts(*ENDLESS), None, POLICY, NOW_MS)


def test_no_veto_stands_against_the_cancelling_of_what_keeps_its_copies():
    (found,) = cancel_dead_ends(3, None, facts(*ENDLESS), POLICY)
    assert vetoed(found) == []
