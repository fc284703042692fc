"""The metrics of collector and stream say what their parts hold, and nothing where nobody knows."""

import asyncio
import contextlib
import time
from collections import Counter
from types import SimpleNamespace

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families as families

from logdirwatch.collect.metrics import CollectorMetrics
from logdirwatch.collect.publish.publisher import Publisher
from logdirwatch.jobs.metrics import StreamMetrics
from logdirwatch.jobs.runner import Runner
from logdirwatch.jobs.supervision.silence import Signs, Silence
from logdirwatch.jobs.supervision.supervised import Supervised
from logdirwatch.model.records import LostRange, RejectedRows
from logdirwatch.model.vocabulary import ReplicaStatus
from logdirwatch.pipeline.meter import Meter, QueryLag
from logdirwatch.pipeline.tell import Teller
from logdirwatch.pipeline.watch import Watched
from tests.support.hostile import NAMES
from tests.unit.collect.builders import Brokers, log_dir, node, ok, poller, timed_out


def read(metrics):
    registry = CollectorRegistry()
    registry.register(metrics)
    return registry.get_sample_value


@pytest.fixture
def polling():
    brokers = Brokers({1: ok(log_dir()), 2: timed_out()}, {number: node(number) for number in (1, 2)})
    return poller(brokers, [])


@pytest.fixture
def collecting(polling):
    publisher = Publisher(lambda: None, 10, 1_000)
    return CollectorMetrics([SimpleNamespace(name="prod", poller=polling, beats=[polling.beat])], publisher)


def test_the_collector_tells_of_every_broker_and_how_its_polls_ended(collecting, polling):
    assert collecting.is_unready() == "no broker answered yet: prod"
    asyncio.run(polling.poll())
    asyncio.run(polling.poll())
    assert collecting.is_unready() is None
    value = read(collecting)
    polls = "logdirwatch_collect_polls_total"
    assert value(polls, {"cluster": "prod", "broker": "1", "status": "ok"}) == 2
    assert value(polls, {"cluster": "prod", "broker": "2", "status": "timeout"}) == 2
    assert value(polls, {"cluster": "prod", "broker": "2", "status": "ok"}) is None
    assert value("logdirwatch_collect_brokers", {"cluster": "prod"}) == 2
    assert value("logdirwatch_collect_cluster_away", {"cluster": "prod"}) == 0
    assert value("logdirwatch_collect_records_waiting") == 0


def test_a_collector_whose_samples_do_not_arrive_is_not_ready_whatever_else_works(polling):
    overdue_ms = {"prod": 30_000}
    watch = SimpleNamespace(name="prod", poller=polling, beats=[polling.beat])
    collecting = CollectorMetrics([watch], Publisher(lambda: None, 10, 1_000), overdue_ms.__getitem__)
    asyncio.run(polling.poll())
    assert collecting.is_unready() is None
    overdue_ms["prod"] = 61_000
    assert collecting.is_unready() == "no sample arrives in the telemetry cluster: prod for 1 min 1 s"
    assert collecting.is_ill() is None


def test_a_collector_whose_rounds_do_not_end_is_not_ready_and_ill_when_that_lasts(collecting, polling):
    asyncio.run(polling.poll())
    assert (collecting.is_ill(), collecting.is_unready()) == (None, None)
    polling.last_round_s -= 16
    assert (collecting.is_ill(), collecting.is_unready()) == (None, "no progress: poll:prod for 16 s")
    polling.last_round_s -= 15
    assert collecting.is_ill() == "no progress: poll:prod for 31 s"


def test_a_poll_that_hangs_is_no_round_of_the_collector(collecting, polling):
    async def hang(*_):
        await asyncio.Event().wait()

    polling.admin.topology = hang
    polling.last_round_s -= 31

    async def polled():
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(polling.poll(), 0.01)

    asyncio.run(polled())
    assert collecting.is_ill() == "no progress: poll:prod for 31 s"


