"""The order of the moves, and what is written for Kafka's tool and for people."""

from dataclasses import replace

import numpy as np

from logdirwatch.plan.balance.files import reassignment, steps
from logdirwatch.plan.balance.model.board import Board
from logdirwatch.plan.balance.summary import summarise
from logdirwatch.plan.balance.waves import WAVE_S, schedule
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


def test_a_wave_has_no_more_copies_within_a_broker_than_it_runs_at_once():
    directories = (
        (1, "/a", {"t0": 10, "t1": 10, "t2": 10}),
        (1, "/b", {}),
        (2, "/a", {"u0": 10, "u1": 10}),
        (2, "/b", {}),
    )
    two = cluster(*(at(broker, path, 10_000, **replicas_there) for broker, path, replicas_there in directories))
    moves = [(0, 1), (1, 1), (2, 1), (3, 3), (4, 3)]
    limited = replace(two, copies_at_once=np.array([2, 1]))
    slow = {"log_dir_throttle_bytes_per_s": 1, "replication_throttle_bytes_per_s": 1}
    long = replace(limited, replica_bytes=limited.replica_bytes * 20)
    assert replicas(schedule(board_with(long, *moves), PlanSettings(**slow))[0]) == [[0, 1, 3], [2, 4]]
    assert replicas(schedule(board_with(limited, *moves), PlanSettings(**slow))[0]) == [[0, 1, 2, 3, 4]]
    between = [(0, 2), (1, 2), (2, 3), (3, 0), (4, 1)]
    assert replicas(schedule(board_with(long, *between), PlanSettings(**slow))[0]) == [[0, 1, 2, 3, 4]]


def test_copies_within_a_broker_and_replicas_from_another_one_are_in_different_waves():
    model = cluster(at(1, "/a", t0=10, t1=10), at(1, "/b"), at(2, "/a", t2=10))
    assert replicas(schedule(board_with(model, (0, 1), (2, 1), (1, 1)), PlanSettings())[0]) == [[0, 1], [2]]


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


def test_a_wave_takes_no_broker_longer_than_an_hour_but_for_a_single_replica():
    rate = 100
    limits = PlanSettings(log_dir_throttle_bytes_per_s=rate, replication_throttle_bytes_per_s=rate)
    hour = rate * WAVE_S
    model = cluster(
        at(1, "/a", 10**9, t0=2 * hour, t1=hour // 2, t2=hour // 2, t3=1), at(1, "/b", 10**9), at(2, "/a", 10**9)
    )
    waves, _ = schedule(board_with(model, (0, 1), (1, 1), (2, 1), (3, 1)), limits)
    assert replicas(waves) == [[0], [1, 2], [3]]


def test_a_leader_s_broker_is_busy_with_the_copies_it_sends():
    rate = 100
    limits = PlanSettings(replication_throttle_bytes_per_s=rate)
    hour = rate * WAVE_S
    model = cluster(
        at(1, capacity=10**9, t0=hour, t1=hour),
        at(2, capacity=10**9, t0=hour, t1=hour),
        at(3, capacity=10**9),
        at(4, capacity=10**9),
    )
    waves, _ = schedule(board_with(model, (2, 2), (3, 3)), limits)
    assert replicas(waves) == [[2], [3]]


def test_a_wave_touches_a_directory_ten_times_at_most_unless_all_is_done_in_five_minutes():
    model = cluster(at(1, "/a", **{f"t{n}": 31 for n in range(25)}), at(1, "/b"), at(1, "/c"))
    board = board_with(model, *((n, 1 + n % 2) for n in range(25)))
    waves, _ = schedule(board, PlanSettings(log_dir_throttle_bytes_per_s=1))
    assert [len(wave.moves) for wave in waves] == [10, 10, 5]
    waves, _ = schedule(board, PlanSettings(log_dir_throttle_bytes_per_s=2))
    assert [len(wave.moves) for wave in waves] == [19, 6]
    waves, _ = schedule(board, PlanSettings(log_dir_throttle_bytes_per_s=3))
    assert [len(wave.moves) for wave in waves] == [25]


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
