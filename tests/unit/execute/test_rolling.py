"""A plan is carried out in its order: whatever copies take, no directory is ever over its limit, and all ends there."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from logdirwatch.execute import changes, kernel
from logdirwatch.execute.calls import Do, PlaceReplicas, Reached, Stuck, Wait
from logdirwatch.execute.run import _Run
from logdirwatch.execute.seen import Copy, PartitionSeen, Seen
from logdirwatch.execute.step_kinds.move import Move
from logdirwatch.execute.step_kinds.rolling import Part, Rolling
from logdirwatch.model.vocabulary import ActionKind, ExecutionState
from logdirwatch.plan.balance.files import operations
from logdirwatch.plan.cluster.assignment import Assignment
from tests.simulation.hand.kafka import Kafka
from tests.simulation.hand.run import Schedule, World
from tests.support.properties import examples
from tests.unit.execute.test_run import World as Executed
from tests.unit.plan.balance.builders import layout, planned
from tests.unit.plan.balance.test_properties import BALANCE, LIMIT, clusters


class Uneven(Kafka):
    """A cluster whose copies have rates of their own, unlike those of the plan; it notes the fullest moments."""

    def __init__(self, log_dirs, draw):
        super().__init__(log_dirs)
        self.draw, self.rates, self.fullest = draw, {}, {}

    def copy_rate(self, held, leader):
        return self.rates.setdefault(held, self.draw.choice((2, 5, 20, 100)))

    def within_rate(self, held):
        return self.copy_rate(held, None)

    def tick(self, seconds):
        super().tick(seconds)
        for place in self.log_dirs:
            logs = {
                held for copies in (self.logs, self.futures) for held, log in copies.items() if log.path == place[1]
            }
            whole = sum(self.partitions[held[:2]].size_bytes for held in logs if held[2] == place[0])
            self.fullest[place] = max(whole, self.fullest.get(place, 0))


def carried_out(plan, seed):
    """Carry a plan out without anybody else, and perhaps take it back."""
    model = plan.before
    kafka = Uneven({model.directory_name(d): 10**6 for d in range(len(model.capacity_bytes))}, random.Random(seed))
    for (topic, number), replicas in layout(model).items():
        kafka.create((topic, number), {broker: path for broker, path, _ in replicas}, replicas[0][2])
    made = World(kafka, operations(plan), ActionKind.REASSIGN)
    return Schedule(seed, (), world=lambda _: made), kafka


@given(model=clusters(), seed=st.integers(1, 99), rate=st.sampled_from([1, 50_000_000]))
@examples(15)
def test_every_plan_comes_to_its_end_and_overfills_no_directory(model, seed, rate):
    limits = {"log_dir_throttle_bytes_per_s": rate, "replication_throttle_bytes_per_s": rate}
    plan = planned(model, BALANCE[seed % 3], tolerance=0.05, **limits)
    if not plan.moves:
        return
    schedule, kafka = carried_out(plan, seed)
    ran = schedule.run()
    assert ran.broken == ()
    assert ran.state in {"done", "rolled_back"}
    for (topic, number), replicas in layout(plan.before if schedule.journal[-1].back else plan.after).items():
        held = [(topic, number, broker) for broker, _, _ in replicas]
        assert kafka.partitions[topic, number].replicas == tuple(broker for *_, broker in held)
        assert [kafka.path(one) for one in held] == [path for _, path, _ in replicas]
    most = {
        model.directory_name(d): max(int(LIMIT * int(size)), int(used))
        for d, (size, used) in enumerate(zip(model.capacity_bytes, model.used_bytes, strict=True))
    }
    assert {place: used for place, used in kafka.fullest.items() if used > most[place]} == {}


# -- what may begin: t-0 goes 1:/a to 3:/b and 2:/a to 2:/b, u-0 goes 1:/a to 3:/b; each copy is long

T, U = ("t", 0), ("u", 0)
THERE = {T: Assignment("t", 0, (3, 2), ("/b", "/b")), U: Assignment("u", 0, (3,), ("/b",))}
HERE = {T: Assignment("t", 0, (1, 2), ("/a", "/a")), U: Assignment("u", 0, (1,), ("/a",))}
TO_3, IN_2, U_TO_3 = (*T, 3), (*T, 2), (*U, 3)
TO_B, WITHIN_2 = ((1, "/a"), (3, "/b")), ((2, "/a"), (2, "/b"))
PARTS = (Part(T, 0, 400, *TO_B), Part(T, 1, 400, *WITHIN_2), Part(U, 0, 400, *TO_B))
ROOMY = {(broker, path): 2_000 for broker in (1, 2, 3) for path in ("/a", "/b")}
PLACES = {TO_3: "/b", IN_2: "/a", U_TO_3: "/b", (*T, 1): "/a", (*U, 1): "/a"}


def next_of(*, t=(1, 2), u=(1,), adding=(), room=ROOMY, rate=1, places=(), futures=(), begun=(), silent=(), late=()):
    """Return what is done next: ``t`` and ``u`` are the replicas, ``adding`` and ``late`` are replicas too."""
    partitions = {}
    for key, replicas in ((T, t), (U, u)):
        added = tuple(broker for broker in replicas if (*key, broker) in adding)
        in_sync = tuple(broker for broker in replicas if (*key, broker) not in {*adding, *late})
        removing = (1,) if 3 in added else ()
        partitions[key] = PartitionSeen(replicas, in_sync, added, removing, leader=in_sync[0])
    held = {(*key, broker) for key, partition in partitions.items() for broker in partition.replicas}
    seen = Seen(
        partitions=partitions,
        replicas={one: Copy({**PLACES, **dict(places)}[one], 400) for one in held if one[2] not in silent},
        futures={one: Copy(path, 100) for one, path in dict(futures).items()},
        log_dirs=dict.fromkeys(ROOMY, 0),
        silent=frozenset(silent),
    )
    step = Move(tuple(THERE.values()), HERE, Rolling(PARTS, room, rate, rate, 60_000))
    record = replace(Executed().record, changed=changes.written({T, U}), begun=changes.written(begun))
    return kernel.next_of(step, seen, record)


def called(found):
    """Return what calls ask for, by replica and by partition."""
    entries = (call.paths if isinstance(call, PlaceReplicas) else call.replicas for call in found.calls)
    return {key: value for one in entries for key, value in one.items()}


@pytest.mark.parametrize(
    ("state", "passed_ms", "rests"),
    [("claimed", 0, False), ("checked", 0, True), ("copying", 59_999, True), ("copying", 60_000, False)],
)
def test_who_takes_an_execution_over_begins_nothing_until_what_it_has_not_seen_is_deleted(state, passed_ms, rests):
    world = Executed()
    run = _Run(replace(world.record, state=ExecutionState(state)), world.ports)
    world.at_ms += passed_ms
    step = Move(tuple(THERE.values()), HERE, Rolling(PARTS, ROOMY, 1, 1, 60_000))
    assert run._settled(step).rolling.rests is rests


def test_progress_is_that_of_all_copies_whichever_may_run_now():
    for seen in (RUNS, {"t": (3, 2), "places": {IN_2: "/b"}, "room": TIGHT}):
        found = next_of(**seen)
        assert isinstance(found, Wait)
        assert (found.progress.of, found.progress.total_bytes) == (2, 3 * 400)


RUNS = {"t": (3, 2, 1), "adding": {TO_3}, "begun": {TO_3}}
TIGHT = {**ROOMY, (3, "/b"): 500}
CANCELLED = "somebody cancelled the move of t-0 {} broker {}: it is not begun again"


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        ({}, {TO_3: "/b", T: (3, 2)}),
        (RUNS, "t-0 is being copied"),
        ({"t": (3, 2), "begun": {TO_3}}, {IN_2: "/b", U_TO_3: "/b", U: (3,)}),
        ({"t": (3, 2), "begun": {TO_3}, "late": {TO_3}}, "t-0: replica on broker 3 is not in sync yet"),
        ({"t": (3, 2), "begun": {TO_3}, "room": TIGHT}, {IN_2: "/b"}),
        ({"t": (3, 2), "begun": {TO_3, IN_2}, "room": TIGHT, "futures": {IN_2: "/b"}}, "t-0 is being copied to /b"),
        ({"t": (3, 2), "places": {IN_2: "/b"}, "room": TIGHT}, "u-0 waits for room in /b of broker 3"),
        ({"rate": 10}, {TO_3: "/b", T: (3, 2), U_TO_3: "/b", U: (3,)}),
        ({"silent": {3}}, {IN_2: "/b"}),
        ({"silent": {2}}, "broker 2 does not answer"),
        ({"begun": {TO_3}}, Stuck(CANCELLED.format("to", 3), False)),
        ({"t": (3, 2), "begun": {TO_3, IN_2}}, Stuck(CANCELLED.format("within", 2), False)),
        (
            {**RUNS, "u": (2, 1), "adding": {TO_3, (*U, 2)}, "places": {(*U, 2): "/a"}},
            Stuck("somebody else reassigns u-0 to [2, 1]"),
        ),
        (
            {"t": (2, 4), "places": {(*T, 4): "/a"}},
            Stuck("the replicas of t-0 are [2, 4]: somebody else changed them", is_certain=False),
        ),
        ({"t": (2, 1)}, {TO_3: "/b", T: (3, 2)}),
        ({"t": (3, 2), "u": (3,), "places": {IN_2: "/b"}}, Reached()),
    ],
    ids=[
        "the first in order",
        "nothing beside a long copy on the same brokers",
        "the next of a partition, and the next on the brokers",
        "a replica that is not in sync yet is not there",
        "no room until old files are deleted: others go on",
        "what waits for room waits",
        "why it waits is said",
        "short copies beside each other",
        "a silent broker gets nothing: others go on",
        "a silent broker may copy between its directories",
        "what somebody cancelled between brokers",
        "what somebody cancelled within a broker",
        "somebody else's reassignment of what waits",
        "somebody else's replicas of what waits",
        "an order that a cancelled copy left",
        "all is there",
    ],
)
def test_what_begins_next(seen, expected):
    found = next_of(**seen)
    assert (called(found) if isinstance(found, Do) else found.why if isinstance(found, Wait) else found) == expected
