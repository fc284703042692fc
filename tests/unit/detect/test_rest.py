"""Histories of brokers whose answers mostly change nothing but numbers."""

from hypothesis import strategies as st

from logdirwatch.detect import machine
from logdirwatch.detect.observations import Event, HostView, Sample
from logdirwatch.detect.settings import DetectSettings, ThresholdRule, Thresholds
from logdirwatch.detect.state.broker_state import BrokerMemory
from logdirwatch.model.identity import Origin
from logdirwatch.model.records import PartitionHealth, ReplicaMoves
from logdirwatch.model.vocabulary import LOG_DIR_THROTTLE, SCRAPE_AGE_MS
from tests.unit.detect.builders import GIB, POLL_MS, T0, TOTAL, event, host_dir, host_view, log_dir, metrics

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


def test_a_fleet_at_rest_raises_no_alert():
    memory = BrokerMemory(cluster="prod", broker=7)
    for seen in fleet_at_rest(30_000, HOUR_MS // 30_000):
        assert not machine.advance(memory, seen, seen.origin.kafka_timestamp_ms, SETTINGS[0]).alerts
