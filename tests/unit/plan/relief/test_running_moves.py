"""Moves that run already and take bytes off a filling directory: when they count, and when not."""

import pytest

from logdirwatch.model.vocabulary import ActionKind, ActionStatus, BrokerStatus, Rule
from logdirwatch.plan.capacity.copy_rates import with_rates
from logdirwatch.plan.lifecycle.live_check import Quorum, reasons_against
from logdirwatch.plan.reassignment.running_copies import copies_to, without_copies
from logdirwatch.plan.recommend import recommend
from logdirwatch.plan.relief.running_moves import under_way, with_running_moves
from tests.unit.plan.answers import holds
from tests.unit.plan.builders import (
    MIB,
    NOW_MS,
    action,
    alert,
    broker,
    directory,
    facts,
    moving,
    policy,
    replica,
    space_alert,
    topic,
)

SOURCE = directory(1, "/d1", 850 * MIB, growth_bytes_per_s=1.0 * MIB)
QUORUM = Quorum(leader=1, caught_up={1: True, 2: True, 3: True})
LIMIT = "follower.replication.throttled.rate"
RUNS = moving(topic("t", (1, 2, 3), isr={0: (1, 2)}), adding=(3,), removing=(1,))
PARTS = (
    SOURCE,
    directory(2),
    directory(3),
    RUNS,
    replica(1, "/d1", "t", size=300 * MIB),
    replica(2, "/d1", "t", size=300 * MIB),
    replica(3, "/d1", "t", size=100 * MIB),
)


def running(*parts, **fields):
    return under_way(SOURCE, facts(*PARTS, *parts, **fields), policy())


def test_a_reassignment_frees_what_it_takes_away_after_the_copy_and_the_deletion():
    found = running()
    assert (found.frees_bytes, found.is_in_time) == (300 * MIB, True)
    assert found.needs_ms == 200 * MIB * 1000 // 50_000_000 + 60_000


def test_its_limit_says_how_fast_it_is():
    slow = running(broker(3, **{LIMIT: str(MIB)}))
    assert (slow.bytes_per_s, slow.is_in_time) == (MIB, False)
    assert with_running_moves(SOURCE, facts(*PARTS, broker(3, **{LIMIT: str(MIB)})), policy())[0].relief_bytes == 0
    assert with_running_moves(SOURCE, facts(*PARTS), policy())[0].relief_bytes == 300 * MIB


@pytest.mark.parametrize(("rate", "is_in_time"), [(10.0 * MIB, True), (1.0 * MIB, False), (0.0, False)])
def test_what_was_seen_counts_before_the_limit(rate, is_in_time):
    assert running(copied_bytes_per_s={(3, "/d1"): rate}).is_in_time is is_in_time


def test_one_that_can_no_longer_end_frees_nothing():
    assert running(broker(3, BrokerStatus.OFFLINE)).reliefs == ()


def test_one_that_keeps_the_replica_here_frees_nothing():
    stays = moving(topic("t", (1, 2, 3), isr={0: (1, 2)}), adding=(3,), removing=(2,))
    assert running(stays).reliefs == ()


def test_a_copy_inside_the_broker_frees_what_it_copies_and_one_that_comes_here_does_not():
    there = [directory(1, "/d2"), topic("u", (1,)), replica(1, "/d1", "u", size=80 * MIB)]
    found = running(*there, replica(1, "/d2", "u", size=8 * MIB, is_future=True))
    assert found.frees_bytes == 380 * MIB
    here = [directory(1, "/d2"), topic("u", (1,)), replica(1, "/d2", "u", size=80 * MIB)]
    assert running(*here, replica(1, "/d1", "u", size=8 * MIB, is_future=True)).frees_bytes == 300 * MIB


def test_copies_that_still_come_make_it_full_sooner():
    coming = directory(1, "/d1", 850 * MIB, growth_bytes_per_s=1.0 * MIB, incoming_bytes=100 * MIB)
    found, _ = with_running_moves(coming, facts(*PARTS, coming), policy())
    assert found.incoming_bytes == 100 * MIB
    assert under_way(found, facts(*PARTS, coming), policy()).is_in_time is False


def test_once_copies_have_ended_what_they_held_is_free_and_the_rest_does_not_come():
    coming = directory(3, "/d1", 100 * MIB, incoming_bytes=200 * MIB)
    known = facts(*PARTS, coming)
    after = without_copies(copies_to([(3, "/d1")], known), known)
    assert after.directories[3, "/d1"].usable_bytes == coming.usable_bytes + 100 * MIB
    assert after.directories[3, "/d1"].incoming_bytes == 0
    assert after.replicas_in((3, "/d1")) == ()
    assert ("t", 0) in after.set_aside


MOVED = {
    "version": 1,
    "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2], "log_dirs": ["/d2", "any"]}],
}


class TestSeenRates:
    def rates(self, actions=(), alerts=()):
        return with_rates(facts(SOURCE), actions, alerts).copied_bytes_per_s

    def test_a_move_that_was_carried_out_tells_its_rate(self):
        done = action(
            status=ActionStatus.DONE,
            reassignment=MOVED,
            observed={"took_ms": 10_000, "copies_bytes": 50 * MIB},
        )
        assert self.rates([done]) == {(1, "/d2"): 5 * MIB}
        assert self.rates([action(status=ActionStatus.RUNNING, reassignment=MOVED)]) == {}

    def test_what_is_held_up_now_counts_before_it(self):
        moves = {
            "/d2": {"verdict": "too_slow", "bytes_per_s": 7.0},
            "/d3": {"verdict": "stands_still", "bytes_per_s": None},
            "/d4": {"verdict": "too_slow", "bytes_per_s": None},
        }
        held = alert(Rule.MOVE_STALLED, log_dir=None, evidence={"moves": moves})
        assert self.rates(alerts=[held]) == {(1, "/d2"): 7.0, (1, "/d3"): 0.0}


def test_a_move_beside_a_reassignment_that_runs_says_so_to_the_tool_and_still_passes_the_check():
    """The tool refuses to begin a second one without being told (Kafka 4.3.1 ``ReassignPartitionsCommand``)."""
    slow = broker(3, **{LIMIT: "1000"})
    known = facts(*PARTS, slow, directory(1, "/d2"), topic("u", (1,)), replica(1, "/d1", "u", size=170 * MIB))
    first = recommend(space_alert(), known, policy(), NOW_MS)[0]
    assert first.kind is ActionKind.MOVE_LOG_DIR
    for commands in (first.commands, first.undo["commands"]):
        assert any("--execute --additional " in command for command in commands)
    assert holds(first, "no_reassignment_runs") is True
    assert "Kafka's tool refuses a second one" not in str(reasons_against(first, known, QUORUM, policy(), NOW_MS))
    alone = facts(*PARTS[:3], directory(1, "/d2"), topic("u", (1,)), replica(1, "/d1", "u", size=170 * MIB))
    plain = recommend(space_alert(), alone, policy(), NOW_MS)[0]
    assert not any("--additional" in line for line in (*plain.commands, *plain.undo["commands"]))
