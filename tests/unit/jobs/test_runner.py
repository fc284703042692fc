"""Queries are started again whatever they failed with, also when that was the start itself."""

import itertools
import threading
from collections import Counter
from datetime import datetime, timezone
from types import SimpleNamespace

import pytest
import structlog
from kafka.errors import KafkaTimeoutError
from py4j.protocol import Py4JNetworkError
from pyspark.errors import AnalysisException

from logdirwatch.errors import UserError
from logdirwatch.jobs import runner
from logdirwatch.jobs import runner as runner_module
from logdirwatch.jobs.runner import HEALTHY_AFTER_S, Runner
from logdirwatch.jobs.supervision.supervised import Supervised
from logdirwatch.settings import Settings
from tests.support.waiting import DEADLINE_S, wait_until


class Query:
    """Stands where a running query is, which is between two batches."""

    runId = "1"  # noqa: N815
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
    """The runner's clocks, which move when they are told to; ``ahead_s`` is what the wall clock was set by."""
    now = SimpleNamespace(s=1_000.0, ahead_s=1_700_000_000)
    monkeypatch.setattr(runner_module.time, "monotonic", lambda: now.s)
    monkeypatch.setattr(runner_module, "wall_ms", lambda: round((now.s + now.ahead_s) * 1000))
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
    assert not runner.is_busy(None)
    assert not runner.is_busy(ILL)


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


LOOK_S = 10


class Waiting(Query):
    """Waits for its next trigger; ``on_stop`` is what stopping it does."""

    def __init__(self, on_stop=lambda: None):
        self.stops, self.on_stop = 0, on_stop

    def stop(self):
        self.stops += 1
        self.on_stop()


class Reporting(Waiting):
    """Ends a batch with every look."""

    @property
    def lastProgress(self):  # noqa: N802 - Spark's name
        return {"batchId": next(BATCHES), "timestamp": None}


BATCHES = itertools.count()


class Watched:
    """A runner whose queries are looked after until a test has seen enough, on a clock that nobody waits for."""

    def __init__(self, clock, queries, first=()):
        self.clock, self.starts, self.ended = clock, Counter(), []
        self.queries = queries
        self.runner = Runner(None, Settings(), {name: self._start_of(name) for name in queries}, frozenset(first))
        self.runner.end = lambda: self.ended.append(self.clock.s)
        self.runner.supervised = [self.runner._supervised(name, start) for name, start in self.runner.starts.items()]
        self.runner._start_all(self.runner.supervised)

    def _start_of(self, name):
        def start(spark, settings):
            self.starts[name] += 1
            return self.queries[name]

        return start

    def looks(self, for_s):
        ends_s = self.clock.s + for_s
        with structlog.testing.capture_logs() as logged:
            while self.clock.s < ends_s and not self.ended:
                self.clock.s += LOOK_S
                self.runner._look_after_all(self.runner.supervised)
        self.logged = logged
        return [(line["event"], line.get("query")) for line in logged]


def test_a_query_whose_trigger_waits_is_stopped_and_started_again(clock):
    world = Watched(clock, {"detect": Waiting(), "store": Reporting()})
    told = world.looks(160)
    assert told == [("query.silent", "detect"), ("query.started", "detect")]
    assert (world.starts["detect"], world.starts["store"], world.queries["detect"].stops) == (2, 1, 1)
    assert world.runner.silences()["detect"].is_silent(clock.s)


def test_the_process_ends_when_a_restart_did_not_help(clock):
    world = Watched(clock, {"detect": Waiting(), "store": Reporting()}, {"detect"})
    told = world.looks(3_600)
    assert told[-1] == ("stream.process_ends", "detect")
    assert world.starts["detect"] == 2
    assert world.ended[0] - 1_000 == pytest.approx(260, abs=20)


def test_the_process_ends_when_a_query_fails_at_each_start_for_long(clock):
    world = Watched(clock, {"detect": Failed(ILL), "store": Reporting()}, {"detect"})
    assert ("stream.process_ends", "detect") in world.looks(3_600)
    assert world.ended[0] - 1_000 == pytest.approx(540, abs=60)
    again = Watched(clock, {"detect": Failed(ILL)})
    again.runner.is_input_away = lambda: True
    again.looks(3_600)
    assert again.ended == []


def test_one_failure_after_a_long_batch_is_a_restart(clock):
    world = Watched(clock, {"detect": Failed(ILL)})
    clock.s += 3_600
    assert world.looks(30)[:2] == [("query.failed", "detect"), ("query.started", "detect")]
    assert world.ended == []


