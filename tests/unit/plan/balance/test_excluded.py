"""What of a real cluster takes no part in a plan, and the reason an operator is given."""

from dataclasses import replace

import pytest

from logdirwatch.model.vocabulary import BrokerStatus
from logdirwatch.plan.balance.from_snapshot import grouped, is_out, left_out, placed, why_staying
from logdirwatch.plan.balance.summary import LeftOut
from logdirwatch.plan.proposal import Veto
from tests.unit.plan import builders
from tests.unit.plan.builders import MIB, NOW_MS, broker, facts, offline, policy, replica, topic

MAX_AGE_MS = policy().facts_max_age_ms


def directory(number=1, path="/d1", used=100 * MIB, **fields):
    return builders.directory(number, path, used, **{"sample_at_ms": NOW_MS, **fields})


def reasons(*parts, emptied=None, **fields):
    found = left_out(facts(*parts, **fields), policy(), NOW_MS, emptied)
    return {(one.broker, one.log_dir): one.reason for one in found}


def test_a_broker_of_which_nothing_is_known_is_left_out():
    snapshot = facts(directory(1), directory(2))
    snapshot = replace(snapshot, brokers={2: snapshot.brokers[2]})
    (found,) = left_out(snapshot, policy(), NOW_MS, None)
    assert found == LeftOut(broker=1, log_dir=None, reason="nothing is known of broker 1")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"is_cordoned": True, "is_marked": True}, "it is cordoned: it takes no new replica"),
        ({"used": 0, "total": 0}, "the free space of /d2 is not known"),
        ({"sample_at_ms": NOW_MS - MAX_AGE_MS}, None),
        ({"sample_at_ms": NOW_MS - MAX_AGE_MS - 1_000}, "the numbers of /d2 are"),
        ({"sample_at_ms": NOW_MS + MAX_AGE_MS}, None),
        ({"sample_at_ms": NOW_MS + MAX_AGE_MS + 1_000}, "the numbers of /d2 are"),
    ],
)
def test_a_directory_is_left_out_alone(fields, reason):
    found = reasons(directory(), directory(1, "/d2", **({"used": 200 * MIB} | fields)))
    assert list(found) == ([] if reason is None else [(1, "/d2")])
    assert reason is None or found[1, "/d2"].startswith(reason)


def test_numbers_that_are_ahead_say_so_and_old_ones_too():
    ahead, old = NOW_MS + MAX_AGE_MS + 1_000, NOW_MS - MAX_AGE_MS - 1_000
    assert reasons(directory(sample_at_ms=ahead))[1, "/d1"].endswith(" ahead of the clock")
    assert reasons(directory(sample_at_ms=old))[1, "/d1"].endswith(" old")


def test_brokers_and_directories_are_in_order():
    parts = [directory(n, path, used=None) for n in (2, 1) for path in ("/d2", "/d1")]
    assert list(reasons(*parts)) == [(1, "/d1"), (1, "/d2"), (2, "/d1"), (2, "/d2")]


@pytest.mark.parametrize(
    ("place", "out"), [((1, "/a"), True), ((1, "/b"), False), ((2, "/a"), True), ((2, "/z"), True), ((3, "/a"), False)]
)
def test_a_directory_is_out_itself_or_with_its_broker(place, out):
    left = [LeftOut(broker=1, log_dir="/a", reason=""), LeftOut(broker=2, log_dir=None, reason="")]
    assert is_out(place, left) is out


WHOLE = [directory(1), directory(2), replica(1, "/d1", "t"), replica(2, "/d1", "t")]


@pytest.mark.parametrize(
    ("parts", "fields", "why"),
    [
        ([*WHOLE, topic("t", [1, 2])], {}, None),
        ([*WHOLE, topic("t", [1, 2], reassigned=[0])], {}, "partition_moving"),
        ([*WHOLE, topic("t", [1, 2])], {"claimed": frozenset({("t", 0)})}, "partition_claimed"),
        ([*WHOLE, topic("t", [1, 2])], {"cutting": frozenset({"t"})}, "retention_waits"),
        ([*WHOLE, topic("t", [1, 2]), broker(2, BrokerStatus.OFFLINE)], {}, "broker_not_alive"),
        ([*WHOLE, topic("t", [1, 2, 3]), directory(3)], {}, "placement_unknown"),
        ([*WHOLE[:3], replica(2, "/d1", "t", size=None), topic("t", [1, 2])], {}, "placement_unknown"),
        ([*WHOLE[:3], replica(2, "/gone", "t"), topic("t", [1, 2])], {}, "placement_unknown"),
    ],
)
def test_what_keeps_a_partition_where_it_is(parts, fields, why):
    snapshot = facts(*parts, **fields)
    (partition,) = snapshot.partitions.values()
    settled = replace(partition, adding=(), removing=())
    for is_balance in (True, False):
        found = why_staying(partition if partition.is_reassigned else settled, snapshot, is_balance=is_balance)
        assert (None if found is None else found.name) == why


@pytest.mark.parametrize("how", ["directory", "metadata"])
def test_an_offline_replica_keeps_a_partition_from_being_balanced_but_not_from_being_evacuated(how):
    made = topic("t", [1, 2])
    if how == "metadata":
        made = replace(made, partitions=(replace(made.partitions[0], offline_replicas=(2,)),))
        parts = WHOLE
    else:
        parts = [WHOLE[0], offline(2, "/d1"), *WHOLE[2:]]
    snapshot = facts(*parts, made)
    partition = replace(snapshot.partitions["t", 0], adding=(), removing=())
    found = why_staying(partition, snapshot, is_balance=True)
    assert (found.name, "on broker 2" in found.reason) == ("replica_offline", True)
    assert why_staying(partition, snapshot, is_balance=False) is None


def test_replicas_are_in_the_order_of_preference():
    snapshot = facts(*WHOLE, topic("t", [2, 1]))
    assert [one.broker for one in placed(snapshot.partitions["t", 0], snapshot)] == [2, 1]


def test_an_empty_replica_is_placed():
    snapshot = facts(*WHOLE[:2], replica(1, "/d1", "t", size=0), topic("t", [1]))
    assert [one.size_bytes for one in placed(snapshot.partitions["t", 0], snapshot)] == [0]


def test_reasons_are_counted_by_their_kind_the_most_frequent_first():
    vetoes = [Veto("rare", "a"), Veto("often", "b"), Veto("often", "c")]
    found = grouped(iter(vetoes))
    assert [(one.why, one.partitions, one.reason) for one in found] == [("often", 2, "b"), ("rare", 1, "a")]
