"""A filling directory: which replicas move to which directory of the same broker, and when none may."""

from dataclasses import replace

import pytest

from logdirwatch.model.vocabulary import LogDirStatus
from logdirwatch.plan.reassignment.within_broker import plan_moves
from tests.unit.plan.answers import vetoed
from tests.unit.plan.builders import MIB, NOW_MS, SIZE, broker, directory, facts, offline, policy, replica, topic

FULL = directory(1, "/d1", 850 * MIB)


def plan(*parts, **limits):
    found = facts(FULL, *parts)
    return plan_moves(found.directories[1, "/d1"], found, policy(**limits))


def sized(name, *sizes):
    """A topic with one replica of each size in the full directory."""
    return [topic(name, *[(1, 2)] * len(sizes)), *(replica(1, "/d1", name, n, size) for n, size in enumerate(sizes))]


def moved(moves):
    return {a.label: a.directory_of(1) for a in moves.assignments}


OTHER_BROKER = directory(2, "/d1")


def test_nothing_moves_from_where_no_replica_lies_or_nobody_knows_what_is_free():
    empty = directory(1, "/d2")
    assert vetoed(plan(empty, OTHER_BROKER)) == ["nothing_to_move"]
    unknown = facts(directory(1, "/d1", None), empty, OTHER_BROKER, *sized("t", 100 * MIB))
    assert vetoed(plan_moves(unknown.directories[1, "/d1"], unknown, policy())) == ["source_space_unknown"]


def test_the_smallest_replica_that_suffices_moves_to_the_emptiest_directory():
    moves = plan(
        directory(1, "/d2", 300 * MIB),
        directory(1, "/d3", 200 * MIB),
        OTHER_BROKER,
        *sized("t", 100 * MIB, 160 * MIB, 400 * MIB),
    )
    assert moved(moves) == {"t-1": "/d3"}
    assert moves.assignments[0].log_dirs == ("/d3", "any")
    assert moves.moved_bytes == 160 * MIB


def test_a_directory_with_the_metadata_log_is_taken_last():
    moves = plan(
        directory(1, "/d2", 10 * MIB, is_metadata_dir=True),
        directory(1, "/d3", 500 * MIB),
        OTHER_BROKER,
        *sized("t", 160 * MIB),
    )
    assert moved(moves) == {"t-0": "/d3"}


def test_the_largest_go_first_when_no_single_one_suffices():
    moves = plan(directory(1, "/d2", 10 * MIB), OTHER_BROKER, *sized("t", 90 * MIB, 70 * MIB, 100 * MIB))
    assert moved(moves) == {"t-2": "/d2", "t-1": "/d2"}
    assert moves.moved_bytes >= moves.needed_bytes


def test_moves_stop_where_nothing_fits_any_more_and_say_how_far_they_go():
    moves = plan(directory(1, "/d2", 760 * MIB), OTHER_BROKER, *sized("t", 80 * MIB, 80 * MIB))
    assert moves.moved_bytes == 80 * MIB
    assert moves.moved_bytes < moves.needed_bytes


def test_growth_during_the_copy_must_fit_as_well():
    rate = 10 * MIB
    quiet = directory(1, "/d2", 690 * MIB)
    parts = [OTHER_BROKER, *sized("t", 155 * MIB)]
    assert moved(plan(quiet, *parts, log_dir_throttle_bytes_per_s=rate))
    busy = replace(quiet, growth_bytes_per_s=1.0 * MIB)
    assert vetoed(plan(busy, *parts, log_dir_throttle_bytes_per_s=rate)) == ["destination_would_overflow"]


def test_what_the_replica_itself_grows_meanwhile_must_fit_as_well():
    """At worst all growth of its directory is its own: 155 MiB at 10 MiB/s, written at 1 MiB/s meanwhile."""
    rate = 10 * MIB
    parts = [directory(1, "/d2", 690 * MIB), OTHER_BROKER, *sized("t", 155 * MIB)]
    source = replace(FULL, growth_bytes_per_s=1.0 * MIB)
    found = facts(source, *parts)
    assert vetoed(plan_moves(source, found, policy(disk_bandwidth_bytes_per_s=rate + MIB))) == [
        "destination_would_overflow"
    ]


def test_while_a_directory_of_the_broker_is_offline_nothing_moves():
    moves = plan(directory(1, "/d2"), offline(1, "/d3"), OTHER_BROKER, *sized("t", 200 * MIB))
    assert vetoed(moves) == ["log_dir_offline"]


def test_while_a_directory_of_the_broker_is_unknown_nothing_moves():
    unknown = directory(1, "/d3", status=LogDirStatus.UNKNOWN)
    assert vetoed(plan(directory(1, "/d2"), unknown, OTHER_BROKER, *sized("t", 200 * MIB))) == ["log_dir_unknown"]


@pytest.mark.parametrize(("listed", "found"), [("/d1, /d2", []), ("/d1,/d2,/d3", ["log_dir_unknown"])])
def test_a_directory_that_left_log_dirs_hinders_no_move(listed, found):
    unknown = directory(1, "/d3", status=LogDirStatus.UNKNOWN)
    configured = broker(1, **{"log.dirs": listed})
    assert vetoed(plan(directory(1, "/d2"), unknown, configured, OTHER_BROKER, *sized("t", 200 * MIB))) == found


