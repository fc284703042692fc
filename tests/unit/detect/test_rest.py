"""The short way for directories at rest: it changes nothing of what is said and remembered, and it is taken."""

from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logdirwatch.detect import log_dirs, machine, rest, state_view
from logdirwatch.detect.observations import Event, HostView, Sample
from logdirwatch.detect.settings import DetectSettings, ThresholdRule, Thresholds
from logdirwatch.detect.state.broker_state import BrokerMemory, Change, decode, encode
from logdirwatch.model.identity import Origin
from logdirwatch.model.records import PartitionHealth, ReplicaMoves
from logdirwatch.model.vocabulary import LOG_DIR_THROTTLE, SCRAPE_AGE_MS
from tests.support.properties import examples
from tests.unit.detect.builders import GIB, POLL_MS, T0, TOTAL, event, host_dir, host_view, log_dir, metrics
from tests.unit.detect.test_machine import SETTINGS as OF_MACHINE
from tests.unit.detect.test_machine import histories as of_machine
from tests.unit.detect.test_machine import observations

HOUR_MS = 3_600_000
PATHS = ("/d1", "/d2", "/d3")
SETTINGS = (
    DetectSettings(),
    DetectSettings(
        debounce_samples=3,
        unaccounted_after_ms=0,
        imbalance_after_ms=POLL_MS,
        rules=(ThresholdRule(log_dir="/d2", thresholds=Thresholds(filling_ratio=0.4, filling_within_ms=0)),),
    ),
)

