"""A plan's operation moves what its files say, in their order, under throttles that hold for all of it."""

import pytest

from logdirwatch.execute.step_kinds.move import Move
from logdirwatch.execute.step_kinds.throttle import Throttle
from logdirwatch.execute.steps import steps_of
from logdirwatch.model.vocabulary import FOLLOWER_THROTTLE, LOG_DIR_THROTTLE, THROTTLED_FOLLOWERS
from logdirwatch.plan.balance.files import operations, reassignment, steps
from logdirwatch.plan.commands.operations import as_data, limits_of, plan_of
from logdirwatch.plan.commands.throttles import Limits, joined
from tests.unit.plan.balance.builders import at, cluster, planned

MIXED = cluster(
    at(1, "/a", t0=200, t1=200, t2=200, t3=200),
    at(1, "/b"),
    at(2, "/a", rack="r1"),
    at(2, "/b", t4=20, rack="r1"),
)


def mixed():
    return planned(MIXED, "balance-all", log_dir_throttle_bytes_per_s=1, replication_throttle_bytes_per_s=1)


def test_the_operation_makes_the_moves_of_the_files_in_their_order():
    (found,), waves = operations(mixed()), steps(mixed())["waves"]
    assert len(waves) > 1
    there = plan_of(found.args)
    assert there == reassignment(mixed())
    ordered = [
        (entry["topic"], entry["partition"], entry["log_dirs"][copy.replica], copy.bytes)
        for copy in found.args.rolling.copies
        for entry in [there["partitions"][copy.partition]]
    ]
    assert ordered == [
        (move["topic"], move["partition"], move["to_log_dir"], move["size_bytes"])
        for wave in waves
        for move in wave["moves"]
    ]


def test_the_way_back_has_the_opposite_order_and_the_directories_that_replicas_left():
    (one,) = operations(planned(cluster(at(1, "/a", t0=200, t1=200), at(1, "/b")), "balance-disks"))
    ((there,), (back,)) = (plan_of(args)["partitions"] for args in (one.args, one.inverse.args))
    assert (there["replicas"], there["log_dirs"], back["log_dirs"]) == ([1], ["/b"], ["/a"])
    assert (there["topic"], there["partition"]) == (back["topic"], back["partition"])
    (found,) = operations(mixed())
    assert found.inverse.args.rolling.copies == found.args.rolling.copies[::-1]


def test_the_room_is_what_is_left_before_and_after_it():
    (one,) = operations(planned(cluster(at(1, "/a", t0=200, t1=200), at(1, "/b")), "balance-disks"))
    before, after = ({each.log_dir: each.bytes for each in args.rolling.room} for args in (one.args, one.inverse.args))
    assert (before, after) == ({"/a": 450, "/b": 850}, {"/a": 650, "/b": 650})


def test_all_throttles_are_set_first():
    (found,) = operations(mixed())
    assert [type(step) for step in steps_of(as_data([found]), back=False)] == [Throttle, Move]
    assert steps_of(as_data([found]), back=True)[0] == steps_of(as_data([found]), back=False)[0]
    limits = limits_of(found.args)
    assert {key for rates in limits.brokers.values() for key in rates} == {LOG_DIR_THROTTLE, FOLLOWER_THROTTLE}


def test_lists_of_throttled_replicas_get_every_entry():
    one, two = (
        Limits({1: {LOG_DIR_THROTTLE: 5}}, {"t": {THROTTLED_FOLLOWERS: text}}) for text in ("0:1,1:1", "1:1,2:3")
    )
    assert joined([one, two]) == Limits({1: {LOG_DIR_THROTTLE: 5}}, {"t": {THROTTLED_FOLLOWERS: "0:1,1:1,2:3"}})


@pytest.mark.parametrize("size", [200, 255, 257, 511, 70_001, (1 << 36) + 12_345])
def test_the_sizes_of_many_copies_are_rounded_up_and_still_fit_in_their_order(size, monkeypatch):
    monkeypatch.setattr("logdirwatch.plan.balance.files.EXACT_COPIES", 0)
    plan = planned(
        cluster(at(1, "/a", capacity=5 * size, t0=size, t1=size, t2=size), at(1, "/b", capacity=5 * size)),
        "balance-disks",
    )
    (one,) = operations(plan)
    for args in (one.args, one.inverse.args):
        here = plan_of(one.args if args is one.inverse.args else one.inverse.args)["partitions"]
        room = {each.log_dir: each.bytes for each in args.rolling.room}
        for copy in args.rolling.copies:
            target = plan_of(args)["partitions"][copy.partition]["log_dirs"][copy.replica]
            assert size <= copy.bytes <= size * 1.01
            assert copy.bytes <= room[target]
            room[target] -= copy.bytes
            room[here[copy.partition]["log_dirs"][copy.replica]] += copy.bytes
