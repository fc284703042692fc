"""Growth that retention is about to end, or that ends with a copy, and when a directory is full with it."""

import pytest

from logdirwatch.plan.capacity.timing import end_in_words, time_to_full_ms
from logdirwatch.plan.cluster.layout import full_in_ms
from logdirwatch.plan.relief.running_moves import with_running_moves
from logdirwatch.plan.retention.limits import limits_of
from logdirwatch.plan.retention.plateau import doubts, with_plateau
from tests.unit.plan.builders import MIB, NOW_MS, SIZE, broker, directory, facts, policy, replica, topic

HOUR_MS = 3_600_000
PER_HOUR = 10 * MIB / 3600
BY_SIZE = {"retention.ms": "-1", "retention.bytes": str(240 * MIB)}
AT_ONCE = {"log.retention.check.interval.ms": "0", "log.segment.delete.delay.ms": "0"}


def seen(size, *, used, rate=PER_HOUR, copied=False, configs=None, other_rate=0.0):
    """Return broker 1's directory, in which a topic of ``size`` grows, and another topic at ``other_rate``."""
    one = directory(1, used=used, growth_bytes_per_s=rate + other_rate)
    copy = [replica(1, "/d2", "t", size=MIB, is_future=True)] if copied else []
    limits = {"segment.bytes": str(MIB), "retention.ms": str(24 * HOUR_MS)} | (configs or {})
    snapshot = facts(
        broker(1, **AT_ONCE),
        one,
        topic("t", [1], configs=limits),
        topic("other", [1], configs={"retention.ms": "-1"}),
        replica(1, "/d1", "t", size=size),
        replica(1, "/d1", "other"),
        *copy,
        growth={((1, "/d1"), ("t", 0)): rate, ((1, "/d1"), ("other", 0)): other_rate},
    )
    return with_plateau(one, snapshot)


@pytest.mark.parametrize(
    ("case", "size_mib", "used_mib", "told", "full_in_hours"),
    [
        ("it begins to delete in four hours", 200, 860, {}, None),
        ("it begins to delete, but too late", 20, 860, {}, 14),
        ("it holds more than its limit and grows all the same", 500, 860, {}, 14),
        ("it is limited by size", 200, 860, {"configs": BY_SIZE}, None),
        ("the nearer of two limits ends it", 20, 860, {"configs": {"retention.bytes": str(60 * MIB)}}, None),
        ("nothing limits it", 200, 860, {"configs": {"retention.ms": "-1"}}, 14),
        ("compaction deletes nothing by age", 200, 860, {"configs": {"cleanup.policy": "compact"}}, 14),
        ("compacted and deleted", 200, 860, {"configs": {"cleanup.policy": "compact,delete"}}, None),
        ("its retention stands still while it is copied", 200, 860, {"copied": True}, 14),
        ("its limit is not known", 200, 860, {"configs": {"retention.ms": None}}, 14),
        ("a segment of half its history goes at once", 200, 940, {"configs": {"segment.bytes": str(120 * MIB)}}, 6),
        ("another topic goes on growing", 200, 860, {"other_rate": PER_HOUR / 10}, 89),
        ("what is on remote storage is deleted here sooner", 20, 860,
         {"configs": {"remote.storage.enable": "true", "local.retention.ms": str(4 * HOUR_MS)}}, None),
    ],
)  # fmt: skip
def test_a_directory_is_full_when_what_goes_on_growing_fills_it(case, size_mib, used_mib, told, full_in_hours):
    found = time_to_full_ms(seen(size_mib * MIB, used=used_mib * MIB, **told))
    assert (None if found is None else round(found / HOUR_MS)) == full_in_hours, case


@pytest.mark.parametrize(
    ("case", "used_mib", "told", "full_in_hours"),
    [
        ("its replica has caught up before", 800, {}, None),
        ("there is no room for it", 960, {}, 4),
        ("what it is written meanwhile goes on", 800, {"sibling": PER_HOUR}, 12),
        ("what another topic is written goes on", 800, {"other": PER_HOUR}, 12),
        ("how fast it is written is not known", 800, {"sibling": None}, 12),
        ("it is in sync", 800, {"isr": {0: (1, 2)}}, 20),
        ("a reassignment brings it, which the outlook leaves out", 800, {"incoming_bytes": 80 * MIB}, 12),
    ],
)
def test_what_a_replica_fetches_ends_at_the_size_of_its_leader(case, used_mib, told, full_in_hours):
    """Its 20 MiB are to become 100, at 10 MiB an hour beside all writes, which go on."""
    told = {"sibling": 0.0, "other": 0.0, "isr": {0: (2,)}, "incoming_bytes": None} | told
    written = (told["sibling"] or 0.0) + told["other"]
    used = used_mib * MIB
    one = directory(1, used=used, growth_bytes_per_s=PER_HOUR + written, incoming_bytes=told["incoming_bytes"])
    snapshot = facts(
        one,
        directory(2),
        topic("t", [1, 2], isr=told["isr"]),
        topic("other", [1]),
        replica(1, "/d1", "t", size=20 * MIB),
        replica(2, "/d1", "t", size=100 * MIB),
        replica(1, "/d1", "other"),
        growth={((2, "/d1"), ("t", 0)): told["sibling"], ((1, "/d1"), ("other", 0)): told["other"]},
    )
    counted, _ = with_running_moves(with_plateau(one, snapshot), snapshot, policy())
    found = time_to_full_ms(counted)
    assert (None if found is None else round(found / HOUR_MS)) == full_in_hours, case
    is_said = full_in_hours is None
    assert end_in_words(counted).endswith("at 88.0 % or less, when its replicas have caught up") is is_said


