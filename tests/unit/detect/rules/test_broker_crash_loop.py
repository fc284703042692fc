"""A broker that goes away and comes back again and again, and what is none of that."""

from dataclasses import dataclass

import pytest

from logdirwatch.plan.recommend import recommend
from tests.unit.detect.builders import POLL_MS, Driver, log_dir
from tests.unit.plan import builders
from tests.unit.situations.table import check_schema

MINUTE = 60_000 // POLL_MS
REFUSED, NO_ANSWER = "connection refused: the broker process is probably down", "no answer in 4000 ms"


def up(polls):
    def given(driver):
        for _ in range(polls):
            driver.poll(log_dir("/d1"))

    return given


def away(polls, error=REFUSED, is_fenced=True):
    def given(driver):
        for _ in range(polls):
            at_ms = driver.at_ms + POLL_MS
            driver.poll(status="error", error=error, controller_at_ms=at_ms, is_registered=True, is_fenced=is_fenced)

    return given


def full(polls, used=0.9995, **fields):
    def given(driver):
        for _ in range(polls):
            driver.poll(log_dir("/d1", used, **fields), log_dir("/d2", 0.5))

    return given


def log_says(reason, detail="it says so"):
    return lambda driver: driver.event("BrokerFailure", reason=reason, detail=detail)


def planned(driver):
    driver.plan(3 * 60 * 60_000)


def again(times, *steps):
    return steps * times


CRASH = (up(2 * MINUTE), away(20))
KILL = (up(20), log_says("oom_killed", "out of memory"), away(9))
STOP = (log_says("stopped"), away(12), up(3 * MINUTE))


@dataclass(frozen=True)
class Row:
    """What is shown to a broker that answered, and the severities of ``broker_crash_loop`` in the end, or its end."""

    name: str
    given: tuple
    told: tuple[str, ...]
    says: str = ""


