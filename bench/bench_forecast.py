"""The forecast of detect against two simple ones, over generated histories.

A straight line through the last six hours, and the growth of this week's peak over last week's.

    python bench/bench_forecast.py [--histories 1200]

Prints for each of them, for each kind of history: the median relative error of the time to full while it is four days
or less away, warnings that were false for a disk and month, and saturations that no warning came before. ``detect``
warns too when running moves bring more than fits; the others know of no moves.
"""

import argparse
import math
import random
import statistics
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

from logdirwatch.config.section import HOUR_MS
from logdirwatch.detect.state.forecast import NO_MOVES, Moving, Peaks, forecast, missing_bytes, note

DAY_MS = 24 * HOUR_MS
MONTH_MS = 30 * DAY_MS
STEP_MS = 10 * 60_000
TOTAL_BYTES = 10**12
WARN_MS = 4 * DAY_MS
KINDS = ("steady", "sawtooth", "wave", "burst", "copy", "gap", "week", "plateau", "step")
DAY_HOURS, WEEK_HOURS = 24, 168


class Judged(NamedTuple):
    """What is told of a disk at a time: how long until it is full, and whether what running moves bring fits."""

    at_ms: int
    full_in_ms: float | None
    do_moves_fit: bool = True

    @property
    def warns(self) -> bool:
        return not self.do_moves_fit or (self.full_in_ms is not None and self.full_in_ms <= WARN_MS)


class Sample(NamedTuple):
    at_ms: int
    used_bytes: int
    moving: Moving


class History(NamedTuple):
    kind: str
    samples: list[Sample]
    full_at_ms: int | None


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--histories", type=int, default=1_200)
    histories = [
        made(KINDS[seed % len(KINDS)], random.Random(seed)) for seed in range(arguments.parse_args().histories)
    ]
    filled = sum(history.full_at_ms is not None for history in histories)
    print(f"{len(histories)} histories of up to 30 days, {filled} of them fill the disk\n")
    print(f"{'':<10}{'forecast':>27}{'line over 6 h':>30}{'peaks of two weeks':>30}")
    print(f"{'kind':<10}" + f"{'error':>9}{'false':>9}{'missed':>9}   " * 3)
    judges = (of_forecast, of_line, of_weeks)
    ways = [[(history, judge(history.samples)) for history in histories] for judge in judges]
    for kind in (*KINDS, "all"):
        columns = [score([item for item in judged if kind in (item[0].kind, "all")]) for judged in ways]
        print(f"{kind:<10}" + "".join(f"{error:>9.3f}{false:>9.3f}{missed:>9}   " for error, false, missed in columns))


def made(kind: str, rng: random.Random) -> History:
    """Return one disk's month: a trend that fills it or not, noise, and what its kind adds."""
    fills = rng.random() < 0.6
    base, noise = rng.uniform(0.3, 0.6) * TOTAL_BYTES, rng.uniform(0.0005, 0.003) * TOTAL_BYTES
    daily = rng.uniform(0.003, 0.03) if fills else rng.uniform(-0.001, 0.0004)
    add = _addition(kind, rng, fills)
    start_ms = rng.uniform(3, 25) * DAY_MS
    gap_ms = rng.uniform(2, 30) * HOUR_MS if kind == "gap" else 0.0
    samples: list[Sample] = []
    for at_ms in range(0, MONTH_MS, STEP_MS):
        added, moving = add(at_ms, start_ms)
        trend = 0.0 if kind in {"burst", "plateau"} else daily * TOTAL_BYTES * at_ms / DAY_MS
        used = base + trend + added + rng.gauss(0, noise)
        if used >= TOTAL_BYTES:
            return History(kind, samples, at_ms)
        if not start_ms <= at_ms < start_ms + gap_ms:
            samples.append(Sample(at_ms, int(used), moving))
    return History(kind, samples, None)


