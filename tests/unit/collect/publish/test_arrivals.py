"""A collector's heartbeat says for how long its samples have not arrived in the telemetry cluster."""

import pytest

from logdirwatch.collect.publish.arrivals import Arrivals
from logdirwatch.collect.publish.buffer import Outgoing
from logdirwatch.model import topics
from tests.support.clocks import Clock

INTERVAL_MS = 5_000


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def arrivals(clock):
    return Arrivals(["prod", "a/b"], INTERVAL_MS, clock)


def sample(key=b"prod/1", topic=topics.METRICS):
    return Outgoing(topic, key, b"{}")


def test_a_sample_is_overdue_after_two_intervals_without_any(arrivals, clock):
    clock.now_s += 10
    assert arrivals.overdue_ms("prod") == 0
    clock.now_s += 0.5
    assert arrivals.overdue_ms("prod") == 500
    arrivals.note(sample())
    assert arrivals.overdue_ms("prod") == 0
    clock.now_s += 70
    assert arrivals.overdue_ms("prod") == 60_000


def test_each_cluster_is_counted_by_itself_whatever_its_name(arrivals, clock):
    clock.now_s += 70
    arrivals.note(sample(b"a/b/12"))
    assert (arrivals.overdue_ms("prod"), arrivals.overdue_ms("a/b")) == (60_000, 0)
    arrivals.note(sample(b"elsewhere/1"))
    assert arrivals.overdue_ms("prod") == 60_000


@pytest.mark.parametrize("record", [sample(b"prod/heartbeat"), sample(topic=topics.EVENTS), sample(b"prod")], ids=str)
def test_what_is_no_sample_proves_nothing(arrivals, clock, record):
    clock.now_s += 70
    arrivals.note(record)
    assert arrivals.overdue_ms("prod") == 60_000
