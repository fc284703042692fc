"""Queries are started again whatever they failed with, also when that was the start itself."""

from types import SimpleNamespace

import pytest
import structlog
from kafka.errors import KafkaTimeoutError
from pyspark.errors import AnalysisException

from logdirwatch.errors import UserError
from logdirwatch.jobs import busy
from logdirwatch.jobs import runner as runner_module
from logdirwatch.jobs.runner import HEALTHY_AFTER_S, Runner, Supervised
from logdirwatch.settings import Settings


class Query:
    """Stands where a running query is, which is between two batches."""

    isActive = True  # noqa: N815 - Spark's name
    status = {"isTriggerActive": False}  # noqa: RUF012
    lastProgress = None  # noqa: N815
    is_stopped = False

    def stop(self):
        self.is_stopped = True


@pytest.mark.parametrize(
    "error",
    [AnalysisException("no table"), UserError("Kafka cannot be reached"), KafkaTimeoutError("no answer")],
    ids=lambda error: type(error).__name__,
)
def test_a_query_that_cannot_start_is_started_again_and_the_others_run(error):
    well, mended, asked = Query(), Query(), []

    def start(spark, settings):
        asked.append("start")
        if len(asked) == 1:
            raise error
        runner.stop_requested.set()
        return mended

    runner = Runner(None, Settings(), {"well": lambda spark, settings: well, "ill": start})
    with structlog.testing.capture_logs() as logged:
        runner.run()
    assert len(asked) == 2
    assert well.is_stopped
    assert mended.is_stopped
    (failed,) = (line for line in logged if line["event"] == "query.failed")
    assert (failed["query"], failed["error"]) == ("ill", str(error).splitlines()[0])


class Failed(Query):
    """Ended with an error."""

    isActive = False  # noqa: N815 - Spark's name

    def __init__(self, error):
        self.error = error

    def exception(self):
        return self.error


@pytest.fixture
def clock(monkeypatch):
    """The runner's clock, which moves when it is told to."""
    now = SimpleNamespace(s=1_000.0)
    monkeypatch.setattr(runner_module.time, "monotonic", lambda: now.s)
    return now


def pauses_of(clock, errors, *, ran_s=0.0, **stream):
    """How long the runner waits after each of the errors, with which a query ends after it ran so long."""
    settings = Settings(stream=stream)
    supervised = Supervised("detect", lambda spark, settings: Failed(None))
    runner, pauses = Runner(None, settings, {}), []
    with structlog.testing.capture_logs():
        for error in errors:
            supervised.query, supervised.started_at_s = Failed(error), clock.s
            clock.s += ran_s
            runner._look_after(supervised)
            pauses.append(round((supervised.retry_at_s - clock.s) * 1000))
    return pauses


ILL = UserError("no table")
BUSY = UserError("[STREAM_FAILED] Query ended: org.apache.spark.SparkException: Python worker failed to connect back.")


def test_a_query_that_fails_again_and_again_is_left_alone_longer_and_longer_up_to_a_limit(clock):
    assert pauses_of(clock, [ILL] * 5, restart_backoff_max_ms=5_000) == [1_000, 2_000, 4_000, 5_000, 5_000]
    assert max(pauses_of(clock, [ILL] * 100)) == Settings().stream.restart_backoff_max_ms


def test_a_query_that_ran_well_for_a_while_begins_with_the_shortest_pause_again(clock):
    assert pauses_of(clock, [ILL] * 3, ran_s=HEALTHY_AFTER_S) == [1_000, 2_000, 4_000]
    assert pauses_of(clock, [ILL] * 3, ran_s=HEALTHY_AFTER_S + 1) == [1_000] * 3


def test_a_machine_that_is_too_busy_is_no_reason_to_wait_longer_and_longer(clock):
    assert pauses_of(clock, [BUSY] * 20) == [1_000] * 20
    assert pauses_of(clock, [ILL, BUSY, ILL, BUSY]) == [1_000, 1_000, 2_000, 1_000]


def test_a_machine_that_is_too_busy_is_one_line_that_says_so(clock):
    cause = UserError("Timed out while waiting for the Python worker to connect back")
    deep = UserError("Job aborted")
    deep._cause = cause
    for error in (BUSY, deep):
        supervised = Supervised("detect", None, query=Failed(error))
        with structlog.testing.capture_logs() as logged:
            Runner(None, Settings(), {})._look_after(supervised)
        (line,) = logged
        assert line["error"].startswith("the machine is too busy: a Python worker did not start within 10 s")
        assert (supervised.failed, supervised.failures) == (1, 0)
    assert not busy.is_busy(None)
    assert not busy.is_busy(ILL)


