"""Which replicas leave a filling directory for other brokers, how many bytes, and why others stay."""

import pytest

from logdirwatch.plan.reassignment.between_brokers import is_behind, plan_offload, settles_ms
from logdirwatch.plan.reassignment.replacement_replicas import Repair
from tests.unit.plan.builders import MIB, directory, facts, policy, replica, slowly, topic

FULL = directory(1, "/d1", 850 * MIB)
OTHERS = [directory(2, "/d1", 300 * MIB), directory(3, "/d1", 200 * MIB)]


def holding(*sizes, name="t", **fields):
    """A topic with partitions on brokers 1 and 2 of these sizes, in MiB."""
    parts = [topic(name, *[(1, 2)] * len(sizes), **fields)]
    for number, size in enumerate(sizes):
        parts += [replica(broker, "/d1", name, number, size * MIB) for broker in (1, 2)]
    return parts


def offloaded(*parts, needed=100, taken=(), source=FULL, limits=None, **fields):
    snapshot = facts(source, *OTHERS, *parts, **fields)
    return plan_offload(source, snapshot.without(taken), policy(**(limits or {})), needed * MIB)


def placed(found):
    return [] if found.repair is None else sorted(a.label for a in found.repair.assignments)


def why(found):
    return [veto.name for veto in found.vetoes]


@pytest.mark.parametrize(
    ("sizes", "needed", "goes"),
    [
        ((200, 90), 80, ["t-1"]),  # the smallest that alone is enough
        ((200, 90), 90, ["t-1"]),
        ((200, 90), 91, ["t-0"]),
        ((200, 90), 201, ["t-0", "t-1"]),
        ((200, 90), 999, ["t-0", "t-1"]),
        ((100, 60, 50), 140, ["t-0", "t-2"]),  # the largest, and then the smallest that is enough
    ],
)
def test_as_little_goes_as_is_needed(sizes, needed, goes):
    found = offloaded(*holding(*sizes), needed=needed)
    assert placed(found) == goes
    assert found.freed_bytes == sum(sizes[int(label[-1])] for label in goes) * MIB
    assert found.vetoes == ()
    assert found.rate > 0


def test_of_equally_large_ones_the_one_that_grows_least_goes():
    parts = holding(100, 100)
    growth = slowly(parts[1], rate=9.0) | slowly(parts[3], rate=1.0)
    assert placed(offloaded(*parts, needed=150, growth=growth)) == ["t-0", "t-1"]
    assert placed(offloaded(*parts, needed=50, growth=growth)) == ["t-1"]
    assert placed(offloaded(*parts, needed=50)) == ["t-0"]


def test_what_another_action_has_taken_stays():
    assert placed(offloaded(*holding(200, 90), needed=80, taken={("t", 1)})) == ["t-0"]


@pytest.mark.parametrize(
    ("parts", "fields", "reasons"),
    [
        ([], {}, ["nothing_to_move"]),
        (holding(0), {}, ["nothing_to_move"]),
        ([replica(1, "/d1", "gone")], {}, ["nothing_to_move"]),
        (holding(90, is_internal=True), {}, ["internal_topic"]),
        (holding(90), {"cutting": frozenset({"t"})}, ["retention_waits"]),
        (holding(90), {"claimed": frozenset({("t", 0)})}, ["partition_claimed"]),
        (holding(90, reassigned=[0]), {}, ["partition_moving"]),
    ],
)
def test_where_nothing_may_go_it_says_why(parts, fields, reasons):
    found = offloaded(*parts, **fields)
    assert (found.repair, found.freed_bytes) == (None, 0)
    assert why(found) == reasons


def test_the_three_most_frequent_reasons_are_given():
    parts = [
        *holding(90, 90, 90, reassigned=[0, 1, 2]),
        *holding(90, name="i", is_internal=True),
        *holding(90, name="c"),
    ]
    found = offloaded(*parts, claimed=frozenset({("c", 0)}))
    assert len(found.vetoes) == 3


def test_where_no_broker_has_room_it_says_why_and_nothing_goes():
    found = offloaded(*holding(900))
    assert placed(found) == []
    assert why(found) != []


def test_what_is_in_sync_goes_before_what_is_behind():
    parts = holding(200, 90, isr={1: [1]})
    assert placed(offloaded(*parts, needed=80)) == ["t-0"]
    assert placed(offloaded(*parts, needed=250)) == ["t-0"]


@pytest.mark.parametrize(("isr", "behind"), [([1, 2, 3], False), ([2, 3], False), ([1, 2], True), ([1], True)])
def test_a_partition_is_behind_when_a_replica_elsewhere_is_out_of_sync(isr, behind):
    snapshot = facts(*OTHERS, FULL, topic("t", (1, 2, 3), isr={0: isr}))
    assert is_behind(snapshot.partitions["t", 0], 1) is behind


def test_the_busiest_broker_bounds_the_rate():
    def repair(per_broker):
        return Repair(assignments=(), before=(), unplaced=(), bytes_in={}, bytes_per_broker=per_broker)

    assert repair({1: 5, 2: 9}).busiest_bytes == 9
    assert repair({}).busiest_bytes == 0


def test_what_passes_beside_the_copying_is_the_tools_wait_and_the_delay_of_the_deletion():
    snapshot = facts(FULL)
    made = policy()
    assert settles_ms(FULL, snapshot, made) == made.tools.settings.timeout_ms + 60_000
