"""The watcher between Spark's queries and what it publishes, with neither Spark nor Kafka."""

import itertools
import json
import threading
import uuid

from logdirwatch.model.records import RejectedRows
from logdirwatch.pipeline.meter import Bounds, Meter
from logdirwatch.pipeline.tell import Teller
from logdirwatch.pipeline.watch import Rejects, Watched, Watcher, offsets

T0 = 1_700_000_000_000
TOPIC = "logdir.metrics"


class Query:
    """A query as Spark shows it; offsets are of one partition."""

    def __init__(self, *reached, began=0, is_active=True):
        self.runId = uuid.uuid4()
        self.isActive = is_active
        edges = [began, *reached]
        self.recentProgress = [report(start, end) for start, end in itertools.pairwise(edges)]

    @property
    def lastProgress(self):  # noqa: N802 - Spark's name
        return self.recentProgress[-1] if self.recentProgress else None


def report(start, end):
    spelled = [None if at is None else json.dumps({TOPIC: {"0": at}}) for at in (start, end)]
    return {"sources": [{"startOffset": spelled[0], "endOffset": spelled[1]}]}


class World:
    def __init__(self, **queries):
        self.queries, self.rejects, self.sent = queries, Rejects(), []
        self.at_ms, self.set_by_ms = T0, 0
        self.bounds = Bounds({(TOPIC, 0): 0}, {(TOPIC, 0): 100})
        watched = {name: Watched((TOPIC,), Meter(T0), Teller(name, 0, 30_000, T0)) for name in queries}
        self.watcher = Watcher(
            watched,
            lambda: self.queries,
            lambda: self.bounds,
            self.rejects,
            self.sent.extend,
            clock=lambda: self.at_ms + self.set_by_ms,
            timer_ms=lambda: self.at_ms,
        )

    def look(self, after_ms=10_000):
        self.at_ms += after_ms
        before = len(self.sent)
        self.watcher.look()
        return self.sent[before:]


def test_offsets_are_read_from_a_progress_report_whatever_it_leaves_out():
    assert offsets(report(3, 9), "endOffset") == {(TOPIC, 0): 9}
    assert offsets(report(None, 9), "startOffset") == {}
    assert offsets({"sources": [{"endOffset": "null"}]}, "endOffset") == {}


def test_healthy_queries_write_nothing():
    world = World(store=Query(50, 100), detect=Query(100))
    assert [world.look() for _ in range(20)] == [[]] * 20


def test_a_query_in_a_long_batch_is_told_of_with_what_waits():
    world = World(store=Query(50, 100), detect=Query(100))
    world.look()
    world.bounds = Bounds({(TOPIC, 0): 0}, {(TOPIC, 0): 140})
    world.queries["detect"] = Query(100, 140)
    world.look()
    (record,) = world.look(after_ms=20_000)
    assert (record.query, record.lag_ms, record.behind, record.is_active) == ("store", 30_000, {TOPIC: 40}, True)


def test_a_query_that_does_not_run_is_behind_from_where_it_was():
    world = World(store=Query(100))
    world.look()
    world.queries["store"], world.bounds = None, Bounds({(TOPIC, 0): 0}, {(TOPIC, 0): 120})
    (record,) = world.look(after_ms=40_000)
    assert (record.lag_ms, record.behind, record.is_active) == (40_000, {TOPIC: 20}, False)


def test_a_query_in_its_first_batch_is_late_since_it_began():
    world = World(recommend=Query())
    (record,) = world.look(after_ms=30_000)
    assert (record.lag_ms, record.behind) == (30_000, None)


def test_where_a_run_began_is_asked_once_a_run():
    world = World(store=Query(80, 100, began=40))
    world.bounds = Bounds({(TOPIC, 0): 60}, {(TOPIC, 0): 100})
    (record,) = world.look()
    assert [(lost.from_offset, lost.to_offset) for lost in record.lost] == [(40, 60)]
    assert record.read_rows == 60
    world.queries["store"].recentProgress = world.queries["store"].recentProgress[1:]
    assert world.watcher.watched["store"].began == {(TOPIC, 0): 40}


def test_while_kafka_cannot_be_asked_only_rejects_are_told():
    world = World(store=Query(100))
    world.bounds = None
    assert world.look() == []
    world.rejects.note("store", [RejectedRows(topic=TOPIC, reason="r", rows=1, example="e")])
    (record,) = world.look()
    assert (record.rejected[0].rows, record.lag_ms) == (1, None)


def test_a_look_that_fails_is_taken_anew():
    world = World(store=Query(100))
    stop, seen = threading.Event(), []

    def bounds():
        seen.append(len(seen))
        if len(seen) == 3:
            stop.set()
        raise ConnectionError("gone")

    world.watcher.bounds = bounds
    world.watcher.run(stop, 1)
    assert seen == [0, 1, 2]
