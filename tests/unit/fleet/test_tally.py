"""The sums over the brokers of a cluster: what each adds, and what changes when it is seen again or goes."""

import pytest

from logdirwatch.detect.alerts.urgency import NIGHT_MS
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.fleet.machine import digest
from logdirwatch.fleet.memory import FleetMemory
from logdirwatch.fleet.tally import Tally
from tests.unit.fleet.builders import SILENCE, T0, filling, log_dir, state

GB = 10**9


def seen(broker, *dirs, **fields):
    return digest(state(broker, *(dirs or (log_dir(),)), **fields), None, T0)


def tally(brokers=None, **detect):
    return Tally(FleetMemory(cluster="prod", brokers=brokers or {}), DetectSettings(**detect))


def sums(*dirs, **fields):
    return tally({1: seen(1, *dirs, **fields)}).sums


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
