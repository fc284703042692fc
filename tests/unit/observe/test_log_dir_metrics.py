"""The series of directories show what was last known of each, and nothing where nobody knows."""

import asyncio

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from logdirwatch.model import topics
from logdirwatch.model.records import StateRecord
from logdirwatch.model.records.state import LogDirView
from logdirwatch.model.vocabulary import BrokerStatus, LogDirStatus
from logdirwatch.observe.log_dir_metrics import FORGOTTEN_INTERVALS, LogDirMetrics
from tests.unit.collect.builders import GIB, Brokers, log_dir, node, ok, poller, timed_out

INTERVAL_MS = 5_000
D1 = {"cluster": "prod", "broker": "1", "log_dir": "/d1"}


def polled(*answers):
    """The records of one poll of brokers 1, 2, ... that answer so."""
    brokers = Brokers(dict(enumerate(answers, 1)), {number: node(number) for number in range(1, len(answers) + 1)})
    sent = []
    asyncio.run(poller(brokers, sent).poll())
    return [(one.topic, one.key, one.value) for one in sent]


def state(*log_dirs):
    record = StateRecord(
        version=1,
        cluster="prod",
        broker=1,
        sequence=1,
        at_ms=1,
        status=BrokerStatus.ONLINE,
        since_ms=1,
        log_dirs=list(log_dirs),
        machine="",
    )
    return topics.STATE, b"prod/1", msgspec.json.encode(record)


def value_of(records, name, labels, after_ms=0):
    now_ms = [0]
    metrics = LogDirMetrics(lambda: now_ms[0])
    for record in records:
        metrics.note(*record)
    now_ms[0] = after_ms
    registry = CollectorRegistry()
    registry.register(metrics)
    return registry.get_sample_value(f"logdirwatch_{name}", labels)


FULL, BROKEN = log_dir("/d1", usable=10 * GIB), log_dir("/d1", error_code=56)
FORGOTTEN_MS = FORGOTTEN_INTERVALS * INTERVAL_MS


@pytest.mark.parametrize(
    ("records", "name", "after_ms", "expected"),
    [
        (polled(ok(FULL)), "log_dir_total_bytes", 0, 100 * GIB),
        (polled(ok(FULL)), "log_dir_usable_bytes", FORGOTTEN_MS, 10 * GIB),
        (polled(ok(FULL)), "log_dir_usable_bytes", FORGOTTEN_MS + 1, None),
        (polled(ok(FULL)), "log_dir_online", 0, 1),
        (polled(ok(FULL)), "log_dir_replicas", 0, None),
        (polled(ok(BROKEN)), "log_dir_online", 0, 0),
        (polled(ok(BROKEN)), "log_dir_usable_bytes", 0, None),
        (polled(ok(FULL)) + polled(timed_out()), "log_dir_online", 0, None),
        (polled(timed_out()) + polled(ok(FULL)), "log_dir_online", 0, 1),
        ([(topics.METRICS, b"prod/1", b"no JSON")], "log_dir_online", 0, None),
        ([*polled(ok(FULL)), (topics.METRICS, b"prod/1", None)], "log_dir_online", 0, None),
        ([(topics.INVENTORY, b"prod/1", b"{}"), (topics.METRICS, b"prod/heartbeat", b"{}")], "log_dir_online", 0, None),
    ],
)
def test_a_sample_is_shown_while_it_is_the_newest_and_somebody_polls(records, name, after_ms, expected):
    assert value_of(records, name, D1, after_ms) == expected


@pytest.mark.parametrize(("answer", "expected"), [(ok(FULL), 1), (timed_out(), 0)])
def test_a_broker_that_does_not_answer_is_shown_as_such(answer, expected):
    assert value_of(polled(answer), "broker_answers", {"cluster": "prod", "broker": "1"}) == expected


def test_of_a_state_the_status_the_growth_and_the_forecast_are_shown():
    records = [state(LogDirView(path="/d1", status=LogDirStatus.FILLING, since_ms=1, full_at_ms=9_500))]
    assert value_of(records, "log_dir_full_timestamp_seconds", D1) == 9.5
    assert value_of(records, "log_dir_growth_bytes_per_second", D1) is None
    shown = {one: value_of(records, "log_dir_status", D1 | {"status": str(one)}) for one in LogDirStatus}
    assert shown == {one: float(one is LogDirStatus.FILLING) for one in LogDirStatus}