def test_a_throttle_below_the_growth_never_ends():
    source = replace(FULL, growth_bytes_per_s=20.0 * MIB)
    found = facts(source, directory(1, "/d2"), OTHER_BROKER, *sized("t", 200 * MIB))
    slow = policy(disk_bandwidth_bytes_per_s=30 * MIB)
    assert vetoed(plan_moves(source, found, slow)) == ["slower_than_writes"]
    assert vetoed(plan_moves(source, found, policy(log_dir_throttle_bytes_per_s=10 * MIB))) == [], "it may be raised"


@pytest.mark.parametrize(
    ("other", "veto"),
    [
        (directory(1, "/d2", 10 * MIB, is_cordoned=True), "destination_cordoned"),
        (directory(1, "/d2", 10 * MIB, is_marked=True), "destination_marked"),
        (directory(1, "/d2", 850 * MIB), "same_volume"),
        (directory(1, "/d2", 840 * MIB), "destination_would_overflow"),
        (directory(1, "/d2", used=None), "destination_space_unknown"),
    ],
)
def test_a_directory_that_cannot_take_it_is_named_with_the_reason(other, veto):
    assert vetoed(plan(other, OTHER_BROKER, *sized("t", 200 * MIB))) == [veto]


@pytest.mark.parametrize(
    ("parts", "limits", "veto"),
    [
        ([topic("__consumer_offsets", (1, 2)), replica(1, "/d1", "__consumer_offsets")], {}, "internal_topic"),
        ([topic("t", (1, 2), is_internal=True), replica(1, "/d1", "t")], {}, "internal_topic"),
        ([topic("t", (1, 2)), replica(1, "/d1", "t")], {"never_touch": ("t",)}, "never_touch"),
        ([topic("t" * 215, (1, 2)), replica(1, "/d1", "t" * 215)], {}, "name_too_long"),
        (
            [topic("t", (1, 2)), replica(1, "/d1", "t"), replica(1, "/d2", "t", size=MIB, is_future=True)],
            {},
            "partition_moving",
        ),
    ],
)
def test_a_replica_that_may_not_move_is_left_with_the_reason(parts, limits, veto):
    assert vetoed(plan(directory(1, "/d2", 10 * MIB), OTHER_BROKER, *parts, **limits)) == [veto]


def test_the_longest_topic_name_that_kafka_can_move_is_moved():
    name = "t" * (255 - len("-0") - len(".") - 32 - len("-future"))
    moves = plan(directory(1, "/d2", 10 * MIB), OTHER_BROKER, topic(name, (1, 2)), replica(1, "/d1", name))
    assert moved(moves) == {f"{name}-0": "/d2"}


def test_below_the_target_nothing_is_moved():
    source = directory(1, "/d1", 600 * MIB)
    found = facts(source, directory(1, "/d2"), *sized("t", 200 * MIB))
    assert vetoed(plan_moves(source, found, policy())) == ["below_target"]


def test_what_the_directory_will_still_receive_counts_against_it():
    source = directory(1, "/d1", 650 * MIB, incoming_bytes=200 * MIB)
    found = facts(source, directory(1, "/d2", 10 * MIB), OTHER_BROKER, *sized("t", 160 * MIB))
    assert moved(plan_moves(source, found, policy())) == {"t-0": "/d2"}


