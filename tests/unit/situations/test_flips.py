"""Steady noise: what turns back and forth between two answers is told a few times, not at every poll."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from logdirwatch.model.records import KernelNews, LogDirSample, PartitionHealth
from tests.unit.detect.builders import GIB, POLL_MS, TOTAL, Driver, host_dir, log_dir

POLLS = 360
MOST = 18
"""Records of one rule about one place in half an hour: three alerts before it counts as flapping, and what they say."""
HELD = {"replica_count": 100, "replica_bytes": 400 * GIB, "out_of_sync_count": 0}


def a(used=0.5, **fields):
    return log_dir("/a", used, **HELD | fields)


B = log_dir("/b", 0.4, **HELD)
FAILED = log_dir("/a", error_code=56)
FENCED = {"status": "timeout", "is_registered": True, "is_fenced": True}


def seen(**fields):
    well = {"volume": "x", "is_root_volume": False, "is_read_only": False, "probe_ms": 1.0}
    return (host_dir("/a", **well | fields), host_dir("/b", **well | {"volume": "y"}))


def said(trouble, text, device="sdb", *, is_over=False):
    return {"kernel": [KernelNews(trouble=trouble, text=text, device=device, is_over=is_over)]}


@dataclass(frozen=True)
class Noise:
    """Two answers of the broker, and two looks of its host, between which it turns."""

    name: str
    answers: tuple = ((a(), B), (a(), B))
    looks: tuple = ()
    fields: tuple = ({}, {})


NO_PROBE = {"probe_error": "no answer for 10 s", "probe_ms": None}
ROWS = [
    *(
        Noise(f"its use is {low:.0%} and {high:.0%}", ((a(low), B), (a(high), B)))
        for low, high in [
            (0.74, 0.76),
            (0.84, 0.86),
            (0.69, 0.76),
            (0.79, 0.86),
            (0.89, 0.96),
            (0.72, 0.88),
            (0.5, 0.9),
        ]
    ),
    Noise("a probe fails and passes", looks=(seen(), seen(**NO_PROBE))),
    Noise("a probe is slow and fast", looks=(seen(), seen(probe_ms=400.0))),
    Noise("its mount is read-only and writable", looks=(seen(), seen(is_read_only=True))),
    Noise("its replicas lag and keep up", ((a(), B), (a(out_of_sync_count=60), B))),
    Noise("it fails and is back", ((a(), B), (FAILED, B))),
    Noise("its file system can and cannot be asked", ((a(), B), (log_dir("/a", error_code=-1), B))),
    Noise("it leaves the report and is back", ((a(), B), (B,))),
    Noise("its size is reported and is not", ((a(0.8), B), (LogDirSample(path="/a", error_code=0, **HELD), B))),
    Noise("its size changes", ((a(), B), (a(total_bytes=TOTAL * 98 // 100), B))),
    Noise("its volume changes", looks=(seen(), seen(volume="z"))),
    Noise("it is on the root volume and is not", looks=(seen(), seen(is_root_volume=True))),
    Noise("its reserve file is there and is not", looks=(seen(is_reserve_there=True), seen(is_reserve_there=False))),
    Noise("moves fit and do not", ((a(0.8, incoming_bytes=0), B), (a(0.8, incoming_bytes=300 * GIB), B))),
    Noise(
        "a path is lost and back",
        looks=(seen(**said("path_lost", "lost")), seen(**said("path_lost", "back", is_over=True))),
    ),
    Noise(
        "a server is silent and back, and so is the probe",
        looks=(
            seen(**said("server_not_responding", "nfs", "nas"), **NO_PROBE),
            seen(**said("server_not_responding", "nfs", "nas", is_over=True)),
        ),
    ),
    Noise(
        "an array loses its member and has it again",
        looks=(
            seen(**said("array_degraded", "md/raid1:md0: Disk failure on sdb1", "sdb1")),
            seen(**said("array_degraded", "md: md0: recovery done", "md0", is_over=True)),
        ),
    ),
    Noise("of two that failed one is back", ((FAILED, B), (FAILED, log_dir("/b", error_code=56)))),
    Noise(
        "it is offline, and partitions have leaders and have none",
        ((FAILED, B), (FAILED, B)),
        fields=({"partitions": PartitionHealth()}, {"partitions": PartitionHealth(leaderless=3)}),
    ),
    Noise("the broker answers and does not", ((a(), B), ()), fields=({}, {"status": "timeout"})),
    Noise("the broker is away, fenced and not", ((), ()), fields=({"status": "timeout"}, FENCED)),
    Noise(
        "the broker is away, and partitions have leaders and have none",
        ((), ()),
        fields=({**FENCED, "partitions": PartitionHealth()}, {**FENCED, "partitions": PartitionHealth(leaderless=3)}),
    ),
    Noise(
        "the broker is away, and why changes",
        ((), ()),
        fields=({"status": "timeout"}, {"status": "error", "error": "connection reset"}),
    ),
]
PATTERNS = {
    "at every poll": lambda number, _: number % 2,
    "every minute": lambda number, _: number // 13 % 2,
    "at random": lambda _, drawn: drawn.randint(0, 1),
}


def shown(row: Noise, pattern: Callable[[int, random.Random], int], polls: int = POLLS) -> Driver:
    driver, drawn = Driver(), random.Random(7)
    for number in range(-30, polls):
        which = pattern(number, drawn) if number >= 0 else 0
        is_begun = number >= 0
        fields = row.fields[which] if is_begun else {"partitions": PartitionHealth()}
        if "is_fenced" in fields:
            fields = fields | {"controller_at_ms": driver.at_ms + POLL_MS}
        driver.poll(*(row.answers[which] if is_begun else (a(), B)), **fields)
        driver.host(*(row.looks[which] if row.looks and is_begun else seen()))
    return driver


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_turns_back_and_forth_is_told_a_few_times(row, pattern):
    driver = shown(row, PATTERNS[pattern])
    told = Counter((str(alert.rule), alert.log_dir) for alert in driver.alerts)
    assert [(place, times) for place, times in told.items() if times > MOST] == []


@dataclass(frozen=True)
class After:
    """What follows the noise of a row, and what the alert says then."""

    name: str
    row: str
    then: tuple
    looks: tuple = field(default=seen())
    polls: int = 1
    severity: str | None = None
    says: str = ""


AFTER = [
    After("a higher severity is told at once", "its use is 79% and 86%", (a(0.99), B), polls=2, severity="page"),
    After("a lower one once it has lasted", "its use is 79% and 86%", (a(0.8), B), polls=130, severity="warning"),
    After(
        "a new fact is told at once",
        "a probe fails and passes",
        (a(), B),
        seen(**NO_PROBE, **said("device_error", "I/O error, dev sdb, sector 9")),
        severity="critical",
        says="I/O error",
    ),
    After(
        "a fault that stays is told as one",
        "a probe fails and passes",
        (a(), B),
        seen(**NO_PROBE),
        polls=130,
        severity="warning",
        says="Broker 7 /a is suspect",
    ),
    After(
        "one that comes and goes is told as that",
        "a probe fails and passes",
        (a(), B),
        seen(**NO_PROBE),
        severity="warning",
        says="is flapping",
    ),
    After("health for ten minutes ends it", "a probe fails and passes", (a(), B), polls=130),
]


@pytest.mark.parametrize("case", AFTER, ids=lambda case: case.name)
def test_what_is_new_or_has_lasted_is_told(case):
    row = next(row for row in ROWS if row.name == case.row)
    driver = shown(row, PATTERNS["at every poll"])
    for _ in range(case.polls):
        driver.poll(*case.then)
        driver.host(*case.looks)
    found = [alert for alert in driver.open_alerts() if alert.rule in {"log_dir_space", "log_dir_suspect"}]
    assert [str(alert.severity) for alert in found] == ([] if case.severity is None else [case.severity])
    assert all(case.says in alert.summary for alert in found)


def test_one_absence_has_one_alert():
    row = next(row for row in ROWS if row.name == "the broker is away, fenced and not")
    driver = shown(row, PATTERNS["every minute"])
    assert len({alert.alert_id for alert in driver.alerts}) <= 2
    assert [str(alert.rule) for alert in driver.open_alerts()] == ["broker_offline"]