PROGRESS = {
    "batchId": 7,
    "durationMs": {"triggerExecution": 1_500},
    "inputRowsPerSecond": float("nan"),
    "stateOperators": [{"numRowsTotal": 3, "memoryUsedBytes": 100}, {"numRowsTotal": 4, "memoryUsedBytes": 50}],
}


@pytest.fixture
def runner():
    running = SimpleNamespace(isActive=True, lastProgress=PROGRESS)
    found = Runner(None, None, {})
    found.supervised = [
        Supervised("detect", None, query=running, failed=2),
        Supervised("store", None, query=None, failed=1),
    ]
    return found


def test_the_stream_tells_of_every_query(runner):
    value = read(StreamMetrics(runner))
    detect, store = {"query": "detect"}, {"query": "store"}
    assert (value("logdirwatch_query_active", detect), value("logdirwatch_query_active", store)) == (1, 0)
    assert value("logdirwatch_query_failures_total", detect) == 2
    assert value("logdirwatch_query_batch_seconds", detect) == 1.5
    assert value("logdirwatch_query_state_bytes", detect) == 150
    assert value("logdirwatch_query_input_rows_per_second", detect) is None, "NaN is nobody knows"
    assert value("logdirwatch_query_batch", store) is None


def test_what_the_looks_found_is_told_and_what_they_did_not_is_not(runner):
    metrics = StreamMetrics(runner)
    watched = {name: Watched(["logdir.metrics"], Meter(0), Teller(name, 0, 1_000, 0)) for name in ("detect", "store")}
    watched["detect"].lag = QueryLag(2_500, {"logdir.metrics": 12}, 0, list[LostRange](), False)
    rejected = RejectedRows(topic="logdir.metrics", reason="r", rows=4, example="e")
    watched["store"].rejected[rejected.topic] += rejected.rows
    metrics.watched = watched
    value = read(metrics)
    assert value("logdirwatch_query_lag_seconds", {"query": "detect"}) == 2.5
    assert value("logdirwatch_query_behind_records", {"query": "detect", "topic": "logdir.metrics"}) == 12
    assert value("logdirwatch_query_lag_seconds", {"query": "store"}) is None
    assert value("logdirwatch_rejected_records_total", {"query": "store", "topic": "logdir.metrics"}) == 4


def test_open_alerts_are_counted_by_place_rule_and_severity(runner):
    metrics = StreamMetrics(runner)
    metrics.note_alerts(Counter({("prod", "log_dir_space", "page"): 2}))
    labels = {"cluster": "prod", "rule": "log_dir_space", "severity": "page"}
    assert read(metrics)("logdirwatch_alerts_firing", labels) == 2


def test_replicas_are_counted_by_broker_and_status_while_their_query_runs(runner):
    inventory = Supervised("store_inventory", None, query=SimpleNamespace(isActive=True, lastProgress=None), failed=0)
    runner.supervised.append(inventory)
    metrics = StreamMetrics(runner)
    value, labels = read(metrics), {"cluster": "prod", "broker": "7"}
    assert value("logdirwatch_replicas", {**labels, "status": "offline"}) is None, "not counted yet is not zero"
    metrics.note_replicas({("prod", 7): {ReplicaStatus.OFFLINE: 3, ReplicaStatus.ONLINE: 0}})
    assert value("logdirwatch_replicas", {**labels, "status": "offline"}) == 3
    assert value("logdirwatch_replicas", {**labels, "status": "online"}) == 0
    inventory.query.isActive = False
    assert value("logdirwatch_replicas", {**labels, "status": "offline"}) is None


@pytest.mark.parametrize("name", NAMES)
def test_a_hostile_name_is_a_label_and_no_line_of_its_own(runner, name):
    metrics = StreamMetrics(runner)
    metrics.note_alerts(Counter({(name, name, "page"): 2}))
    registry = CollectorRegistry()
    registry.register(metrics)
    found = {family.name: family.samples for family in families(generate_latest(registry).decode())}
    (sample,) = found["logdirwatch_alerts_firing"]
    assert (sample.labels["cluster"], sample.labels["rule"], sample.value) == (name, name, 2)
    assert "logdirwatch_up" not in found