def _addition(kind: str, rng: random.Random, fills: bool) -> Callable[[int, float], tuple[float, Moving]]:
    depth, period_ms = rng.uniform(0.02, 0.1) * TOTAL_BYTES, rng.uniform(2, 12) * HOUR_MS
    rate, lasts_ms = rng.uniform(0.2, 2.0) * TOTAL_BYTES / DAY_MS, rng.uniform(2, 10) * HOUR_MS
    risen = rng.uniform(0.15, 0.35) * TOTAL_BYTES
    copied, copy_ms = rng.uniform(0.05, 0.25) * TOTAL_BYTES, rng.uniform(1, 8) * HOUR_MS

    def sawtooth(at_ms: int, _: float) -> tuple[float, Moving]:
        return depth * (at_ms % period_ms) / period_ms, NO_MOVES

    def wave(at_ms: int, _: float) -> tuple[float, Moving]:
        return depth * math.sin(2 * math.pi * at_ms / DAY_MS), NO_MOVES

    def burst(at_ms: int, start_ms: float) -> tuple[float, Moving]:
        since_ms = max(0.0, at_ms - start_ms)
        return rate * (since_ms if fills else min(since_ms, lasts_ms)), NO_MOVES

    def copy(at_ms: int, start_ms: float) -> tuple[float, Moving]:
        done = min(1.0, max(0.0, (at_ms - start_ms) / copy_ms))
        if at_ms < start_ms or done == 1:
            return done * copied, Moving(0, 0)
        return done * copied, Moving(int(done * copied), int((1 - done) * copied))

    def week(at_ms: int, _: float) -> tuple[float, Moving]:
        """Three days of a topic that is half as busy on weekends are kept, and a holiday falls into the third week."""
        first = int(at_ms // HOUR_MS) - 3 * DAY_HOURS
        busy = sum(_rate(hour, off=0.5, holiday=16) for hour in range(first, first + 3 * DAY_HOURS))
        return 4 * depth * busy / (3 * DAY_HOURS), NO_MOVES

    def plateau(at_ms: int, start_ms: float) -> tuple[float, Moving]:
        """A new topic grows until its retention begins to delete, or is too large for the disk."""
        return risen / (4 * DAY_MS) * min(max(0.0, at_ms - start_ms / 3), 1e15 if fills else 4 * DAY_MS), NO_MOVES

    def step(at_ms: int, start_ms: float) -> tuple[float, Moving]:
        return (copied if at_ms >= start_ms / 2 else 0.0), NO_MOVES

    def nothing(_: int, __: float) -> tuple[float, Moving]:
        return 0.0, NO_MOVES

    ways = {"sawtooth": sawtooth, "wave": wave, "burst": burst, "copy": copy}
    ways |= {"week": week, "plateau": plateau, "step": step}
    return ways.get(kind, nothing)


def _rate(hour: int, *, off: float, holiday: int) -> float:
    day = hour // DAY_HOURS
    by_day = 1 + 0.5 * math.sin(2 * math.pi * hour / DAY_HOURS)
    return by_day * (off if day % 7 in {5, 6} or day == holiday else 1.0)


def of_forecast(samples: list[Sample]) -> list[Judged]:
    peaks, judged = Peaks(), []
    for sample, is_due in _hourly(samples):
        note(peaks, sample.at_ms, TOTAL_BYTES, sample.used_bytes, sample.moving)
        if is_due:
            found = forecast(peaks, TOTAL_BYTES - sample.used_bytes)
            do_moves_fit = not missing_bytes(peaks, TOTAL_BYTES)
            judged.append(Judged(sample.at_ms, None if found is None else found.full_in_ms, do_moves_fit))
    return judged


def of_line(samples: list[Sample]) -> list[Judged]:
    """Judge by least squares over the last six hours, as a dashboard's predict_linear does."""
    window: list[Sample] = []
    judged: list[Judged] = []
    for sample, is_due in _hourly(samples):
        window = [kept for kept in window if kept.at_ms > sample.at_ms - 6 * HOUR_MS] + [sample]
        if is_due:
            judged.append(Judged(sample.at_ms, _line(window)))
    return judged


def of_weeks(samples: list[Sample]) -> list[Judged]:
    """Judge by the growth of this week's peak over last week's."""
    peaks: list[int] = []
    judged: list[Judged] = []
    for sample, is_due in _hourly(samples):
        if is_due:
            peaks.append(sample.used_bytes)
            judged.append(Judged(sample.at_ms, _between_weeks(peaks)))
        peaks[-1] = max(peaks[-1], sample.used_bytes)
    return judged


def _between_weeks(peaks: list[int]) -> float | None:
    if len(peaks) < 2 * WEEK_HOURS:
        return None
    this = max(peaks[-WEEK_HOURS:])
    grown = this - max(peaks[-2 * WEEK_HOURS : -WEEK_HOURS])
    return (TOTAL_BYTES - this) / grown * WEEK_HOURS * HOUR_MS if grown > 0 else None


def _line(window: list[Sample]) -> float | None:
    if len(window) < 3:
        return None
    slope = statistics.linear_regression([s.at_ms for s in window], [s.used_bytes for s in window]).slope
    return (TOTAL_BYTES - window[-1].used_bytes) / slope if slope > 0 else None


def _hourly(samples: list[Sample]) -> Iterator[tuple[Sample, bool]]:
    hour = None
    for sample in samples:
        yield sample, sample.at_ms // HOUR_MS != hour
        hour = sample.at_ms // HOUR_MS


def score(judged: list[tuple[History, list[Judged]]]) -> tuple[float, float, int]:
    """Return the median error, the false warnings for a disk and month, and the saturations missed."""
    errors, false, missed, months = [], 0, 0, 0.0
    for history, said in judged:
        full_ms = history.full_at_ms
        months += (full_ms or MONTH_MS) / MONTH_MS
        if full_ms is not None:
            near = [one for one in said if full_ms - one.at_ms <= WARN_MS]
            errors += [
                abs(one.full_in_ms - (full_ms - one.at_ms)) / (full_ms - one.at_ms)
                for one in near
                if one.full_in_ms is not None and one.full_in_ms <= WARN_MS
            ]
            missed += not any(one.warns for one in said)
        # A warning is false when the disk has three times as long to live, or lives on.
        is_false = [one.warns and (full_ms is None or full_ms - one.at_ms > 3 * WARN_MS) for one in said]
        false += sum(now and not before for before, now in pairwise([False, *is_false]))
    return statistics.median(errors) if errors else 0.0, false / months, missed


if __name__ == "__main__":
    main()
