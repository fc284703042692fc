"""The order of the moves, and what is written for Kafka's tool and for people."""

import dataclasses
import random

import numpy as np
import pytest

from logdirwatch.plan.balance.files import reassignment, steps
from logdirwatch.plan.balance.model.board import Board
from logdirwatch.plan.balance.schedule import schedule
from logdirwatch.plan.balance.summary import summarise
from logdirwatch.plan.capacity.timing import DELETE_DELAY_MS
from logdirwatch.plan.settings import PlanSettings
from tests.unit.plan.balance.builders import applied, at, cluster, layout, planned


def board_with(model, *moves):
    """A board on which the moves are planned: partition and new directory, both by number."""
    board = Board(model, 0.85)
    for replica, directory in moves:
        board.move(replica, directory)
    return board


def replicas(waves):
    return [[move.replica for move in wave.moves] for wave in waves]


def test_a_copy_waits_until_its_destination_has_room():
    board = board_with(cluster(at(1, "/a", t0=400), at(1, "/b", t1=500, t2=300), at(1, "/c")), (0, 1), (1, 2))
    waves, given_up = schedule(board, PlanSettings())
    assert replicas(waves) == [[1], [0]]
    assert given_up == []
    assert [(fill.before_bytes, fill.worst_bytes, fill.after_bytes) for fill in waves[1].fills] == [
        (400, 400, 0),
        (300, 700, 700),
    ]


def test_in_a_wave_the_source_counts_until_the_end_and_both_copies_do():
    board = board_with(cluster(at(1, "/a", t0=300), at(1, "/b", t1=300)), (0, 1), (1, 0))
    waves, _ = schedule(board, PlanSettings())
    assert replicas(waves) == [[0, 1]]
    assert [fill.worst_bytes for fill in waves[0].fills] == [600, 600]


def test_moves_that_no_order_can_make_are_given_up():
    board = board_with(cluster(at(1, "/a", t0=500, t1=300), at(1, "/b", t2=500, t3=300)), (0, 1), (2, 0))
    waves, given_up = schedule(board, PlanSettings())
    assert waves == []
    assert [move.replica for move in given_up] == [0, 2]


def test_where_haste_ends_in_a_jam_the_order_of_the_plan_is_kept():
    # s fits at once, and then q does not; without q gone from /b, t cannot leave /c.
    model = cluster(at(1, "/b", q0=350, y0=450), at(1, "/c", r0=300, t0=300, x0=200), at(1, "/d"), at(1, "/e", s0=50))
    q, r, t, s = 0, 2, 3, 5
    waves, given_up = schedule(board_with(model, (r, 2), (q, 1), (t, 0), (s, 1)), PlanSettings())
    assert replicas(waves) == [[r], [q], [t], [s]]
    assert given_up == []


SLOW = PlanSettings(log_dir_throttle_bytes_per_s=1, replication_throttle_bytes_per_s=1)
"""A byte takes a second: copies of more than 300 bytes are long."""
BIG = 10**9


