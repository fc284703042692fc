"""A real cluster as a model: what is broken, away, cordoned, moving or not known is left alone, and said."""

from dataclasses import replace

import pytest

from logdirwatch.errors import UserError
from logdirwatch.model.vocabulary import BrokerStatus, LogDirStatus, MetadataMode
from logdirwatch.plan.balance.files import steps
from logdirwatch.plan.balance.from_snapshot import known
from logdirwatch.plan.balance.model.task import Task, parse_mode
from logdirwatch.plan.balance.planner import make_plan
from logdirwatch.plan.balance.summary import summarise
from logdirwatch.plan.settings import PlanSettings
from tests.unit.plan import builders
from tests.unit.plan.balance.builders import layout, moved, used
from tests.unit.plan.builders import MIB, NOW_MS, broker, facts, offline, policy, replica


def directory(number, path, used, **fields):
    """A directory of 1000 MiB whose numbers are new; ``used`` in MiB."""
    return builders.directory(number, path, used * MIB, **{"sample_at_ms": NOW_MS, **fields})


def topic(name, *assignments, **fields):
    """A topic of which it is known that nothing of it is reassigned."""
    made = builders.topic(name, *assignments, **fields)
    return replace(made, partitions=tuple(replace(p, adding=(), removing=()) for p in made.partitions))


def placed(number, path, name, *sizes):
    return [replica(number, path, name, partition, size * MIB) for partition, size in enumerate(sizes)]


ONE_BROKER = [
    directory(1, "/d1", 600),
    directory(1, "/d2", 110),
    topic("t", (1,), (1,), (1,), (1,)),
    *placed(1, "/d1", "t", 100, 100, 100, 200),
]
"""100 MiB of /d1 and 110 MiB of /d2 are explained by no replica."""


def seen(*parts, mode="balance-disks", **fields):
    return known(facts(*parts, **fields), parse_mode(mode), policy(), NOW_MS)


def planned(found, mode="balance-disks", **limits):
    return make_plan(found.model, Task(parse_mode(mode), PlanSettings(**limits)))


def out(found):
    return {(one.broker, one.log_dir): one.reason for one in found.about.left_out}


HOUR = 3600.0


@pytest.mark.parametrize(
    ("mib_an_hour", "more", "most_mib", "is_even"),
    [
        ((0, 0), {}, 310, True),
        ((None, None), {}, 310, True),
        ((0, -20), {}, 310, True),
        ((0, 1), {}, 310, True),
        ((0, 12), {}, 210, False),
        ((0, 20), {}, 110, False),
        ((0, 900), {}, 110, False),
        ((20, 20), {}, 310, True),
        ((900, 900), {}, 310, True),
        ((900, 1000), {}, 310, True),
        ((900, 1700), {}, 110, False),
        ((0, 900), {"lasting_growth_bytes_per_s": 0.0}, 310, True),
    ],
)
def test_balance_does_not_fill_a_directory_that_its_own_growth_is_about_to_fill(mib_an_hour, more, most_mib, is_even):
    rates = [rate and rate * MIB / HOUR for rate in mib_an_hour]
    first = directory(1, "/d1", 600, growth_bytes_per_s=rates[0])
    second = directory(1, "/d2", 110, growth_bytes_per_s=rates[1], **more)
    after = used(planned(seen(first, second, *ONE_BROKER[2:])).after)
    assert after[1, "/d2"] <= (most_mib + 100 * is_even) * MIB
    assert (after[1, "/d2"] >= 310 * MIB) is is_even
    assert sum(after.values()) == 710 * MIB


@pytest.mark.parametrize(
    ("mib_per_s", "fits"), [(None, True), (0, True), (5, True), (20, True), (25, False), (90, False)]
)
def test_an_evacuation_leaves_room_for_what_is_written_meanwhile(mib_per_s, fits):
    second = directory(1, "/d2", 110, growth_bytes_per_s=mib_per_s and float(mib_per_s * MIB))
    mode = "evacuate:1:/d1"
    found = seen(ONE_BROKER[0], second, *ONE_BROKER[2:], mode=mode)
    if fits:
        assert used(planned(found, mode).after)[1, "/d2"] == 610 * MIB
        return
    with pytest.raises(UserError, match="what they grow by meanwhile stays free"):
        planned(found, mode)