def test_bytes_promised_to_other_actions_are_not_free():
    source = FULL
    other = directory(1, "/d2", 100 * MIB)
    found = facts(source, other, OTHER_BROKER, *sized("t", 200 * MIB), reserved={(1, "/d2"): SIZE * 6 // 10})
    assert vetoed(plan_moves(source, found, policy())) == ["destination_would_overflow"]


def test_a_topic_that_waits_for_a_retention_cut_is_not_moved():
    found = facts(FULL, directory(1, "/d2"), OTHER_BROKER, *sized("t", 200 * MIB), cutting=frozenset({"t"}))
    assert vetoed(plan_moves(FULL, found, policy())) == ["retention_waits"]


def test_the_way_back_names_the_directory_it_came_from():
    moves = plan(directory(1, "/d2"), OTHER_BROKER, *sized("t", 200 * MIB))
    assert [a.log_dirs for a in moves.before] == [("/d1", "any")]


def test_what_another_action_reassigns_is_left_to_it():
    parts = [FULL, directory(1, "/d2"), OTHER_BROKER, *sized("t", 200 * MIB, 190 * MIB)]
    assert moved(plan_moves(FULL, facts(*parts), policy())) == {"t-1": "/d2"}
    claimed = facts(*parts, claimed=frozenset({("t", 1)}))
    assert moved(plan_moves(FULL, claimed, policy())) == {"t-0": "/d2"}
    both = facts(*parts, claimed=frozenset({("t", 0), ("t", 1)}))
    assert vetoed(plan_moves(FULL, both, policy())) == ["partition_claimed"] * 2


def test_copies_on_their_way_to_a_destination_take_their_room_there():
    on_its_way = [
        topic("u", (1,)),
        replica(1, "/d3", "u", size=400 * MIB),
        replica(1, "/d2", "u", size=50 * MIB, is_future=True),
    ]
    parts = [FULL, directory(1, "/d2", 440 * MIB), OTHER_BROKER, *sized("t", 200 * MIB)]
    assert moved(plan_moves(FULL, facts(*parts), policy())) == {"t-0": "/d2"}
    full = facts(*parts, directory(1, "/d3", 845 * MIB), *on_its_way)
    assert vetoed(plan_moves(FULL, full, policy())) == ["destination_would_overflow"] * 2
    counted = facts(*parts[:1], directory(1, "/d2", 440 * MIB, incoming_bytes=350 * MIB), *parts[2:])
    assert vetoed(plan_moves(FULL, counted, policy())) == ["destination_would_overflow"]


def test_one_that_is_too_late_moves_only_where_no_other_is_in_time():
    source = replace(FULL, growth_bytes_per_s=0.1 * MIB)
    slow = policy(disk_bandwidth_bytes_per_s=int(0.35 * MIB))
    late, quick = 400 * MIB, 90 * MIB
    both = facts(source, directory(1, "/d2"), OTHER_BROKER, *sized("t", late, quick))
    assert moved(plan_moves(source, both, slow)) == {"t-1": "/d2"}
    alone = facts(source, directory(1, "/d2"), OTHER_BROKER, *sized("t", late))
    assert moved(plan_moves(source, alone, slow)) == {"t-0": "/d2"}


SECOND_MS = 1000


def outlook(mib_per_s, full_in_s=None):
    """What detect forecasts of a directory that grows by ``mib_per_s``."""
    at_ms = None if full_in_s is None else NOW_MS + full_in_s * SECOND_MS
    return {"lasting_growth_bytes_per_s": mib_per_s * MIB, "full_at_ms": at_ms, "sample_at_ms": NOW_MS}


@pytest.mark.parametrize(
    ("case", "source", "emptier", "calm", "taken"),
    [
        # 151 MiB leave at 1 MiB/s; /d2 holds 300 of 1000 MiB, /d3 600. At 0.01 MiB/s the source has 15,000 s.
        ("none of them grows", 0.01, {}, {}, {"/d2"}),
        ("it is full sooner", 0.01, {"growth_bytes_per_s": 2.0 * MIB}, {}, {"/d3"}),
        ("it is full sooner than a source that fills fast", 1.0, {"growth_bytes_per_s": 5.0 * MIB}, {}, {"/d3"}),
        ("it is full, but later", 1.0, {"growth_bytes_per_s": 1.0 * MIB}, {}, {"/d2"}),
        ("its growth does not last", 0.01, {"growth_bytes_per_s": 2.0 * MIB} | outlook(0.0), {}, {"/d2"}),
        ("it lasts, and is forecast to fill it sooner", 0.01, outlook(0.005, 10_000), {}, {"/d3"}),
        ("it lasts, and is forecast to fill it later", 0.01, outlook(0.005, 140_000), {}, {"/d2"}),
        ("it shrinks", 0.01, {"growth_bytes_per_s": -2.0 * MIB}, {}, {"/d2"}),
        ("its growth is not known", 0.01, {"growth_bytes_per_s": None}, {}, {"/d2"}),
        ("what is not going to be full is left behind in the end", 0.0, {"growth_bytes_per_s": 3.0 * MIB}, {}, {"/d3"}),
        ("it is full within a day", 0.0, {"growth_bytes_per_s": 0.5 * MIB}, {}, {"/d3"}),
        ("it is full before there is time to add room", 0.0, {"growth_bytes_per_s": 0.005 * MIB}, {}, {"/d3"}),
        ("it is full, but later than that", 0.0, {"growth_bytes_per_s": 0.003 * MIB}, {}, {"/d2"}),
        ("all copies take so long that it overflows", 0.0, {"growth_bytes_per_s": 4.0 * MIB}, {}, {"/d3"}),
        ("both are full sooner", 0.01, {"growth_bytes_per_s": 2.0 * MIB}, {"growth_bytes_per_s": 1.0 * MIB}, set()),
    ],
)
def test_a_destination_is_judged_by_where_it_will_be(case, source, emptier, calm, taken):
    full = replace(FULL, growth_bytes_per_s=source * MIB)
    parts = sized("t", 60 * MIB, 60 * MIB, 60 * MIB)
    found = facts(
        full,
        directory(1, "/d2", 300 * MIB, **emptier),
        directory(1, "/d3", 600 * MIB, **calm),
        OTHER_BROKER,
        *parts,
        growth={((1, "/d1"), ("t", n)): 0.0 for n in range(3)},
    )
    moves = plan_moves(full, found, policy(log_dir_throttle_bytes_per_s=MIB, disk_bandwidth_bytes_per_s=20 * MIB))
    assert set(moved(moves).values()) == taken, case
    if not taken:
        assert vetoed(moves) == ["destination_full_sooner", "destination_full_sooner"]
