"""A plan's operations move what its files say, wave by wave, under throttles that hold for all of them."""

from logdirwatch.execute.step_kinds.move import Move
from logdirwatch.execute.step_kinds.settle import Settle
from logdirwatch.execute.step_kinds.throttle import Throttle
from logdirwatch.execute.steps import steps_of
from logdirwatch.model.vocabulary import FOLLOWER_THROTTLE, LOG_DIR_THROTTLE, THROTTLED_FOLLOWERS
from logdirwatch.plan.balance.files import steps
from logdirwatch.plan.balance.operations import joined, operations
from logdirwatch.plan.commands.operations import as_data, limits_of, plan_of
from logdirwatch.plan.commands.throttles import Limits
from tests.unit.plan.balance.builders import at, cluster, planned

MIXED = cluster(
    at(1, "/a", t0=200, t1=200, t2=200, t3=200),
    at(1, "/b"),
    at(2, "/a", rack="r1"),
    at(2, "/b", t4=20, rack="r1"),
)


def mixed():
    return planned(MIXED, "balance-all")


def test_each_wave_is_an_operation_with_the_same_moves_as_its_file():
    found, waves = operations(mixed()), steps(mixed())["waves"]
    assert len(waves) > 1
    assert [plan_of(one.args)["partitions"] for one in found] == [wave["reassignment"]["partitions"] for wave in waves]


def test_the_way_back_names_the_directories_that_replicas_left():
    found = planned(cluster(at(1, "/a", t0=200, t1=200), at(1, "/b")), "balance-disks")
    (one,) = operations(found)
    ((there,), (back,)) = (plan_of(args)["partitions"] for args in (one.args, one.inverse.args))
    assert (there["replicas"], there["log_dirs"], back["log_dirs"]) == ([1], ["/b"], ["/a"])
    assert (there["topic"], there["partition"]) == (back["topic"], back["partition"])


def test_all_throttles_are_set_first_and_each_wave_waits_for_deletions():
    found = steps_of(as_data(operations(mixed())), back=False)
    assert [type(step) for step in found] == [Throttle, Move, *([Settle, Move] * (len(steps(mixed())["waves"]) - 1))]
    limits = limits_of(operations(mixed())[0].args)
    assert {key for rates in limits.brokers.values() for key in rates} == {LOG_DIR_THROTTLE, FOLLOWER_THROTTLE}
    back = steps_of(as_data(operations(mixed())), back=True)
    assert [type(step) for step in back] == [type(step) for step in found]
    assert back[0] == found[0]


def test_lists_of_throttled_replicas_get_every_entry():
    one, two = (
        Limits({1: {LOG_DIR_THROTTLE: 5}}, {"t": {THROTTLED_FOLLOWERS: text}}) for text in ("0:1,1:1", "1:1,2:3")
    )
    assert joined([one, two]) == Limits({1: {LOG_DIR_THROTTLE: 5}}, {"t": {THROTTLED_FOLLOWERS: "0:1,1:1,2:3"}})
