"""The journal's form of large plans: nothing is lost, 100,000 partitions are one record that Kafka takes."""

import random
import zlib

import msgspec
import pytest
from msgspec.structs import replace

from logdirwatch.execute import changes, journal, packing
from logdirwatch.execute.begin import begun, planned, undone
from logdirwatch.execute.packing import packed, unpacked
from logdirwatch.execute.steps import steps_of
from logdirwatch.model.actions.operations import Rolling, RollingCopy, Room
from logdirwatch.plan.cluster.assignment import ANY, Assignment, to_json
from logdirwatch.plan.commands import operations
from logdirwatch.plan.commands.operations import as_data, from_record
from logdirwatch.plan.commands.throttles import Limit, Limits, joined, of_copies, of_plan, within_brokers
from tests.unit.plan.builders import NOW_MS

RATE, LARGE = 50_000_000, 2_000


def plan(count, *, two_of_a_partition=0.1, topics=2_000, brokers=100, dirs=10, seed=1):
    """A plan in an order: replicas of three, mostly one of them moves, at random, each of another size."""
    draw = random.Random(seed)
    names = [
        f"team-{draw.randrange(60)}.{draw.choice(('orders', 'clicks'))}.{draw.randrange(10**6)}" for _ in range(topics)
    ]
    keys = [(name, number) for name in names for number in range(count // topics)]
    draw.shuffle(keys)
    there, here, copies = [], [], []
    for key in keys:
        nodes = draw.sample(range(1, brokers + 1), 5)
        moved = draw.sample(range(3), 2 if draw.random() < two_of_a_partition else 1)
        target, before, after = nodes[:3], [ANY] * 3, [ANY] * 3
        for new, at in enumerate(moved, 3):
            target[at] = nodes[new]
            before[at], after[at] = (f"/var/lib/kafka/data-{draw.randrange(dirs)}" for _ in range(2))
            size_bytes = draw.randrange(128, 256) << draw.randrange(20, 32)
            copies.append(RollingCopy(partition=len(here), replica=at, bytes=size_bytes))
        here.append(Assignment(*key, tuple(nodes[:3]), tuple(before)))
        there.append(Assignment(*key, tuple(target), tuple(after)))
    return there, here, copies


def rolled(there, here, copies, limits=None):
    named = [Room(broker=1, log_dir="/var/lib/kafka/data-1", bytes=7)]
    ways = tuple(
        Rolling(copies=one, room=named, log_dir_bytes_per_s=RATE, replication_bytes_per_s=RATE)
        for one in (copies, copies[::-1])
    )
    of_sides = joined(of_plan(to_json(side), log_dir_rate=None, rate=RATE) for side in (there, here))
    limits = of_sides if limits is None else limits
    return operations.reassign(
        to_json(there), to_json(here), "f", limits=limits, back=limits, rolling=ways, settle_ms=60_000
    )


def moves(replicas=3, paths=True, entries="text"):
    """Moves that begin at once, of partitions that need not have directories."""
    pairs = [
        [
            Assignment("t", number, found[:replicas], ("/a",) * replicas if paths else (ANY,) * replicas)
            for number in range(LARGE)
        ]
        for found in ((4, 2, 3), (1, 2, 3))
    ]
    arriving = [("t", number, broker) for number in range(LARGE) for broker in (4, 10 + number % 3)]
    limits = {
        "text": of_plan(to_json(pairs[0]), log_dir_rate=RATE, rate=RATE),
        "others": of_copies(arriving, (), RATE),
        "some": of_copies(arriving[::4], [("t", number, 2) for number in range(0, LARGE, 3)], RATE),
        "within": within_brokers({1, 2}, RATE),
        "all": Limits({}, {"t": {"follower.replication.throttled.replicas": "*"}}),
        "none": Limits(),
    }[entries]
    return operations.reassign(to_json(pairs[0]), to_json(pairs[1]), "f", limits=limits, back=limits)


def without_dirs():
    data = as_data([moves()])[0]
    for plan_ in (data["args"], data["inverse"]["args"], data["expect_before"], data["expect_after"]):
        for one in plan_["reassignment"]["partitions"][::2]:
            one.pop("log_dirs")
    return from_record([data])[0]


def grown():
    here = [Assignment("t", number, (1, 2), (ANY, ANY)) for number in range(LARGE)]
    there = [Assignment("t", number, (1, 2, 3 + number % 5), (ANY,) * 3) for number in range(LARGE)]
    return operations.reassign(to_json(there), to_json(here), "f", limits=Limits(), back=Limits())


def upside_down():
    """An undo that names the partitions in another order."""
    there = [Assignment("t", number, (2, 1), (ANY, ANY)) for number in range(LARGE)]
    here = [Assignment("t", number, (1, 2), (ANY, ANY)) for number in reversed(range(LARGE))]
    limits = of_plan(to_json(there), log_dir_rate=None, rate=RATE)
    return operations.reassign(to_json(there), to_json(here), "f", limits=limits, back=limits)


def cancelling():
    there, here, _ = plan(LARGE, topics=10)
    return operations.cancel_moves(to_json(there), to_json(there), to_json(here), "f", again=Limits())


CUTS = [operations.topic_config(f"t{number}", "retention.ms", "5", now="9", old=None) for number in range(LARGE)]
ELECTION = {"partitions": [{"topic": "t", "partition": number} for number in range(4 * LARGE)]}
FORMS = {
    "in an order": lambda: [rolled(*plan(LARGE, topics=10))],
    "two replicas of every partition": lambda: [rolled(*plan(LARGE, topics=10, two_of_a_partition=1))],
    "of one topic": lambda: [rolled(*plan(LARGE, topics=1))],
    "without throttles": lambda: [rolled(*plan(LARGE, topics=10), limits=Limits())],
    "lists of replicas as text": lambda: [moves()],
    "lists of other replicas": lambda: [moves(entries="others")],
    "lists of some replicas": lambda: [moves(entries="some")],
    "a list of all replicas": lambda: [moves(entries="all")],
    "rates only": lambda: [moves(entries="within")],
    "no directories": lambda: [moves(paths=False, entries="none")],
    "directories of some partitions": lambda: [without_dirs()],
    "one replica": lambda: [moves(replicas=1)],
    "more replicas than before": lambda: [grown()],
    "another order of the undo": lambda: [upside_down()],
    "a cancellation": lambda: [cancelling()],
    "cuts": lambda: CUTS,
    "an election": lambda: [operations.elect_leaders(ELECTION, "f")],
    "several operations": lambda: [moves(), CUTS[0], rolled(*plan(LARGE, topics=10)), cancelling()],
}


@pytest.mark.parametrize("form", FORMS)
def test_what_is_packed_is_unpacked_as_it_was(form):
    data = as_data(FORMS[form]())
    found = packed(data)
    assert len(msgspec.json.encode(found)) < len(msgspec.json.encode(data)) / 4
    assert as_data(unpacked(found)) == data
    assert [one["op"] for one in found] == ["packed"], "journals have it"


def test_what_is_small_stays_as_it_is():
    data = as_data(CUTS[:2])
    assert packed(data) == data


@pytest.mark.parametrize(
    "damaged", [lambda text: "", lambda text: "no base64!", lambda text: text[: len(text) // 8 * 4]]
)
def test_what_is_damaged_is_no_operation(damaged):
    text = packed(as_data([moves()]))[0]["columns"]
    with pytest.raises(operations.NOT_KNOWN):
        steps_of([{"op": "packed", "columns": damaged(text)}], back=False)


ACTION = planned("c", [rolled(*plan(LARGE, topics=10))], "why", {}, NOW_MS)


@pytest.fixture(scope="module")
def record():
    return begun(ACTION, "me", NOW_MS)


class TestTheRecordOfALongPlan:
    def test_leads_to_the_same_steps(self, record):
        for back in (False, True):
            assert steps_of(record.operations, back=back) == steps_of(ACTION.operations, back=back)

    def test_tells_what_has_changed_by_numbers(self, record):
        ours = frozenset(packing.long_plan(record.operations).places[3:700]) | {
            ("t", 0),
            ("topics", "t", "retention.ms"),
        }
        changed = changes.written(ours, record.operations)
        assert changed == {"#": "3-699", "t": "0", "topics t retention.ms": ""}
        assert changes.changed(replace(record, changed=changed)) == ours
        assert changes.begun(replace(record, begun=changed)) == ours
        back = undone([replace(record, changed=changed)], "me", NOW_MS)
        assert changes.changed(back) == ours

    def test_tells_its_own_throttles_without_their_values(self, record):
        ours = [*steps_of(record.operations, back=False)[0].limits, Limit("topics", "t", "k", "v")]
        written = changes.with_limits(record, ours)
        assert {one.value for one in written.limits} == {"#", "v"}
        assert changes.limits(written) == ours
        part = ours[0]._replace(value="1")
        assert changes.limits(changes.with_limits(record, [part])) == [part]


def test_a_plan_of_20_000_partitions_is_a_fifth_of_a_record():
    """``bench/bench_journal.py`` has one of 100,000, which takes a minute."""
    large = packed(as_data([rolled(*plan(20_000))]))
    assert len(zlib.compress(msgspec.json.encode(large))) < journal.MOST_BYTES / 5


def test_a_plan_that_kafka_would_not_take_is_one_line(record, monkeypatch):
    assert journal.reason_against(record) is None
    monkeypatch.setattr(journal, "MOST_BYTES", 10_000)
    reason = journal.reason_against(record)
    assert reason.startswith("the plan is too large for one record of logdir.executions: ")
    assert reason.endswith("Nothing was changed; plan less at once: a larger --tolerance, or one directory")
    assert "\n" not in reason