LOUD, QUIET, NONE = ("critical",), ("warning",), ()
ROWS = [
    Row(
        "eight crashes in half an hour",
        (*again(8, *CRASH), up(6)),
        LOUD * 2,
        "came back 6 times within 20 min; why is not",
    ),
    Row("three crashes", (*again(3, *CRASH), up(1)), LOUD, "Broker 7 went away and came back 3 times within"),
    Row("two crashes", (*again(2, *CRASH), up(1)), NONE),
    Row("three crashes with hours in between", again(3, *CRASH, up(70 * MINUTE)), NONE),
    Row("crashes that nobody calls fenced", (*again(3, up(9), away(2, is_fenced=False)), up(1)), LOUD),
    Row("a fence each time, and no word of the port", (*again(3, up(9), away(9, NO_ANSWER)), up(1)), LOUD),
    Row("timeouts are no restarts", (*again(9, up(9), away(2, NO_ANSWER, is_fenced=False)), up(1)), NONE),
    Row("longer than the grace each time", (*again(3, up(9), away(6 * MINUTE)), up(1)), LOUD),
    Row(
        "its log says why",
        (*again(3, up(20), log_says("oom_killed", "out of memory"), away(9)), up(1)),
        LOUD,
        "its log says: out",
    ),
    Row(
        "only the first time its log says why",
        (log_says("killed", "SIGKILL"), *again(3, away(9), up(20))),
        LOUD,
        "its log says: SIGKILL",
    ),
    Row(
        "the kernel says why while it is away",
        (*again(3, up(9), away(3), log_says("oom_killed"), away(9)), up(1)),
        LOUD,
    ),
    Row(
        "a directory is full",
        (*again(3, full(9), away(9)), full(1)),
        LOUD,
        "last seen: directory /d1 saturated at 99.9",
    ),
    Row(
        "its metadata directory is full",
        (*again(3, full(9, is_metadata_dir=True), away(9)), full(1, is_metadata_dir=True)),
        LOUD,
        "last seen: metadata directory /d1 saturated",
    ),
    Row("a directory fills", (*again(3, full(9, 0.9), away(9)), full(1, 0.9)), LOUD, "directory /d1 critical at 90"),
    Row(
        "a directory has failed",
        (*again(3, full(9, error_code=56), away(9)), full(1, error_code=56)),
        LOUD,
        "directory /d1 offline",
    ),
    Row(
        "full, and its log says something else",
        (*again(3, full(20), log_says("oom_killed", "no memory"), away(9)), full(1)),
        LOUD,
        "its log says: no memory; last seen: directory /d1 saturated",
    ),
    Row("a controlled restart", STOP, NONE),
    Row("a broker that is rolled twice", again(2, *STOP), NONE),
    Row("three by hand", again(3, *STOP), NONE),
    Row("a supervisor that stops it again and again", again(6, *STOP), QUIET, "can wait until morning: yes"),
    Row("restarts that were announced", (planned, *again(8, *CRASH), up(6)), NONE),
    Row("it stays up for nine minutes", (*again(3, *CRASH), up(9 * MINUTE)), LOUD),
    Row("it stays up", (*again(3, *CRASH), up(11 * MINUTE)), (*LOUD, "recovered")),
    Row("it stays no longer than before", (*again(3, up(12 * MINUTE), away(9)), up(20 * MINUTE)), LOUD),
    Row("it stays longer than before", (*again(3, up(12 * MINUTE), away(9)), up(25 * MINUTE)), (*LOUD, "recovered")),
    Row("nobody looks for an hour", (*again(3, *CRASH), up(3), lambda d: d.wait(60_000).wait(3_600_000), up(1)), LOUD),
    Row("it crashes once more", (*again(3, *CRASH), up(11 * MINUTE), *CRASH, up(1)), (*LOUD, "recovered", *LOUD)),
    Row("it crashes for good", (*again(3, *CRASH), up(9), away(7 * MINUTE)), LOUD),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_restarts_within_an_hour_are_one_alert_with_its_reason(row):
    driver = Driver()
    up(4)(driver)
    for step in row.given:
        step(driver)
    told = [alert for alert in driver.alerts if alert.rule == "broker_crash_loop"]
    assert tuple(str(one.severity) if one.status == "firing" else one.reason for one in told) == row.told
    assert row.says in "".join(alert.summary for alert in told[-1:])
    assert len({("until morning: no" in alert.summary) for alert in told if alert.status == "firing"}) <= 1
    assert len(driver.memory.episodes) <= 24
    check_schema("alerts", told)


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ((full(9), away(9)), "make room in /d1 of broker 7, or it halts again"),
        ((full(9, 0.96), away(9)), "make room in /d1"),
        ((full(9, 0.9), away(9)), "find out why the broker ends"),
        ((full(9, 0.5), away(9)), "find out why the broker ends"),
        ((full(20), log_says("oom_killed", "no memory"), away(9)), "give its host or container more memory"),
        ((full(20), log_says("disk_full", "/d1: No space left"), away(9)), "make room on the disk that its log names"),
    ],
)
def test_a_full_directory_is_the_reason_where_no_log_says_another(steps, told):
    driver = Driver()
    for step in (*again(4, *steps), steps[0]):
        step(driver)
    (alert,) = [alert for alert in driver.open_alerts() if alert.rule == "broker_crash_loop"]
    found = recommend(alert, builders.facts(builders.directory(7, "/d1")), builders.policy(), builders.NOW_MS)
    assert told in found[0].reason


def test_the_remedy_is_that_of_its_reason():
    driver = Driver()
    for step in again(4, *KILL):
        step(driver)
    (alert,) = [alert for alert in driver.open_alerts() if alert.rule == "broker_crash_loop"]
    (found,) = recommend(alert, builders.facts(builders.directory(7, "/d1")), builders.policy(), builders.NOW_MS)
    assert (found.kind, "out of memory" in found.reason) == ("investigate", True)