def test_what_no_replica_explains_stays_where_it_is_and_counts():
    found = seen(*ONE_BROKER)
    assert used(found.model) == {(1, "/d1"): 600 * MIB, (1, "/d2"): 110 * MIB}
    plan = planned(found)
    assert used(plan.after) == {(1, "/d1"): 400 * MIB, (1, "/d2"): 310 * MIB} or used(plan.after) == {
        (1, "/d1"): 300 * MIB,
        (1, "/d2"): 410 * MIB,
    }
    assert summarise(plan).violations.directories_over_limit == 0


def test_a_partition_keeps_its_order_its_leader_and_its_racks():
    parts = [
        directory(1, "/d1", 300),
        directory(2, "/d1", 301),
        broker(1, rack="a"),
        broker(2, rack="b"),
        topic("t", (2, 1)),
        *placed(1, "/d1", "t", 300),
        *placed(2, "/d1", "t", 301),
    ]
    model = seen(*parts).model
    assert layout(model) == {("t", 0): [(2, "/d1", 301 * MIB), (1, "/d1", 300 * MIB)]}
    assert model.is_leader.tolist() == [True, False]
    assert [model.racks[rack] for rack in model.broker_rack] == ["a", "b"]


@pytest.mark.parametrize(
    ("third", "reason"),
    [
        (directory(1, "/d3", 0, is_cordoned=True), "it is cordoned"),
        (directory(1, "/d3", 0, is_marked=True), "plan.log_dirs says that it is no destination"),
        (directory(1, "/d3", 0, sample_at_ms=NOW_MS - 3_600_000), "the numbers of /d3 are 1 h old"),
        (directory(1, "/d3", 0, sample_at_ms=None), "nobody knows how old"),
        (builders.directory(1, "/d3", None, sample_at_ms=NOW_MS), "the free space of /d3 is not known"),
    ],
    ids=["cordoned", "marked", "old", "of unknown age", "of unknown space"],
)
def test_nothing_is_planned_onto_a_directory_that_may_not_or_of_which_nobody_knows(third, reason):
    found = seen(*ONE_BROKER, third)
    assert list(out(found)) == [(1, "/d3")]
    assert reason in out(found)[1, "/d3"]
    assert all(" 1/d2" in move for move in moved(planned(found)))


def test_a_volume_counts_once():
    on_one = [directory(1, path, 110, volume="sdb1") for path in ("/d2", "/d3")]
    found = seen(*(part for part in ONE_BROKER if getattr(part, "path", None) != "/d2"), *on_one)
    assert out(found) == {(1, "/d3"): "it is on one volume with /d2, which counts for both"}


def test_the_equal_and_empty_disks_of_a_new_broker_all_get_replicas():
    old = [directory(1, f"/d{number}", 300 + number) for number in (1, 2, 3)]
    new = [directory(2, f"/d{number}", 0) for number in (1, 2, 3)]
    sizes = (50,) * 6
    topics = [topic(f"t{number}", *[(1,)] * 6) for number in (1, 2, 3)]
    held = [one for number in (1, 2, 3) for one in placed(1, f"/d{number}", f"t{number}", *sizes)]
    found = seen(*old, *new, *topics, *held, mode="balance-all")
    assert out(found) == {}
    after = used(planned(found, "balance-all").after)
    assert min(after[2, f"/d{number}"] for number in (1, 2, 3)) >= 100 * MIB


def test_two_disks_that_look_alike_are_two_when_they_hold_more_than_one_could_have_in_use():
    found = seen(*ONE_BROKER, directory(1, "/d3", 110), *placed(1, "/d2", "t", 110), *placed(1, "/d3", "u", 110))
    assert out(found) == {}


OF_ZOOKEEPER = {"is_fenced": True, "metadata_mode": MetadataMode.ZOOKEEPER}