# Nearly always the next poll. Else the same time again, an earlier time, a gap, the next hour, the next week.
paces = st.sampled_from(
    [POLL_MS] * 12 + [0, 1, -POLL_MS, 3 * POLL_MS, 3 * POLL_MS + 1, HOUR_MS // 4, HOUR_MS, 170 * HOUR_MS]
)
collectors = st.sampled_from(["a"] * 8 + ["b"])
# How a directory's use changes from sample to sample: mostly it hardly does.
growths = st.sampled_from([0, 1, -1, GIB, -GIB, 3 * GIB] * 3 + [-40 * GIB, 60 * GIB, 250 * GIB, -250 * GIB])
oddities = st.sampled_from(
    [{}] * 14
    + [
        {"error_code": 56},
        {"error_code": -1},
        {"usable_bytes": None},
        {"total_bytes": TOTAL + 1},
        {"total_bytes": TOTAL + 20 * GIB},
        {"total_bytes": 2 * TOTAL},
        {"capacity_source": "configuration"},
        {"replica_bytes": None},
        {"replica_bytes": 0},
        {"incoming_bytes": 50 * GIB},
        {"incoming_bytes": 900 * GIB, "future_bytes": GIB},
        {"future_bytes": 2 * GIB},
        {"future_bytes": None, "incoming_bytes": None},
        {"is_cordoned": True, "is_metadata_dir": True},
        {"strays": {"t-0": 5}},
    ]
)
reports = st.lists(st.tuples(growths, oddities), min_size=3, max_size=3)
answers = st.tuples(st.just("answer"), reports)
KINDS = ["two_dirs", "replay", "fenced", "timeout", "scan", "old_scan", "moves", "throttled", "elsewhere", "configured"]
other_answers = st.tuples(st.sampled_from(KINDS), reports)
words = st.tuples(
    st.just("event"), st.tuples(st.sampled_from(["LogDirFailure", "LogDirSaturated"]), st.sampled_from([None, *PATHS]))
)
looks = st.builds(
    host_dir,
    st.sampled_from(PATHS),
    free_inodes=st.sampled_from([1, 90, None]),
    total_inodes=st.just(100),
    volume=st.sampled_from(["dev 8:1", "dev 8:2"]),
    probe_error=st.sampled_from([None, None, "EIO"]),
).map(lambda seen: ("look", seen))
steps = st.one_of(*[answers] * 12, other_answers, words, looks)
calm = st.tuples(
    st.just(POLL_MS), st.just("a"), st.tuples(st.just("answer"), st.just([(GIB, {}), (0, {}), (-GIB, {})]))
)
"""An answer in which only numbers change; several follow each other, since the first ones are never at rest."""
stretches = st.tuples(
    st.lists(calm, min_size=3, max_size=4), st.lists(st.tuples(paces, collectors, steps), min_size=1, max_size=3)
)
histories = st.lists(stretches, min_size=1, max_size=8).map(
    lambda found: [step for quiet, odd in found for step in (*quiet, *odd)]
)


def shown(history):
    """Give the steps of a history their times, numbers and places in Kafka."""
    at_ms, used, offsets, last = T0, dict.fromkeys(PATHS, 500 * GIB), {}, None
    for pace_ms, collector, (kind, what) in history:
        at_ms += pace_ms
        topic = "logdir.events" if kind == "event" else "logdir.metrics"
        offsets[topic] = offsets.get(topic, -1) + 1
        origin = Origin(topic, 0, offsets[topic], at_ms)
        if kind == "event":
            yield Event(event(at_ms, *what), origin)
        elif kind == "look":
            yield HostView(host_view(at_ms, what), origin)
        elif kind == "replay" and last is not None:
            yield last
        else:
            last = Sample(_answer(kind, at_ms, collector, used, what), origin)
            yield last


def _answer(kind, at_ms, collector, used, reports):
    dirs = [_sample(path, used, *report) for path, report in zip(PATHS, reports, strict=True)]
    if kind == "fenced":
        return metrics(at_ms, status="timeout", collector=collector, is_fenced=True, controller_at_ms=at_ms)
    if kind == "timeout":
        return metrics(at_ms, status="timeout", collector=collector)
    return metrics(at_ms, *dirs[: 2 if kind == "two_dirs" else 3], collector=collector, **_said(kind, at_ms))


def _said(kind, at_ms):
    """What an answer of a kind says besides its directories."""
    gauges = {"LogFlushTimeMs:p99": 3.0, "OfflineLogDirectoryCount": 0.0}
    return {
        "scan": {"metrics": gauges},
        "old_scan": {"metrics": {**gauges, SCRAPE_AGE_MS: 2.0 * POLL_MS}},
        "moves": {"moves": ReplicaMoves(at_ms=at_ms - POLL_MS // 2, reassignments=0, copies=0, throttles={})},
        "throttled": {"moves": ReplicaMoves(at_ms=at_ms, copies=0, throttles={LOG_DIR_THROTTLE: 5}, reassignments=0)},
        "elsewhere": {"host": "b2", "rack": "r2", "partitions": PartitionHealth(out_of_sync=2)},
        "configured": {"configs": {"log.dirs": "/d1,/d2"}, "is_registered": True, "controller_id": 1},
    }.get(kind, {})


def _sample(path, used, growth_bytes, oddity):
    used[path] = max(0, min(TOTAL, used[path] + growth_bytes))
    number = PATHS.index(path)
    if oddity.get("error_code"):
        return log_dir(path, **oddity)
    fields = {
        "total_bytes": TOTAL,
        "replica_bytes": max(0, used[path] - GIB),
        "replica_count": 7 + number,
        "out_of_sync_count": 0,
        "future_bytes": 0,
        "incoming_bytes": 0,
        "outgoing_bytes": 0,
    } | oddity
    usable = {"usable_bytes": fields.pop("usable_bytes", TOTAL - used[path] + number * GIB // 2)}
    sample = log_dir(path, **fields)
    return type(sample)(**{name: getattr(sample, name) for name in sample.__struct_fields__} | usable)


def lived(steps_shown, judged_by, reloaded=lambda memory: decode(1, encode(memory))):
    """Everything that comes out of a history, step by step: results, state records, and the memory as it is stored."""
    memory, came = BrokerMemory(cluster="prod", broker=7), []
    for seen in steps_shown:
        outcome = machine.advance(memory, seen, seen.origin.kafka_timestamp_ms, judged_by)
        deadline_ms = machine.next_deadline_ms(memory, judged_by)
        news = state_view.has_news(memory, judged_by.state_refresh_ms) and state_view.state_record(memory, [])
        came.append((outcome, deadline_ms, news, encode(memory)))
        memory = reloaded(memory)
    return came


def lived_without(*arguments):
    with patch.object(rest, "take_sample", lambda *_: False):
        return lived(*arguments)


@given(histories, st.sampled_from(SETTINGS))
@examples(100)
def test_the_short_way_leaves_everything_as_the_long_one_does(history, judged_by):
    steps_shown = list(shown(history))
    assert lived(steps_shown, judged_by) == lived_without(steps_shown, judged_by)


@given(of_machine)
@examples(50)
def test_so_it_does_among_failures_of_every_kind(history):
    arguments = observations(history), OF_MACHINE, lambda memory: memory
    assert lived(*arguments) == lived_without(*arguments)


def fleet_at_rest(interval_ms, polls):
    """The answers of a broker of twelve directories that fill and are cleaned, a directory each its own way."""
    for number in range(polls):
        at_ms = T0 + number * interval_ms
        dirs = [
            log_dir(f"/disk{disk}", 0.4 + disk / 50, replica_bytes=TOTAL // 2, replica_count=9, incoming_bytes=0)
            for disk in range(12)
        ]
        sawtooth = [
            type(one)(
                **{name: getattr(one, name) for name in one.__struct_fields__}
                | {"usable_bytes": one.usable_bytes - (number * (disk + 1) % 40) * 100_000_000}
            )
            for disk, one in enumerate(dirs)
        ]
        yield Sample(metrics(at_ms, *sawtooth, interval_ms=interval_ms), Origin("logdir.metrics", 0, number, at_ms))


@pytest.mark.parametrize("interval_ms", [5_000, 10_000, 30_000])
def test_a_fleet_at_rest_takes_the_short_way(interval_ms):
    memory, judged_by = BrokerMemory(cluster="prod", broker=7), DetectSettings()
    taken = []

    def counted(*arguments):
        taken.append(rest_take_sample(*arguments))
        return taken[-1]

    rest_take_sample = rest.take_sample
    with patch.object(log_dirs.rest, "take_sample", counted):
        for seen in fleet_at_rest(interval_ms, 2 * HOUR_MS // interval_ms):
            outcome = machine.advance(memory, seen, seen.origin.kafka_timestamp_ms, judged_by)
            assert not outcome.alerts
    assert sum(taken) / len(taken) >= 0.95, f"{sum(taken)} of {len(taken)}"


def test_random_histories_take_it_too():
    """Else the comparison of both ways would say nothing."""
    taken = []
    rest_take_sample = rest.take_sample

    @given(histories)
    @settings(max_examples=50, deadline=None, derandomize=True, database=None)
    def play(history):
        def counted(*arguments):
            taken.append(rest_take_sample(*arguments))
            return taken[-1]

        with patch.object(rest, "take_sample", counted):
            lived(list(shown(history)), SETTINGS[0])

    play()
    assert sum(taken) > len(taken) / 10, f"{sum(taken)} of {len(taken)}"


@pytest.mark.parametrize(
    "given_before",
    [
        {"full_at_ms": T0 + HOUR_MS},
        {"full_at_ms": T0 - HOUR_MS},
        {"full_at_ms": T0 + 30 * 24 * HOUR_MS},
        {"change": Change(why="capacity", at_ms=T0, total_bytes=2 * TOTAL, volume=None)},
        {"event_ms": T0 + HOUR_MS},
        {"reason": "its broker's version of Kafka does not report its size"},
        {"unaccounted_since_ms": T0},
        {"twin": "/d2", "twin_samples": 9},
    ],
)
def test_so_it_does_after_what_takes_days_to_happen(given_before):
    def reloaded(memory):
        memory = decode(1, encode(memory))
        if memory.log_dirs["/d1"].forecast_at_ms is not None and memory.corrected_clocks == 0:
            memory.corrected_clocks = 1
            for name, value in given_before.items():
                setattr(memory.log_dirs["/d1"], name, value)
        return memory

    at_rest = list(shown([(POLL_MS, "a", ("answer", [(GIB, {}), (0, {}), (-GIB, {})]))] * 6))
    assert lived(at_rest, SETTINGS[0], reloaded) == lived_without(at_rest, SETTINGS[0], reloaded)