class Batches(Query):
    """A query of which one batch follows the other without a pause."""

    status = {"isTriggerActive": True}  # noqa: RUF012

    def __init__(self, batch=None, ends_after=3):
        self.looks, self.ends_after, self.batch = 0, ends_after, batch

    @property
    def lastProgress(self):  # noqa: N802 - Spark's name
        self.looks += 1
        if self.looks > self.ends_after:
            return {"batchId": 8}
        return None if self.batch is None else {"batchId": self.batch}


@pytest.mark.parametrize("batch", [None, 7])
def test_a_query_without_a_pause_between_its_batches_is_stopped_when_the_running_one_has_ended(batch):
    queries = [Batches(batch), Batches(batch, ends_after=6)]
    runner = Runner(None, Settings(stream={"stop_timeout_ms": 60_000}), {})
    runner._stop([Supervised(str(number), None, query=query) for number, query in enumerate(queries)])
    assert all(query.is_stopped for query in queries)
    assert [query.looks for query in queries] == [4, 7]


def test_nothing_is_started_any_more_once_a_stop_was_asked_for():
    runner, supervised = Runner(None, Settings(), {}), Supervised("detect", lambda spark, settings: Query())
    runner.stop_requested.set()
    runner._look_after(supervised)
    assert supervised.query is None


class Starting(Query):
    """Reads its input for the first time, until it was looked at a few times."""

    def __init__(self, looks=3):
        self.looks = looks

    @property
    def status(self):
        self.looks -= 1
        message = "Processing new data" if self.looks > 0 else "Waiting for data to arrive"
        return {"isTriggerActive": False, "message": message}


def run_with_first(queries, first):
    """Run queries of which some start first; returns the names in the order of their starts, and what was logged."""
    order = []

    def start_of(name, query):
        def start(spark, settings):
            order.append((name, {other: one.looks for other, one in queries.items()}))
            return query

        return start

    runner = Runner(None, Settings(), {name: start_of(name, query) for name, query in queries.items()}, first)
    with structlog.testing.capture_logs() as logged:
        runner.run(on_started=runner.stop_requested.set)
    return order, logged


def test_queries_that_start_first_have_caught_up_when_the_others_start(monkeypatch):
    monkeypatch.setattr(runner_module, "LOOK_S", 0.0)
    queries = {"store": Starting(), "detect": Starting(), "fleet": Starting()}
    order, logged = run_with_first(queries, frozenset({"detect", "fleet"}))
    assert {name for name, _ in order[:2]} == {"detect", "fleet"}
    name, looks = order[2]
    assert (name, looks["store"]) == ("store", 3)
    assert max(looks["detect"], looks["fleet"]) <= 0
    assert "stream.start_is_slow" not in [line["event"] for line in logged]


def test_the_others_do_not_wait_for_ever(monkeypatch):
    monkeypatch.setattr(runner_module, "LOOK_S", 0.0)
    monkeypatch.setattr(runner_module, "FIRST_WITHIN_S", 0.05)
    order, logged = run_with_first({"detect": Starting(10**9), "store": Starting()}, frozenset({"detect"}))
    assert [name for name, _ in order] == ["detect", "store"]
    assert [line["behind"] for line in logged if line["event"] == "stream.start_is_slow"] == [["detect"]]


def test_nothing_waits_for_the_first_queries_when_there_are_no_others(monkeypatch):
    monkeypatch.setattr(runner_module, "FIRST_WITHIN_S", 0.0)
    _, logged = run_with_first({"detect": Starting(10**9)}, frozenset({"detect"}))
    assert "stream.start_is_slow" not in [line["event"] for line in logged]


def test_the_real_time_query_is_not_waited_for_beyond_its_start(monkeypatch):
    monkeypatch.setattr(runner_module, "FIRST_WITHIN_S", 0.0)
    queries = {"fast_lane": Starting(10**9), "store": Starting()}
    _, logged = run_with_first(queries, frozenset({"fast_lane"}))
    assert "stream.start_is_slow" not in [line["event"] for line in logged]


def test_freed_memory_is_given_back_now_and_then(monkeypatch):
    monkeypatch.setattr(runner_module, "LOOK_AFTER_S", 0.0)
    monkeypatch.setattr(runner_module.native_memory, "INTERVAL_MS", 0)
    runner, given_back = Runner(None, Settings(), {}), []

    def give_back():
        given_back.append(True)
        if len(given_back) == 2:
            runner.stop_requested.set()

    monkeypatch.setattr(runner_module.native_memory, "give_back", give_back)
    runner.run()
    assert given_back == [True, True]
