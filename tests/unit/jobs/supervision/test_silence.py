"""A query that makes no progress is started again in time, and one that has much to do is left to do it."""

import itertools

import pytest

from logdirwatch.config.stream import StreamSettings
from logdirwatch.jobs import application
from logdirwatch.jobs.supervision.silence import RUNNING_FACTOR, Signs, Silence, Verdict
from logdirwatch.jobs.supervision.supervised import silence_of
from logdirwatch.observe.progress import ILL_AFTER, LONGEST_SILENCE_S

T0 = 1_000.0
LONGEST_S = 120.0
LOOK_S = 10.0
WAITS = Signs(report=(7, "12:00:00"))


class World:
    """One query that was started at T0, judged every ten seconds by the signs that a test gives."""

    def __init__(self, **fields):
        self.silence = Silence(LONGEST_S, **fields)
        self.now_s = self.started_s = T0

    def looks(self, signs, for_s):
        """Judge again and again; return the verdicts other than WAIT, with the seconds until each."""
        told, began_s = [], self.now_s
        while self.now_s - began_s < for_s:
            self.now_s += LOOK_S
            found = signs(self.now_s) if callable(signs) else signs
            verdict = self.silence.judge(found, self.started_s, self.now_s)
            if verdict is Verdict.RESTART:
                self.started_s = self.now_s
                self.silence.started()
            if verdict is not Verdict.WAIT:
                told.append((verdict, self.now_s - began_s))
        return told


def reports(now_s):
    """Something ends, or is reported not to have arrived, with every look."""
    return Signs(report=(int(now_s), None))


def test_a_query_that_reports_is_left_alone():
    world = World()
    assert world.looks(reports, 10 * LONGEST_S) == []
    assert not world.silence.is_silent(world.now_s)


def test_a_trigger_that_waits_is_started_again_after_the_longest_silence_and_then_ends_the_process():
    world = World()
    world.looks(reports, 60)
    told = world.looks(WAITS, 4 * LONGEST_S)
    assert told[:2] == [(Verdict.RESTART, LONGEST_S + 20), (Verdict.END, 2 * LONGEST_S + 30)]


def test_a_restart_that_helped_gives_the_next_silence_a_restart_of_its_own():
    world = World()
    for _ in range(5):
        assert [verdict for verdict, _ in world.looks(WAITS, LONGEST_S + 2 * LOOK_S)] == [Verdict.RESTART]
        assert world.looks(reports, 60) == []


def test_a_query_that_never_reported_counts_from_its_start():
    assert World().looks(Signs(), LONGEST_S + LOOK_S) == [(Verdict.RESTART, LONGEST_S + LOOK_S)]


@pytest.mark.parametrize("jobs", [(), (1,)], ids=["no job", "a job without a running task"])
def test_a_batch_of_which_no_task_runs_is_started_again(jobs):
    told = World().looks(Signs(None, jobs, 3, has_running_task=False), 3 * LONGEST_S)
    assert [verdict for verdict, _ in told][:2] == [Verdict.RESTART, Verdict.END]


def test_a_job_that_only_begins_is_no_progress():
    """After the executor was lost, each restart begins a job none of whose tasks ever runs."""
    world = World()

    def begins(now_s):
        return Signs(None, (int(now_s),) if now_s - world.started_s > LOOK_S else ())

    def one_job(now_s):
        return Signs(None, (int(world.started_s),) if now_s - world.started_s > LOOK_S else ())

    assert [verdict for verdict, _ in world.looks(one_job, 3 * LONGEST_S)][:2] == [Verdict.RESTART, Verdict.END]
    assert World().looks(begins, 1) == []


@pytest.mark.parametrize(
    "signs",
    [
        lambda now_s: Signs(None, (1,), int(now_s), has_running_task=True),
        lambda now_s: Signs(None, (int(now_s),), 0, has_running_task=False),
        lambda now_s: Signs(None, (1,) if int(now_s) % 20 else (), 0, has_running_task=False),
    ],
    ids=["tasks end", "jobs end, others begin", "jobs end"],
)
def test_a_long_batch_of_which_tasks_and_jobs_end_is_left_alone(signs):
    assert World().looks(signs, 10 * LONGEST_S) == []


