"""The sums over the brokers of a cluster: what each adds, and what changes when it is seen again or goes."""

import pytest

from logdirwatch.detect.alerts.urgency import NIGHT_MS
from logdirwatch.detect.settings import DetectSettings, ThresholdRule, Thresholds
from logdirwatch.fleet.machine import digest
from logdirwatch.fleet.memory import FleetMemory
from logdirwatch.fleet.tally import NOTHING, Sums, Tally
from logdirwatch.model.records import PartitionHealth
from tests.unit.fleet.builders import SILENCE, T0, filling, log_dir, state

GB = 10**9
HEALTH = PartitionHealth(leaderless=1, under_min_isr=2, at_min_isr=3, sole_replica=4, internal_leaderless=5)
OF_HEALTH = {"leaderless": 1, "under_min_isr": 2, "at_min_isr": 3, "sole_replica": 4, "internal_leaderless": 5}


def seen(broker, *dirs, **fields):
    return digest(state(broker, *(dirs or (log_dir(),)), **fields), None, T0)


def tally(brokers=None, **detect):
    return Tally(FleetMemory(cluster="prod", brokers=brokers or {}), DetectSettings(**detect))


def sums(*dirs, **fields):
    return tally({1: seen(1, *dirs, **fields)}).sums


def test_a_broker_of_which_no_partitions_are_known_adds_none():
    found = sums(log_dir(), sequence=2)
    assert (found.leaderless, found.under_min_isr, found.sole_replica) == (0, 0, 0)


@pytest.mark.parametrize(
    ("dirs", "filling_brokers", "above", "room", "urgent"),
    [
        ([filling("/a"), filling("/b")], 1, 100 * GB, 0, 0),
        ([filling("/a"), log_dir("/b")], 1, 50 * GB, 250 * GB, 0),
        ([log_dir("/a", 0.9, "critical")], 1, 150 * GB, 0, 1),
        ([log_dir("/a", 0.9, "critical"), log_dir("/b", 0.96, "saturated")], 1, 360 * GB, 0, 1),
        ([filling("/a", full_at_ms=T0 + NIGHT_MS - 1)], 1, 250 * GB, 0, 1),
        ([filling("/a", full_at_ms=T0 + NIGHT_MS)], 1, 250 * GB, 0, 0),
        # A disk that is offline for another reason is not filling, however soon it was to be full.
        ([log_dir("/a", 0.4, "offline", full_at_ms=T0)], 0, 0, 0, 0),
    ],
)
def test_what_filling_disks_add(dirs, filling_brokers, above, room, urgent):
    found = sums(*dirs)
    assert (found.filling_brokers, found.above_bytes, found.room_bytes) == (filling_brokers, above, room)
    assert found.urgent_brokers == urgent


@pytest.mark.parametrize(
    ("fields", "silent", "untold", "away"),
    [
        ({}, 0, 0, 0),
        ({"status": "degraded"}, 0, 0, 0),
        ({"status": "unknown", "reason": SILENCE}, 1, 1, 1),
        ({"status": "offline", "reason": "fenced"}, 0, 1, 1),
        ({"status": "offline", "reason": "fenced", "absence_alerts": {"broker_offline": "x"}}, 0, 0, 1),
        ({"status": "unknown", "reason": SILENCE, "absence_alerts": {"broker_unknown": "x"}}, 1, 1, 1),
    ],
)
def test_who_is_silent_away_and_without_an_alert(fields, silent, untold, away):
    found = sums(**fields)
    assert (found.silent_brokers, found.untold_brokers, found.away_brokers) == (silent, untold, away)


@pytest.mark.parametrize(("flush_ms", "slow"), [(None, 0), (0.0, 0), (99.9, 0), (100.0, 1), (500.0, 1)])
def test_flushes_are_slow_from_the_threshold(flush_ms, slow):
    found = tally({1: seen(1, flush_ms=flush_ms)}, slow_min_ms=100).sums
    assert found.slow_flushes == slow


def test_brokers_are_summed_and_one_seen_again_replaces_itself():
    made = tally({1: seen(1, health=HEALTH), 2: seen(2, filling())})
    both = Sums(brokers=2, filling_brokers=1, above_bytes=50 * GB, room_bytes=250 * GB, **OF_HEALTH)
    assert made.sums == both
    made.put(1, seen(1))
    assert made.sums == Sums(brokers=2, filling_brokers=1, above_bytes=50 * GB, room_bytes=250 * GB)
    made.put(3, seen(3))
    assert made.sums.brokers == 3


def test_a_broker_that_goes_takes_its_share_with_it_and_may_come_back():
    made = tally({1: seen(1, health=HEALTH), 2: seen(2)})
    made.drop(1)
    assert made.sums == Sums(brokers=1, room_bytes=250 * GB)
    made.put(1, seen(1))
    assert made.sums.brokers == 2
    made.drop(1)
    made.drop(2)
    assert made.sums == NOTHING
    made.drop(2)
    assert made.sums == NOTHING, "one that is not there takes nothing with it"


def test_disks_are_judged_by_the_thresholds_of_the_cluster_and_the_directory():
    fast = Thresholds(filling_ratio=0.4)
    rules = (
        ThresholdRule(cluster="other", thresholds=Thresholds(filling_ratio=0.1)),
        ThresholdRule(cluster="prod", log_dir="/fast*", thresholds=fast),
    )
    made = tally(rules=rules)
    slow, quick = made.disks_of(1, seen(1, log_dir("/a"), log_dir("/fast", 0.3)))
    assert (slow.broker, slow.room_bytes, quick.room_bytes) == (1, 250 * GB, 100 * GB)