def test_a_query_that_writes_tables_ends_no_process_in_which_alerts_are_raised(clock):
    world = Watched(clock, {"detect": Reporting(), "store": Waiting()}, {"detect"})
    world.looks(4 * 3_600)
    assert world.ended == []
    assert world.starts["store"] > 10
    alone = Watched(clock, {"store": Waiting()}, {"detect"})
    assert alone.looks(3_600)[-1] == ("stream.process_ends", "store")


def test_nothing_is_restarted_while_the_telemetry_cluster_does_not_answer(clock):
    world = Watched(clock, {"detect": Waiting()})
    world.runner.is_input_away = lambda: True
    assert world.looks(3_600) == []
    world.runner.is_input_away = lambda: False
    assert world.looks(120) == []
    assert world.looks(30) == [("query.silent", "detect"), ("query.started", "detect")]


def test_a_stop_that_hangs_holds_up_no_other_query_and_ends_the_process(clock, monkeypatch):
    monkeypatch.setattr(runner_module, "ATTEMPT_S", 0.01)
    is_over = threading.Event()
    world = Watched(clock, {"detect": Waiting(is_over.wait), "store": Failed(ILL)}, {"detect"})
    told = world.looks(3_600)
    is_over.set()
    assert ("query.hangs", "detect") in told
    assert told[-1] == ("stream.process_ends", "detect")
    assert told.count(("query.failed", "store")) > 1
    assert world.starts["detect"] == 1


def test_a_table_whose_start_hangs_holds_up_no_alert(clock, monkeypatch):
    monkeypatch.setattr(runner_module, "ATTEMPT_S", 0.01)
    monkeypatch.setattr(runner_module, "FIRST_WITHIN_S", 0.01)
    is_over, hung = threading.Event(), []

    def hang(spark, settings):
        hung.append(True)
        is_over.wait()
        return Reporting()

    runner = Runner(None, Settings(), {"detect": lambda *_: Reporting(), "store": hang}, frozenset({"detect"}))
    supervised = {one.name: one for one in map(runner._supervised, runner.starts, runner.starts.values())}
    runner.supervised = list(supervised.values())
    runner._start_all(runner.supervised)
    for _ in range(3):
        runner._look_after_all(runner.supervised)
    assert supervised["detect"].query is not None
    assert (supervised["store"].query, len(hung)) == (None, 1)
    is_over.set()
    wait_until(lambda: runner._look_after_all(runner.supervised) or supervised["store"].query, DEADLINE_S, "the start")


def test_an_error_while_a_query_is_stopped_is_raised_where_the_queries_are_supervised(clock):
    def broken():
        raise Py4JNetworkError("the JVM is gone")

    world = Watched(clock, {"detect": Waiting(broken)})
    with pytest.raises(Py4JNetworkError):
        world.looks(3_600)


class Triggered(Waiting):
    """Its last trigger began ``ahead_s`` after the wall clock of now; it waits for the next one, or is in a batch."""

    def __init__(self, ahead_s, *, is_in_batch=False):
        super().__init__(self._stopped)
        began = datetime.fromtimestamp(1_700_001_000 + ahead_s, timezone.utc)
        self.status = {"isTriggerActive": is_in_batch}
        self.lastProgress = {"batchId": 1, "timestamp": f"{began:%Y-%m-%dT%H:%M:%S.000Z}"}

    def _stopped(self):
        self.lastProgress = None


@pytest.mark.parametrize(
    ("name", "query", "restarts"),
    [
        ("detect", Triggered(3_600), 1),
        ("fast_lane", Triggered(3_600, is_in_batch=True), 1),
        ("store", Triggered(3_600, is_in_batch=True), 0),
        ("store", Triggered(12), 0),
        ("store", Triggered(-3_600), 0),
    ],
    ids=["waits", "its batch never ends", "its batch has not ended", "waits for a moment", "clock set forward"],
)
def test_a_query_that_waits_for_a_time_before_the_wall_clock_was_set_back_is_started_again(
    clock, name, query, restarts
):
    told = Watched(clock, {name: query}).looks(3 * LOOK_S)
    assert told == [("stream.clock_set_back", name), ("query.started", name)] * restarts
    assert query.stops == restarts


def test_it_says_by_how_much_the_clock_was_set_back(clock):
    world = Watched(clock, {"detect": Triggered(3_600)})
    world.looks(LOOK_S)
    assert [line["by_s"] for line in world.logged if line["event"] == "stream.clock_set_back"] == [
        pytest.approx(3_600, abs=2 * LOOK_S)
    ]


def test_a_batch_that_ends_after_the_clock_was_set_back_is_followed_by_the_restart(clock):
    world = Watched(clock, {"store": Triggered(3_600, is_in_batch=True)})
    assert world.looks(LOOK_S) == []
    world.queries["store"].status = {"isTriggerActive": False}
    assert ("query.started", "store") in world.looks(2 * LOOK_S)