@pytest.mark.parametrize(
    ("sick", "reason"),
    [
        ([directory(2, "/d1", 0), broker(2, BrokerStatus.UNKNOWN)], "broker 2 is unknown"),
        ([directory(2, "/d1", 0), broker(2, BrokerStatus.OFFLINE)], "broker 2 is offline"),
        ([directory(2, "/d1", 0), replace(broker(2), is_fenced=True)], "broker 2 is fenced"),
        ([directory(2, "/d1", 0), replace(broker(2, BrokerStatus.OFFLINE), **OF_ZOOKEEPER)], "broker 2 is offline"),
        ([directory(2, "/d1", 0), directory(2, "/d2", 5, status=LogDirStatus.OFFLINE)], "/d2 of broker 2 is offline"),
        ([directory(2, "/d1", 0), directory(2, "/d2", 5, status=LogDirStatus.UNKNOWN)], "/d2 on broker 2 is not known"),
        ([directory(2, "/d1", 0), replace(broker(2), is_suspect=True)], "one of the disks of broker 2 is suspect"),
    ],
)
def test_nothing_is_planned_onto_a_broker_that_is_away_or_sick(sick, reason):
    found = seen(*ONE_BROKER, *sick, mode="balance-all")
    assert list(out(found)) == [(2, None)]
    assert reason in out(found)[2, None]
    assert not any(" 2/" in move for move in moved(planned(found, "balance-all")))


def test_what_moves_or_is_spoken_for_stays_and_what_still_comes_counts():
    moving = replica(1, "/d2", "t", 3, 50 * MIB, is_future=True)
    found = seen(*ONE_BROKER, moving, claimed=frozenset({("t", 0)}), reserved={(1, "/d2"): 100 * MIB})
    assert used(found.model)[1, "/d2"] == (110 + 150 + 100) * MIB
    assert {(group.why, group.partitions) for group in found.about.staying} == {
        ("partition_moving", 1),
        ("partition_claimed", 1),
    }
    assert not {"t0", "t3"} & {move.split()[0] for move in moved(planned(found))}


def test_partitions_with_a_replica_away_offline_or_unplaced_are_not_balanced():
    parts = [
        *ONE_BROKER,
        directory(2, "/d1", 100),
        broker(3, BrokerStatus.OFFLINE),
        topic("away", (1, 3)),
        *placed(1, "/d1", "away", 10),
        topic("lost", (1, 2)),
        *placed(1, "/d1", "lost", 10),
        replica(2, "/d1", "lost", 0, None),
    ]
    found = seen(*parts)
    assert {group.why for group in found.about.staying} == {"broker_not_alive", "placement_unknown"}
    assert {move.split()[0][0] for move in moved(planned(found))} == {"t"}


def test_a_partition_with_a_replica_in_an_offline_directory_is_repaired_first():
    lost = [directory(2, "/d1", 100), offline(2, "/d2"), topic("lost", (1, 2)), *placed(1, "/d1", "lost", 10)]
    found = seen(*ONE_BROKER, *lost, replica(2, "/d2", "lost", 0, 10 * MIB))
    assert {group.why for group in found.about.staying} == {"replica_offline"}


def test_an_evacuation_leaves_the_cordoned_directory_that_it_is_about():
    cordoned = directory(1, "/d1", 600, is_cordoned=True)
    found = seen(*ONE_BROKER[1:], cordoned, directory(1, "/d3", 0), mode="evacuate:1:/d1")
    plan = planned(found, "evacuate:1:/d1")
    told = summarise(plan, found.about)
    assert told.moved.bytes == told.lower_bound.bytes == 500 * MIB
    assert used(plan.after)[1, "/d1"] == 100 * MIB
    assert told.about.left_out == []


