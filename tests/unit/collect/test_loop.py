"""Rounds keep their pace, do not pile up, and outlive an error."""

import asyncio

import pytest
import structlog

from logdirwatch.collect import loop
from logdirwatch.collect.kafka.requests import first_answer
from logdirwatch.collect.loop import ClusterWatch, every
from logdirwatch.collect.settings import CollectSettings, JmxExporterSettings
from logdirwatch.kafka.settings import KafkaSettings
from tests.support.waiting import DEADLINE_S
from tests.unit.collect.builders import T0, Clock, decoded, reserve_of


def run_until(work, times, **fields):
    """Run ``work`` every millisecond until it began ``times`` times; return how many ran at once at most."""
    done = asyncio.Event()
    state = {"begun": 0, "running": 0, "most": 0}

    async def counted():
        state["begun"] += 1
        state["running"] += 1
        state["most"] = max(state["most"], state["running"])
        if state["begun"] >= times:
            done.set()
        try:
            await work(state["begun"])
        finally:
            state["running"] -= 1

    async def run():
        rounds = asyncio.create_task(every(1, counted, **fields))
        try:
            await asyncio.wait_for(done.wait(), DEADLINE_S)
        finally:
            rounds.cancel()
            await asyncio.gather(rounds, return_exceptions=True)
        assert state["running"] == 0

    asyncio.run(run())
    return state["most"]


def test_a_round_that_takes_longer_than_the_interval_makes_the_next_wait():
    assert run_until(lambda number: asyncio.sleep(0.01), 5) == 1


def test_rounds_that_may_overlap_do_not_wait_for_a_slow_one():
    async def slow_at_first(number):
        if number == 1:
            await asyncio.Event().wait()

    assert run_until(slow_at_first, 5, overlapping=True) >= 2


@pytest.mark.parametrize(
    ("errors", "lines"),
    [
        ([ZeroDivisionError()] * 9, 1),
        ([ZeroDivisionError(), ValueError("a"), ValueError("b")], 3),
        ([ZeroDivisionError(), None, ZeroDivisionError()], 2),
    ],
)
def test_an_error_is_logged_once_and_the_next_round_comes(errors, lines):
    async def broken(number):
        if number <= len(errors) and errors[number - 1] is not None:
            numbers.append(number)
            raise errors[number - 1]

    numbers: list[int] = []
    with structlog.testing.capture_logs() as logged:
        run_until(broken, len(errors) + 1)
    assert [line["event"] for line in logged] == ["collect.round.failed"] * lines
    assert len(numbers) == sum(error is not None for error in errors)


def test_an_error_that_lasts_is_logged_again_after_ten_minutes(monkeypatch):
    now_ms = [0]
    monkeypatch.setattr(loop, "monotonic_ms", lambda: now_ms[0])

    async def broken(number):
        now_ms[0] = number * loop.REMIND_MS // 4
        raise ZeroDivisionError

    with structlog.testing.capture_logs() as logged:
        run_until(broken, 10)
    assert len(logged) in (2, 3)


@pytest.mark.parametrize(("interval_ms", "step_ms"), [(10_000, 1_000), (500, 500)])
def test_a_clock_that_is_set_back_makes_no_heartbeat_older_than_one_before(interval_ms, step_ms):
    sent, clock = [], Clock()
    collect = CollectSettings(collector="c", heartbeat_interval_ms=interval_ms)

    async def beat():
        watch = ClusterWatch("prod", KafkaSettings(), JmxExporterSettings(), collect, reserve_of, sent.extend, clock)
        try:
            for back_ms in (0, 30_000, -interval_ms):
                clock.at_ms -= back_ms
                await watch._heartbeat()
        finally:
            watch.close()

    asyncio.run(asyncio.wait_for(beat(), DEADLINE_S))
    assert [decoded(outgoing).timestamp_ms for outgoing in sent] == [T0, T0 + step_ms, T0 + step_ms + interval_ms]


def test_a_heartbeat_says_for_how_long_samples_are_overdue():
    sent, clock = [], Clock()
    collect = CollectSettings(collector="c")

    async def beat():
        watch = ClusterWatch(
            "prod",
            KafkaSettings(),
            JmxExporterSettings(),
            collect,
            reserve_of,
            sent.extend,
            clock,
            samples_overdue_ms=lambda: 7_000,
        )
        try:
            await watch._heartbeat()
        finally:
            watch.close()

    asyncio.run(asyncio.wait_for(beat(), DEADLINE_S))
    assert [decoded(outgoing).samples_overdue_ms for outgoing in sent] == [7_000]


def test_a_round_is_progress_when_it_ends_without_an_error():
    ended = []

    async def second_fails(number):
        if number == 2:
            raise ZeroDivisionError

    with structlog.testing.capture_logs():
        run_until(second_fails, 3, ended=lambda: ended.append(1))
    assert len(ended) in {1, 2}, "the first, and the third if it had ended"


def test_the_rounds_of_a_cluster_are_watched_from_when_they_begin():
    async def rounds():
        watch = ClusterWatch(
            "prod", KafkaSettings(), JmxExporterSettings(), CollectSettings(), reserve_of, lambda _: None, Clock()
        )
        watch.poller.poll = asyncio.Event().wait
        running = asyncio.create_task(watch.run())
        try:
            await asyncio.wait_for(_has(watch, 3), DEADLINE_S)
            undiscovered = [beat.loop for beat in watch.beats]
            watch.poller.discovered.set()
            await asyncio.wait_for(_has(watch, 6), DEADLINE_S)
            return undiscovered, [(beat.loop, beat.longest_s) for beat in watch.beats]
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            watch.close()

    async def _has(watch, count):
        while len(watch.beats) < count:
            await asyncio.sleep(0)

    undiscovered, watched = asyncio.run(rounds())
    assert undiscovered == ["poll:prod", "heartbeat:prod", "canary:prod"]
    assert dict(watched) == {
        "poll:prod": 15.0,
        "heartbeat:prod": 25.0,
        "canary:prod": 3_660.0,
        "inventory:prod": 660.0,
        "partitions:prod": 65.0,
        "exporters:prod": 75.0,
    }


def test_the_first_answer_wins_and_the_rest_is_not_waited_for():
    async def answers():
        return "me"

    async def fails():
        raise ConnectionError("no")

    async def hangs():
        await asyncio.Event().wait()

    assert asyncio.run(asyncio.wait_for(first_answer([hangs(), fails(), answers()]), DEADLINE_S)) == "me"


def test_when_nobody_answers_the_last_error_says_why():
    async def fails():
        raise ConnectionError("no")

    with pytest.raises(ConnectionError):
        asyncio.run(first_answer([fails(), fails()]))
