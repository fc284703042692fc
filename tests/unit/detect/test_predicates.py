import pytest

from logdirwatch.config.section import GIB, MIB, TIB
from logdirwatch.detect import predicates
from logdirwatch.detect.settings import Thresholds
from logdirwatch.detect.state.broker_state import BrokerMemory, LogDirMemory
from logdirwatch.detect.state.forecast import Grown
from logdirwatch.model.vocabulary import Cause, LogDirStatus, MetadataMode

ONLINE, FILLING, CRITICAL, SATURATED = (
    LogDirStatus.ONLINE,
    LogDirStatus.FILLING,
    LogDirStatus.CRITICAL,
    LogDirStatus.SATURATED,
)
THRESHOLDS = Thresholds()
TOTAL = 1000 * GIB


def usable(ratio, total=TOTAL):
    return round(total * (1 - ratio))


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [
        (0.0, ONLINE),
        (0.7499, ONLINE),
        (0.75, FILLING),
        (0.8499, FILLING),
        (0.85, CRITICAL),
        (0.9499, CRITICAL),
        (0.95, SATURATED),
        (1.0, SATURATED),
    ],
)
def test_a_small_directory_is_judged_by_ratio(ratio, expected):
    assert predicates.level(THRESHOLDS, TOTAL, usable(ratio)) == expected


@pytest.mark.parametrize(
    ("free_bytes", "expected"),
    [
        (401 * GIB, FILLING),
        (399 * GIB, CRITICAL),
        (101 * GIB, CRITICAL),
        (99 * GIB, SATURATED),
    ],
)
def test_a_directory_over_four_tebibytes_is_judged_by_free_bytes(free_bytes, expected):
    assert predicates.level(THRESHOLDS, 16 * TIB, free_bytes) == expected


def test_free_bytes_never_come_before_the_ratio():
    thresholds = Thresholds(large_critical_free_bytes=3 * TIB)
    assert predicates.level(thresholds, 8 * TIB, 2 * TIB) == FILLING


@pytest.mark.parametrize(
    ("current", "ratio", "expected"),
    [
        (ONLINE, 0.76, FILLING),
        (FILLING, 0.71, FILLING),
        (FILLING, 0.69, ONLINE),
        (CRITICAL, 0.81, CRITICAL),
        (CRITICAL, 0.79, FILLING),
        (SATURATED, 0.91, SATURATED),
        (SATURATED, 0.85, CRITICAL),
        (SATURATED, 0.50, ONLINE),
        (ONLINE, 0.97, SATURATED),
    ],
)
def test_a_level_goes_back_only_five_points_below_its_threshold(current, ratio, expected):
    assert predicates.proposed_level(THRESHOLDS, current, predicates.Room(TOTAL, usable(ratio))) == expected


@pytest.mark.parametrize(
    ("current", "proposals", "expected"),
    [
        (ONLINE, [FILLING], ONLINE),
        (ONLINE, [FILLING, FILLING], FILLING),
        (ONLINE, [CRITICAL, SATURATED], CRITICAL),
        (ONLINE, [SATURATED, SATURATED], SATURATED),
        (ONLINE, [FILLING, ONLINE], ONLINE),
        (SATURATED, [ONLINE, FILLING], FILLING),
        (CRITICAL, [FILLING, SATURATED], CRITICAL),
    ],
)
def test_two_samples_must_support_a_change_and_only_what_both_support_happens(current, proposals, expected):
    assert predicates.debounced_level(current, proposals, 2) == expected


def before_failure(usable_bytes, *, age_ms=4_000, growth=None, total_bytes=TOTAL):
    return LogDirMemory(
        sample_at_ms=100_000 - age_ms,
        interval_ms=5_000,
        total_bytes=total_bytes,
        usable_bytes=usable_bytes,
        growth_bytes_per_s=growth,
    )


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        (before_failure(40 * MIB), (Cause.FULL, "usable_under_reserve")),
        (before_failure(40 * MIB + 1), (Cause.UNKNOWN, "space_was_left")),
        (before_failure(0, age_ms=10_000), (Cause.FULL, "usable_under_reserve")),
        (before_failure(0, age_ms=10_001, growth=None), (Cause.FULL, "growth_reached_zero")),
        (before_failure(1_000 * MIB, growth=300.0 * MIB), (Cause.FULL, "growth_reached_zero")),
        (before_failure(1_000 * MIB, growth=200.0 * MIB), (Cause.UNKNOWN, "space_was_left")),
        (before_failure(1_000 * MIB, growth=-500.0 * MIB), (Cause.UNKNOWN, "space_was_left")),
        (before_failure(500 * GIB, age_ms=10_001), (Cause.UNKNOWN, "sample_too_old")),
        (LogDirMemory(), (Cause.UNKNOWN, "no_sample_before")),
        (before_failure(3 * MIB, total_bytes=64 * MIB), (Cause.FULL, "usable_under_reserve")),
        (before_failure(4 * MIB, total_bytes=64 * MIB), (Cause.UNKNOWN, "space_was_left")),
    ],
)
def test_the_free_bytes_before_the_failure_tell_a_full_disk_and_never_a_broken_one(memory, expected):
    assert predicates.offline_cause(memory, THRESHOLDS, 100_000) == expected


def test_growth_is_smoothed_and_what_was_seen_over_many_polls_counts_for_many():
    assert predicates.growth(None, Grown(100, 10_000), 10_000) == 10.0
    assert predicates.growth(20.0, Grown(100, 10_000), 10_000) == pytest.approx(17.0)
    assert predicates.growth(20.0, Grown(300, 30_000), 10_000) == pytest.approx(20 - 10 * (1 - 0.7**3))
    assert predicates.growth(20.0, Grown(3_000, 300_000), 5_000) == pytest.approx(10.0)


def broker_of(**statuses):
    return BrokerMemory(
        cluster="c", broker=1, log_dirs={f"/{path}": LogDirMemory(status=status) for path, status in statuses.items()}
    )


def test_a_broker_with_zookeeper_halts_with_any_directory_while_it_migrates():
    memory = broker_of(a=SATURATED, b=ONLINE)
    memory.metadata_mode = MetadataMode.MIGRATING
    assert predicates.halts_broker(memory, "/a") == "migration"
    memory.log_dirs["/b"].is_metadata_dir = True
    assert predicates.halts_broker(memory, "/a") is None, "it runs in KRaft mode already"