def test_a_stream_is_ready_when_every_query_runs_and_ill_when_nobody_looks(runner):
    metrics = StreamMetrics(runner)
    assert metrics.is_unready() == "not running: store"
    runner.supervised.pop()
    assert (metrics.is_unready(), metrics.is_ill()) == (None, None)
    runner.supervised.pop()
    assert metrics.is_unready() == "not running: nothing started yet"
    runner.looked_s -= 200
    assert metrics.is_ill().startswith("the queries have not been supervised for 3 min 2")


@pytest.fixture
def lagging(runner):
    """A function that returns the metrics of queries that run, with the lag of each in seconds."""

    def made(**lags_s):
        runner.supervised = [Supervised(name, None, query=SimpleNamespace(isActive=True)) for name in lags_s]
        metrics = StreamMetrics(runner)
        metrics.watched = {
            name: Watched((), Meter(0), Teller(name, 0, 1_000, 0), lag=QueryLag(lag_s * 1000, {}, 0, [], False))
            for name, lag_s in lags_s.items()
        }
        return metrics

    return made


def test_a_query_that_is_behind_is_not_ready_though_it_is_active(lagging):
    assert lagging(detect=120, store=600).is_unready() is None
    assert lagging(detect=121, store=601).is_unready() == "behind its input: detect for 2 min 1 s, store for 10 min 1 s"


def test_lag_that_nobody_knows_or_measures_is_none(lagging):
    metrics = lagging(detect=900, fast_lane=900)
    metrics.watched["detect"].lag = None
    metrics.watched["fast_lane"].teller.is_measured = False
    assert (metrics.is_unready(), metrics.is_ill()) == (None, None)


def test_a_query_that_catches_up_is_not_ill_and_one_without_known_progress_is(lagging):
    metrics = lagging(detect=86_400)
    assert metrics.is_ill() == "no progress: detect for 1 d"
    moving = Silence(120.0, since_s=time.monotonic())
    metrics.silences = lambda: {"detect": moving}
    assert metrics.is_ill() is None
    assert metrics.is_unready() == "behind its input: detect for 1 d"


def test_lag_within_the_interval_of_a_long_trigger_is_none(lagging):
    metrics = lagging(store=3_600)
    metrics.silences = lambda: {"store": Silence(4_200.0, since_s=time.monotonic())}
    assert metrics.is_unready() is None


def test_a_silent_query_is_not_ready_at_once_and_ill_when_that_lasts(lagging):
    metrics, one = lagging(detect=0), Silence(120.0, since_s=time.monotonic() - 125)
    metrics.silences = lambda: {"detect": one}
    assert (metrics.is_unready(), metrics.is_ill()) == ("no progress: detect for 2 min 5 s", None)
    one.since_s -= 120
    assert metrics.is_ill() == "no progress: detect for 4 min 5 s"
    one.ends_process = False
    assert metrics.is_ill() is None, "alerts do not end with it"


def test_a_task_that_runs_long_makes_nobody_ill(lagging):
    metrics = lagging(detect=0)
    one = Silence(120.0, since_s=time.monotonic() - 3_600, signs=Signs(has_running_task=True))
    metrics.silences = lambda: {"detect": one}
    assert metrics.is_ill() is None
    assert metrics.is_unready() == "no progress: detect for 1 h"


def test_a_stream_that_cannot_read_the_telemetry_cluster_is_not_ready(lagging):
    metrics = lagging(detect=0)
    metrics.is_input_away = lambda: True
    assert metrics.is_unready() == "the telemetry cluster does not answer: nothing is read"
    assert metrics.is_ill() is None