MINUTE_MS = 60_000
AN_HOUR = {"retention.ms": str(HOUR_MS), "segment.bytes": str(4 * MIB), "file.delete.delay.ms": "60000"}


@pytest.mark.parametrize(
    ("minutes", "configs", "check_ms", "ends"),
    [
        # 60 minutes, a segment of 4, a check of 5, a deletion after 1: a replica in balance has up to 70.
        (63, {}, "300000", True),
        (65, {}, "300000", True),
        (69.9, {}, "300000", True),
        (70.1, {}, "300000", False),
        (69.9, {}, None, True),
        (71, {}, "600000", True),
        (76, {}, "600000", False),
        (71, {"file.delete.delay.ms": "180000"}, "300000", True),
        (67, {"segment.ms": "60000"}, "300000", False),
        (66, {"segment.ms": "60000"}, "300000", True),
        (69, {"cleanup.policy": "compact,delete"}, "300000", True),
        (69, {"cleanup.policy": "compact"}, "300000", False),
        (69, {"retention.ms": "-1", "retention.bytes": str(60 * MIB)}, "300000", True),
        (71, {"retention.ms": "-1", "retention.bytes": str(60 * MIB)}, "300000", False),
        (69, {"retention.ms": str(HOUR_MS // 2), "retention.bytes": str(60 * MIB)}, "300000", True),
        (69, {"remote.storage.enable": "true", "retention.ms": "-1", "local.retention.ms": str(HOUR_MS)},
         "300000", True),
    ],
)  # fmt: skip
def test_a_replica_at_the_top_of_its_sawtooth_is_in_balance(minutes, configs, check_ms, ends):
    """What is written until the check and the deletion is no growth beyond the limit."""
    one = directory(1, used=900 * MIB, growth_bytes_per_s=MIB / 60)
    snapshot = facts(
        broker(1, **({} if check_ms is None else {"log.retention.check.interval.ms": check_ms})),
        one,
        topic("t", [1], configs=AN_HOUR | configs),
        replica(1, "/d1", "t", size=int(minutes * MIB)),
        growth={((1, "/d1"), ("t", 0)): MIB / 60},
    )
    left_ms = time_to_full_ms(with_plateau(one, snapshot))
    assert left_ms is None if ends else left_ms == pytest.approx(100 * MINUTE_MS, rel=0.01)


def test_it_is_said_when_growth_ends_and_how_high():
    words = end_in_words(seen(200 * MIB, used=860 * MIB))
    assert words == "/d1 stops growing in about 5 h 8 min, at 91.1 % or less, when retention begins to delete"


@pytest.mark.parametrize(
    ("outlook", "freed_mib", "left_hours"),
    [
        ({}, 0, 4),
        ({"lasting_growth_bytes_per_s": 0.0}, 0, None),
        ({"lasting_growth_bytes_per_s": PER_HOUR / 100}, 0, None),
        ({"lasting_growth_bytes_per_s": PER_HOUR, "full_at_ms": NOW_MS + 9 * HOUR_MS}, 0, 9),
        ({"lasting_growth_bytes_per_s": PER_HOUR, "full_at_ms": NOW_MS + 9 * HOUR_MS}, 20, 11),
        ({"lasting_growth_bytes_per_s": -PER_HOUR, "full_at_ms": None}, 0, None),
    ],
)
def test_the_outlook_decides_and_not_the_growth_of_the_moment(outlook, freed_mib, left_hours):
    one = directory(1, used=SIZE - 40 * MIB, growth_bytes_per_s=PER_HOUR, sample_at_ms=NOW_MS, **outlook)
    found = time_to_full_ms(one, freed_mib * MIB)
    assert (None if found is None else round(found / HOUR_MS)) == left_hours


def test_nothing_left_is_full_now():
    assert full_in_ms(-1, 0.0) == 0


@pytest.mark.parametrize(
    ("size_mib", "configs", "is_doubtful"),
    [
        (1200, {}, True),
        (1200, {"cleanup.policy": "compact"}, False),
        (1200, {"retention.ms": "-1"}, False),
        (230, {}, False),
        (300, {}, False),
        (50_000, {}, False),
    ],
)
def test_a_limit_by_age_is_in_doubt_where_a_topic_outgrew_it(size_mib, configs, is_doubtful):
    limits = {"segment.bytes": str(MIB), "retention.ms": str(24 * HOUR_MS)} | configs
    one = directory(1, growth_bytes_per_s=PER_HOUR, total=100 * SIZE)
    snapshot = facts(
        one,
        topic("t", [1], configs=limits),
        replica(1, "/d1", "t", size=size_mib * MIB),
        growth={((1, "/d1"), ("t", 0)): PER_HOUR},
    )
    here, whole = snapshot.replicas_in((1, "/d1")), policy(min_retention_ms=HOUR_MS)
    assert bool(doubts(one, snapshot)) is is_doubtful
    if is_doubtful:
        assert "timestamps in the future" in doubts(one, snapshot)
        assert [way.key for way in limits_of(snapshot.topics["t"], here, snapshot, whole)] == ["retention.bytes"]