def test_the_volume_that_is_emptied_takes_nothing():
    twin = directory(1, "/d3", 600)
    found = seen(*ONE_BROKER, twin, mode="evacuate:1:/d1")
    assert out(found) == {(1, "/d3"): "it lies on the volume that is to be emptied"}


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ([directory(1, "/d1", 600, status=LogDirStatus.OFFLINE), *ONE_BROKER[1:]], "/d1 of broker 1 is offline"),
        ([*ONE_BROKER, directory(1, "/d3", 5, status=LogDirStatus.UNKNOWN)], "/d3 on broker 1 is not known"),
        ([*ONE_BROKER, broker(1, BrokerStatus.UNKNOWN)], "broker 1 is unknown"),
        (
            [builders.directory(1, "/d1", None, sample_at_ms=NOW_MS), *ONE_BROKER[1:]],
            "the free space of /d1 is not known",
        ),
        (
            [directory(1, "/d1", 600, growth_bytes_per_s=6e7), *ONE_BROKER[1:]],
            "below the write rate of its copies",
        ),
        ([*ONE_BROKER, replica(1, "/d2", "t", 0, 5, is_future=True)], "t-0 is being moved between directories"),
        (
            [*ONE_BROKER, replica(1, "/d1", "gone", 7, 5)],
            "gone-7 is there, and the cluster's metadata does not know it",
        ),
    ],
)
def test_an_evacuation_that_is_not_safe_is_refused_in_one_line(parts, reason):
    with pytest.raises(UserError) as refused:
        seen(*parts, mode="evacuate:1:/d1")
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"inventory_at_ms": None}, "no inventory of the cluster has been seen yet"),
        ({"inventory_at_ms": NOW_MS - 3_600_000}, "the last inventory is 1 h old"),
        ({"state_at_ms": NOW_MS - 3_600_000}, "the newest state of a broker is 1 h old"),
    ],
)
def test_old_numbers_are_no_ground_for_a_plan(fields, reason):
    with pytest.raises(UserError, match=reason):
        seen(*ONE_BROKER, **fields)


def test_where_nobody_knows_whether_a_reassignment_runs_nothing_is_planned():
    with pytest.raises(UserError, match="whether a reassignment runs is not known"):
        seen(*ONE_BROKER[:2], builders.topic("t", (1,)), *placed(1, "/d1", "t", 100))


def test_where_no_directory_takes_part_there_is_no_plan():
    with pytest.raises(UserError, match="no directory can take part: it is cordoned"):
        seen(directory(1, "/d1", 600, is_cordoned=True))


def test_the_commands_of_a_plan_set_and_clear_its_throttles_around_those_of_its_waves():
    plan = planned(seen(*ONE_BROKER, mode="evacuate:1:/d1"), "evacuate:1:/d1", log_dir_throttle_bytes_per_s=100_000)
    told = steps(plan, policy().tools)
    ((limit,), (clear,)) = told["commands_before"], told["commands_after"]
    assert "brokers 1 replica.alter.log.dirs.io.max.bytes.per.second=100000" in limit.splitlines()
    assert "--add-config" in limit
    assert "--delete-config" in clear
    assert len(told["waves"]) > 1
    for number, wave in enumerate(told["waves"]):
        write, execute, wait, verify = wave["commands"]
        assert '"log_dirs":["/d2"]' in write
        assert "--execute" in execute
        assert "throttle" not in execute
        assert ("--additional" in execute) is (number > 0), "another wave may still run"
        for command in (wait, verify):
            assert "--verify --preserve-throttles" in command
    without = steps(plan)
    assert "commands" not in without["waves"][0]
    assert "commands_before" not in without


def test_the_plan_s_throttles_are_those_of_its_copies():
    parts = [*ONE_BROKER[:1], directory(2, "/d1", 100), *ONE_BROKER[2:]]
    plan = planned(seen(*parts, mode="balance-all"), "balance-all")
    (limit,) = steps(plan, policy().tools)["commands_before"]
    assert {plan.before.directory_name(move.target)[0] for move in plan.moves} == {2}
    assert "brokers 2 follower.replication.throttled.rate=50000000" in limit
    assert "replica.alter.log.dirs" not in limit


def test_what_is_in_sync_nowhere_else_is_known():
    found = seen(*ONE_BROKER, mode="evacuate:1:/d1").model
    assert found.is_last.all(), "each partition has one replica"