def begins(model, *moves):
    """By replica: when its move begins, in seconds."""
    waves, given_up = schedule(board_with(model, *moves), SLOW)
    assert given_up == []
    return {move.replica: wave.begins_ms // 1000 for wave in waves for move in wave.moves}


ONE = cluster(at(1, "/a", BIG, t0=400, t1=600, t2=301), at(1, "/b", BIG), at(1, "/c", BIG))
THREE = cluster(
    at(1, capacity=BIG, t0=400, t1=500), at(2, capacity=BIG, t2=700), at(3, capacity=BIG), at(4, capacity=BIG)
)
LED = cluster(
    at(1, capacity=BIG, t0=400, t1=500), at(2, capacity=BIG, t0=400, t1=500), at(3, capacity=BIG), at(4, capacity=BIG)
)
MIXED = cluster(at(1, "/a", BIG, t0=400), at(1, "/b", BIG), at(2, "/a", BIG, t1=500), at(3, "/a", BIG, t2=600))
SHORT = cluster(at(1, "/a", BIG, **{f"t{n}": 100 for n in range(7)}), at(1, "/b", BIG))
TWICE = cluster(
    at(1, "/a", BIG, t0=10), at(1, "/b", BIG), at(2, "/a", BIG, t0=10), at(2, "/b", BIG), at(3, "/a", BIG, t0=10)
)


@pytest.mark.parametrize(
    ("model", "moves", "expected"),
    [
        (ONE, [(0, 1), (1, 2), (2, 1)], {1: 0, 0: 600, 2: 1000}),
        (THREE, [(0, 2), (1, 3)], {1: 0, 0: 500}),
        (THREE, [(0, 2), (2, 2)], {2: 0, 0: 700}),
        (THREE, [(0, 2), (2, 3)], {2: 0, 0: 0}),
        (LED, [(2, 2), (3, 3)], {3: 0, 2: 500}),
        (MIXED, [(0, 1), (1, 0), (2, 2)], {0: 0, 1: 0, 2: 0}),
        (SHORT, [(n, 1) for n in range(7)], {0: 0, 1: 0, 2: 0, 3: 100, 4: 200, 5: 300, 6: 400}),
        (TWICE, [(0, 1), (1, 3)], {0: 0, 1: 10}),
    ],
    ids=[
        "one after the other within a broker, the longest first",
        "a broker that sends two",
        "a broker that receives two",
        "others beside each other",
        "a leader's broker sends the copies of its followers",
        "a broker sends, receives and copies within itself at the same time",
        "short ones beside each other, five minutes together",
        "one of a partition",
    ],
)
def test_a_copy_begins_when_its_brokers_are_free(model, moves, expected):
    assert begins(model, *moves) == expected


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("mode", ["balance-disks", "balance-brokers", "balance-all"])
def test_a_plan_takes_little_longer_than_its_busiest_broker(seed, mode):
    rng, directories = random.Random(seed), [at(broker, path, 10**6) for broker in range(1, 11) for path in "abcd"]
    for number in range(500):
        size, topic = rng.randint(1000, 6000), "tuv"[number % 3]
        for broker in rng.sample(range(1, 11), rng.randint(1, 3)):
            # The first directories, and the first brokers, are the fullest.
            at_path = min(rng.randrange(4), rng.randrange(4)) if broker > 3 else rng.randrange(4)
            directories[4 * (broker - 1) + at_path][4][f"{topic}{number}"] = size * (2 if broker < 4 else 1)
    moved = summarise(planned(cluster(*directories), mode, log_dir_throttle_bytes_per_s=10)).moved
    assert moved.replicas > 15
    assert moved.busiest_ms <= moved.needs_ms - DELETE_DELAY_MS <= 1.05 * moved.busiest_ms


def test_the_last_copies_of_a_dying_directory_leave_first():
    sizes = {"t0": 900, "u0": 800, "t1": 400, "t2": 500}
    model = cluster(
        at(1, "/a", BIG, **sizes), at(1, "/b", BIG), at(2, "/a", BIG, t0=900, t1=400), at(3, "/a", BIG, u0=800)
    )
    in_sync = ~np.array([name == "u" and broker == 3 for name, broker in _replicas_of(model)])
    plan = planned(dataclasses.replace(model, is_in_sync=in_sync), "evacuate:1:/a", log_dir_throttle_bytes_per_s=1)
    assert [move.size_bytes for move in plan.moves] == [800, 500, 900, 400], "u0 and t2 are in sync nowhere else"


def _replicas_of(model):
    return [
        (model.partition_name(int(partition))[0], int(model.broker_ids[broker]))
        for partition, broker in zip(model.replica_partition, model.replica_broker, strict=True)
    ]


def test_a_replica_waits_while_there_is_no_room_where_kafka_may_create_it():
    # Kafka creates t1 in /small, which has the fewest logs; there is no room until s0 has left.
    model = cluster(
        at(1, "/big", 10_000, a0=1, a1=1), at(1, "/small", 1000, s0=700), at(1, "/x", 1000), at(2, "/a", 10_000, t1=600)
    )
    replica = {model.partition_name(int(p)): r for r, p in enumerate(model.replica_partition)}
    t1, s0 = replica["t", 1], replica["s", 0]
    waves, given_up = schedule(board_with(model, (t1, 0)), PlanSettings())
    assert (replicas(waves), given_up) == ([[t1]], [])
    assert [(fill.directory, fill.worst_bytes) for fill in waves[0].fills] == [(0, 602), (2, 600), (3, 600)]
    crowded = cluster(at(1, "/big", 10_000, a0=1, a1=1), at(1, "/small", 1000, s0=700), at(2, "/a", 10_000, t1=600))
    replica = {crowded.partition_name(int(p)): r for r, p in enumerate(crowded.replica_partition)}
    t1, s0 = replica["t", 1], replica["s", 0]
    waves, given_up = schedule(board_with(crowded, (t1, 0)), PlanSettings())
    assert (waves, [move.replica for move in given_up]) == ([], [t1])
    waves, given_up = schedule(board_with(crowded, (t1, 0), (s0, 0)), PlanSettings())
    assert (replicas(waves), given_up) == ([[s0], [t1]], [])
    assert waves[1].fills[1].worst_bytes == 600


def test_the_reassignment_names_the_order_of_preference_and_only_the_new_directories():
    model = cluster(at(1, "/a", t0=200, t1=400), at(2, "/a", t0=200), at(2, "/b"), at(3, "/a", t0=200))
    plan = planned(model, "evacuate:2:/a")
    assert reassignment(plan) == {
        "version": 1,
        "partitions": [
            {"topic": "t", "partition": 0, "replicas": [1, 2, 3], "log_dirs": ["any", "/b", "any"]},
        ],
    }


def test_a_new_broker_stands_where_the_old_one_stood():
    plan = planned(cluster(at(1, t0=400), at(2, t0=400, t1=400), at(3, t2=50)), "balance-brokers", tolerance=0.5)
    (entry,) = reassignment(plan)["partitions"]
    assert entry in (
        {"topic": "t", "partition": 0, "replicas": [1, 3], "log_dirs": ["any", "/a"]},
        {"topic": "t", "partition": 1, "replicas": [3], "log_dirs": ["/a"]},
    )


def test_steps_tell_moves_bytes_throttles_fills_and_their_own_reassignment():
    model = cluster(at(1, "/a", t0=400), at(1, "/b", t1=100), at(2, "/a", t1=100))
    told = steps(planned(model, "evacuate:1:/a", log_dir_throttle_bytes_per_s=100))
    assert told == {
        "version": 1,
        "mode": "evacuate:1:/a",
        "waves": [
            {
                "wave": 1,
                "after": [],
                "begins_ms": 0,
                "moved_bytes": 400,
                "needs_ms": 64_000,
                "throttle": {"log_dir_bytes_per_s": 100, "replication_bytes_per_s": None},
                "moves": [
                    {
                        "topic": "t",
                        "partition": 0,
                        "size_bytes": 400,
                        "from_broker": 1,
                        "from_log_dir": "/a",
                        "to_broker": 1,
                        "to_log_dir": "/b",
                    }
                ],
                "directories": [
                    {"broker": 1, "log_dir": "/a", "before_ratio": 0.4, "worst_ratio": 0.4, "after_ratio": 0.0},
                    {"broker": 1, "log_dir": "/b", "before_ratio": 0.1, "worst_ratio": 0.5, "after_ratio": 0.5},
                ],
                "reassignment": {
                    "version": 1,
                    "partitions": [{"topic": "t", "partition": 0, "replicas": [1], "log_dirs": ["/b"]}],
                },
            }
        ],
    }


def test_a_partition_in_two_waves_is_told_as_it_is_by_then():
    sizes = {"t0": 800}
    model = cluster(at(1, "/a", **sizes), at(1, "/b"), at(2, "/a", **sizes), at(2, "/b"))
    plan = planned(model, "evacuate:1:/a", log_dir_throttle_bytes_per_s=1)
    told = steps(plan)
    placed = layout(plan.before)
    for wave in told["waves"]:
        placed = applied(placed, wave["reassignment"])
    assert placed == layout(plan.after) == applied(layout(plan.before), reassignment(plan))


def test_the_summary_counts_what_crosses_brokers_apart():
    plan = planned(cluster(at(1, "/a", t0=400), at(1, "/b"), at(2, "/a"), at(2, "/b")), "balance-brokers")
    told = summarise(plan)
    assert told.moved.replicas == len(plan.moves)
    assert told.moved.bytes == told.moved.within_brokers_bytes + told.moved.between_brokers_bytes
    assert told.violations.partitions_twice_on_a_broker == 0
