"""Which moves run and which limits are set for them, from the answers of one scan."""

import asyncio

import pytest

from logdirwatch.collect.kafka import responses
from logdirwatch.collect.kafka.answers import Configs, Reassignment
from logdirwatch.collect.kafka.replica_moves import copy_threads, replica_moves, throttled_replicas, throttles_of
from logdirwatch.collect.rounds.scan import Scanner
from logdirwatch.model.records import ReplicaMoves
from tests.unit.collect.builders import (
    T0,
    Brokers,
    configs_response,
    decoded,
    log_dir,
    node,
    ok,
    partition,
    placement,
    poller,
    topic,
)

FOLLOWER = "follower.replication.throttled.rate"
LEADER = "leader.replication.throttled.rate"
WITHIN = "replica.alter.log.dirs.io.max.bytes.per.second"
THREADS = "num.replica.alter.log.dirs.threads"
LISTED = "leader.replication.throttled.replicas"
DYNAMIC, DYNAMIC_FOR_ALL, STATIC = 2, 3, 4


def test_only_what_is_set_on_the_broker_itself_is_a_throttle_that_may_be_left():
    response = configs_response(
        ("7", 0, {FOLLOWER: ("50", DYNAMIC), LEADER: ("60", DYNAMIC_FOR_ALL), WITHIN: ("70", STATIC)}), resource_type=4
    )
    answer = responses.configs(response)
    assert throttles_of(answer.values["7"], answer.overridden["7"]) == {FOLLOWER: 50}


def test_a_topic_that_inherits_from_a_broker_overrides_nothing():
    answer = responses.configs(configs_response(("t", 0, {"retention.ms": ("5", 1), "segment.ms": ("6", DYNAMIC)})))
    assert answer.overridden == {"t": ("retention.ms",)}


@pytest.mark.parametrize("value", [None, "", "fast"])
def test_a_value_that_is_no_number_is_no_throttle(value):
    assert throttles_of({FOLLOWER: value}, [FOLLOWER]) == {}


@pytest.mark.parametrize(
    ("configs", "expected"),
    [
        ({}, {}),
        ({LISTED: ""}, {}),
        ({LISTED: "0:1,0:2, 1:1"}, {1: 2, 2: 1}),
        ({LISTED: "0:1", FOLLOWER.replace("rate", "replicas"): "0:1,1:3"}, {1: 1, 3: 1}),
        ({LISTED: "*"}, {1: 2, 2: 2}),
        ({LISTED: "none:of,these"}, {}),
    ],
)
def test_the_lists_of_topics_are_counted_by_broker(configs, expected):
    topics = [topic("t", partition(0, replicas=(1, 2)), partition(1, replicas=(1, 2)))]
    assert throttled_replicas(topics, {"t": configs}) == expected


def test_moves_are_told_by_broker_and_unknown_where_they_could_not_be_asked():
    dirs = {1: [log_dir(replicas=[placement(), placement(is_future=True)])], 2: [log_dir()]}
    moves = {("t", 0): Reassignment((3,), (1,)), ("t", 1): Reassignment((3,), (1,))}
    assert replica_moves(dirs, moves, {1: {FOLLOWER: 5}, 2: None}, {1: 4}, T0) == {
        1: ReplicaMoves(
            at_ms=T0,
            reassignments=2,
            copies=1,
            throttles={FOLLOWER: 5},
            throttled_replicas=4,
            copies_begun=1,
            waiting_bytes={},
        ),
        2: ReplicaMoves(at_ms=T0, reassignments=2, copies=0, throttles=None, throttled_replicas=0),
    }
    (unknown,) = replica_moves({1: []}, None, {}, None, T0).values()
    assert unknown == ReplicaMoves(at_ms=T0, copies=0)


def test_copies_that_have_not_begun_are_told_apart_with_what_they_bring():
    here = log_dir("/d1", replicas=[placement("t", number, size=100 + number) for number in range(3)])
    coming = [placement("t", number, size, is_future=True) for number, size in ((0, 60), (1, 0), (2, 0))]
    there = log_dir("/d2", replicas=coming)
    (seen,) = replica_moves({1: [here, there]}, {}, {}, None, T0, {1: 2}).values()
    assert (seen.copies, seen.copies_begun, seen.waiting_bytes, seen.copy_threads) == (3, 1, {"/d2": 203}, 2)


@pytest.mark.parametrize(("value", "threads"), [("4", 4), (None, None), ("", None)])
def test_the_number_of_copying_threads_is_what_is_configured_or_not_known(value, threads):
    assert copy_threads({THREADS: value}) == threads
    assert copy_threads(None) is None


class Throttled(Brokers):
    """Brokers with a throttle each, and a topic that lists replicas."""

    async def broker_configs(self, address, broker, keys):
        self._fail("broker configs")
        return Configs({str(broker): {"log.dirs": "/d1", FOLLOWER: "50", THREADS: "3"}}, {str(broker): (FOLLOWER,)})

    async def topic_configs(self, address, names, keys):
        self._fail("configs")
        return Configs({name: {LISTED: "0:2"} for name in names})


def test_every_record_after_a_scan_tells_what_it_saw_and_when():
    brokers = Throttled(
        {1: ok(log_dir("/d1", replicas=[placement()])), 2: ok(log_dir("/d1"))},
        {number: node(number) for number in (1, 2)},
        topics=(topic("t", partition()),),
    )

    async def run():
        sent = []
        polling = poller(brokers, sent)
        await polling.poll()
        assert [decoded(outgoing).moves for outgoing in sent] == [None, None]
        scanner = Scanner(polling, 900_000, reads_groups=True)
        await scanner.scan()
        told = []
        for broken in (set(), {"broker configs", "reassignments"}, {"configs"}):
            brokers.broken = broken
            if broken:
                await scanner.scan()
            sent.clear()
            await polling.poll()
            told.append(next(record.moves for record in map(decoded, sent) if record.broker == 2))
        return told

    first, second, third = asyncio.run(run())
    assert first == ReplicaMoves(
        at_ms=T0, reassignments=0, copies=0, throttles={FOLLOWER: 50}, throttled_replicas=1, copy_threads=3
    )
    assert (second.throttles, second.reassignments, second.throttled_replicas) == (None, None, 1)
    assert (third.throttles, third.throttled_replicas, third.at_ms) == ({FOLLOWER: 50}, None, T0 + 2)