def test_a_long_task_gets_more_time_after_each_restart_and_never_ends_the_process():
    runs = Signs(None, (1,), 0, has_running_task=True)
    told = World().looks(runs, 8 * RUNNING_FACTOR * LONGEST_S)
    assert {verdict for verdict, _ in told} == {Verdict.RESTART}
    ends_s = [0.0, *(for_s for _, for_s in told)]
    pauses_s = [after - before for before, after in itertools.pairwise(ends_s)]
    assert pauses_s[0] == RUNNING_FACTOR * LONGEST_S + LOOK_S
    assert all(after >= 2 * before - 2 * LOOK_S for before, after in itertools.pairwise(pauses_s))


def test_the_tasks_of_the_real_time_query_run_whatever_happens_and_prove_nothing():
    runs = Signs(None, (1,), 0, has_running_task=True)
    told = World(is_real_time=True).looks(runs, 3 * LONGEST_S)
    assert told[:2] == [(Verdict.RESTART, LONGEST_S + LOOK_S), (Verdict.END, 2 * LONGEST_S + 2 * LOOK_S)]


def test_alerts_do_not_end_with_a_query_that_writes_tables():
    world = World(ends_process=False)
    assert {verdict for verdict, _ in world.looks(WAITS, 10 * LONGEST_S)} == {Verdict.RESTART}


def test_nothing_is_silent_while_the_telemetry_cluster_does_not_answer():
    world = World()
    world.looks(reports, 60)
    world.now_s += 10 * LONGEST_S
    world.silence.excuse(world.now_s)
    assert not world.silence.is_silent(world.now_s)
    assert world.looks(reports(0), LONGEST_S) == []


def test_it_is_silent_until_it_makes_progress_however_often_it_was_started():
    world = World()
    world.looks(reports, 60)
    world.looks(WAITS, LONGEST_S + 20)
    assert (world.silence.is_silent(world.now_s), world.silence.is_stuck(world.now_s)) == (True, False)
    world.now_s += (ILL_AFTER - 1) * LONGEST_S
    assert world.silence.is_stuck(world.now_s)
    world.looks(reports, 20)
    assert (world.silence.is_silent(world.now_s), world.silence.silent_s(world.now_s)) == (False, 0.0)


def test_it_is_stuck_only_where_a_new_process_helps():
    running = World()
    running.looks(Signs(None, (1,), 0, has_running_task=True), 10)
    assert not running.silence.is_stuck(T0 + 100 * LONGEST_S)


def test_every_query_has_a_contract_to_which_its_trigger_is_added():
    stream = StreamSettings(store_trigger="1 hour")
    assert set(application.QUERIES) <= set(LONGEST_SILENCE_S)
    contracts = {name: silence_of(name, stream, ends_process=True) for name in application.QUERIES}
    assert {name: one.longest_s for name, one in contracts.items()} == {
        "fast_lane": 420.0,
        "detect": 120.5,
        "fleet": 135.0,
        "store": 4_200.0,
        "store_inventory": 660.0,
        "recommend": 601.0,
    }
    assert [name for name, one in contracts.items() if one.is_real_time] == ["fast_lane"]
    micro = silence_of("fast_lane", StreamSettings(fast_lane_mode="micro_batch"), ends_process=True)
    assert (micro.longest_s, micro.is_real_time) == (120.2, False)


@pytest.mark.parametrize(
    ("report", "ahead_ms"),
    [
        (None, 0),
        ((7, None), 0),
        ((7, "2023-11-14T22:13:20.000Z"), 0),
        ((7, "2023-11-14T22:13:10.000Z"), 0),
        ((7, "2023-11-14T23:13:20.250Z"), 3_600_250),
    ],
)
def test_a_report_of_a_trigger_in_the_future_shows_that_the_clock_was_set_back(report, ahead_ms):
    assert Signs(report).ahead_ms(1_700_000_000_000) == ahead_ms
