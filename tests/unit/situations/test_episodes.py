"""What a broker went through before, as evidence: failures that Kafka did not act on, recoveries that progress,
disks that make writes refused."""

from dataclasses import dataclass
from itertools import pairwise

import pytest

from logdirwatch.collect.host.news import NewsDesk
from logdirwatch.model.records import PartitionHealth
from logdirwatch.parse.broker_log.findings import LogsLoaded
from logdirwatch.plan.recommend import recommend
from tests.unit.detect.builders import POLL_MS, Driver, host_dir, host_view, log_dir
from tests.unit.detect.rules.test_kernel_errors import healthy
from tests.unit.plan import builders
from tests.unit.situations.broker_logs import entry, show_log
from tests.unit.situations.table import check_schema

CHANNEL = "org.apache.kafka.storage.internals.log.LogDirFailureChannel"
MINUTE = 60_000 // POLL_MS
WELL = PartitionHealth()


def says(message, exception):
    return lambda driver: show_log(driver, entry(message, exception, CHANNEL))


def serves(polls, *offline, **fields):
    def given(driver):
        for _ in range(polls):
            driver.poll(*(log_dir(path, 0.5, error_code=56 * (path in offline)) for path in ("/d0", "/d1")), **fields)

    return given


def away(polls, error="connection refused", **fields):
    def given(driver):
        for _ in range(polls):
            driver.poll(status="timeout", error=error, controller_at_ms=driver.at_ms + POLL_MS, **fields)

    return given


def fenced(polls, error="connection refused", **fields):
    return away(polls, error, is_registered=True, is_fenced=True, **fields)


def host_reads_start(after_ms=1):
    def given(driver):
        driver.at_ms += after_ms
        driver.show(host_view(driver.at_ms, host_dir("/d1"), broker_started_ms=driver.at_ms))

    return given


def declared_healthy(driver):
    healthy(driver, path="/d1")


READ_ONLY = says(
    "Error while writing to checkpoint file /d1/recovery-point-offset-checkpoint",
    "java.io.IOException: Read-only file system",
)
QUOTA = says("Error while appending records to t-0 in dir /d1", "java.io.IOException: Disk quota exceeded")
BROKEN = says("Error while flushing log for t-0 in dir /d1 with offset 7", "java.io.IOException: Input/output error")
UNNAMED = says("Error while deleting segments for t-0 in dir /d1", "java.nio.file.NoSuchFileException: /d1/t-0/1.log")
OTHER_READ_ONLY = says(
    "Error while rolling log segment for t-0 in dir /d0", "java.io.IOException: Read-only file system"
)


@dataclass(frozen=True)
class Row:
    """What is shown after both directories served, and what ``log_dir_offline`` of /d1 says in the end.

    ``open``: its cause if it fires, None if it does not. ``ends``: how often one ended, with whatever reason.
    """

    name: str
    given: tuple
    open: str | None
    ends: tuple = ()
    says: tuple[str, ...] = ()
    never_says: tuple[str, ...] = ()


IGNORED = "Kafka did not act on it: DescribeLogDirs has called /d1 online since"
ROWS = [
    Row("polls alone heal nothing", (READ_ONLY, serves(5 * MINUTE)), "read_only", says=(IGNORED, "until morning: no")),
    Row("nor for a day", (BROKEN, serves(24 * 60)), "failed", says=(IGNORED,)),
    Row(
        "nor if the line names no cause", (UNNAMED, serves(MINUTE)), "unknown", says=(IGNORED, "the broker's log says")
    ),
    Row(
        "nor if every partition is well",
        (READ_ONLY, serves(MINUTE, partitions=WELL)),
        "read_only",
        says=("morning: no",),
    ),
    Row("the handler has not acted yet", (QUOTA, serves(1)), "full", never_says=(IGNORED,)),
    Row("the handler needs one poll", (QUOTA, serves(1), serves(4, "/d1")), "full", never_says=(IGNORED,)),
    Row("the handler needs two minutes", (QUOTA, serves(2 * MINUTE), serves(4, "/d1")), "full"),
    Row("the line is read after two good polls", (serves(2), QUOTA, serves(1), serves(4, "/d1")), "full"),
    Row("the poll comes first", (serves(1, "/d1"), QUOTA, serves(2, "/d1")), "full", never_says=(IGNORED,)),
    Row("two timeouts are no start", (READ_ONLY, serves(9), away(2, "no answer in 4000 ms"), serves(9)), "read_only"),
    Row(
        "a pause with a fence is no start",
        (READ_ONLY, serves(9), fenced(9, "no answer in 4000 ms"), serves(9)),
        "read_only",
    ),
    Row(
        "nobody looked for a while",
        (READ_ONLY, serves(9), lambda d: d.wait(120_000), serves(9)),
        "read_only",
        says=(IGNORED,),
    ),
    Row("a start, by its port", (READ_ONLY, serves(9), fenced(20), serves(1)), None, ("recovered",)),
    Row("a start, by its log", (READ_ONLY, serves(9), host_reads_start(), serves(1)), None, ("recovered",)),
    Row(
        "a start, by the end that its log told",
        (READ_ONLY, lambda d: d.event("BrokerFailure", reason="killed"), fenced(9, "no answer in 4000 ms"), serves(1)),
        None,
        ("recovered",),
    ),
    Row(
        "a start, by its recovery",
        (READ_ONLY, fenced(9, "no route", metrics={"remainingLogsToRecover:/d1": 9.0}), serves(1)),
        None,
        ("recovered",),
    ),
    Row("a start before the failure", (fenced(20), serves(1), READ_ONLY, serves(9)), "read_only", says=(IGNORED,)),
    Row("it fails again after the start", (READ_ONLY, fenced(20), READ_ONLY, serves(9)), "read_only", says=(IGNORED,)),
    Row(
        "it fails again before the start was seen",
        (READ_ONLY, serves(9), host_reads_start(), READ_ONLY, serves(9)),
        "read_only",
    ),
    Row("the start takes it offline", (READ_ONLY, serves(9), fenced(20), serves(9, "/d1")), "read_only"),
    Row(
        "Kafka took it offline before the start", (QUOTA, serves(9, "/d1"), fenced(20), serves(1)), None, ("recovered",)
    ),
    Row("a person declares it healthy", (READ_ONLY, serves(9), declared_healthy, serves(1)), None, ("ada declared",)),
    Row(
        "two directories, one of them acted on",
        (OTHER_READ_ONLY, READ_ONLY, serves(1), serves(9, "/d0")),
        "read_only",
        says=(IGNORED,),
    ),
    Row("no line, only the event", (lambda d: d.event(log_dir="/d1"), serves(1)), None, ("unconfirmed",)),
    Row(
        "a neighbour is not told of",
        (
            lambda d: show_log(
                d,
                entry(
                    "Error while flushing log for t-0 in dir /d0 with offset 7",
                    "java.io.IOException: Input/output error",
                    CHANNEL,
                ),
            ),
            serves(9),
        ),
        None,
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_failure_in_the_log_ends_by_evidence_that_is_newer(row):
    driver = Driver()
    serves(4)(driver)
    for step in row.given:
        step(driver)
    told = [alert for alert in driver.alerts if alert.rule == "log_dir_offline" and alert.reason != "merged"]
    of_d1 = [
        a for a in driver.open_alerts() if a.rule == "log_dir_offline" and "/d1" in (a.evidence.log_dirs or [a.log_dir])
    ]
    assert [str(alert.cause) for alert in of_d1] == ([] if row.open is None else [row.open])
    ends = [str(alert.reason) for alert in told if alert.status == "resolved"]
    assert [end[: len(wanted)] for end, wanted in zip(ends, row.ends, strict=True)] == list(row.ends)
    text = "\n".join(alert.summary for alert in of_d1 or told)
    assert all(wanted in text for wanted in row.says), text
    assert not any(unwanted in "\n".join(a.summary for a in told) for unwanted in row.never_says)
    waits = [
        "until morning: no" in alert.summary
        for alert in told
        if alert.status == "firing" and alert.stale_since_ms is None
    ]
    assert sum(one != other for one, other in pairwise(waits)) <= 1, "the answer does not flip back and forth"
    check_schema("alerts", told)


def test_the_restart_comes_first_where_kafka_did_not_act():
    driver = Driver()
    serves(4)(driver)
    READ_ONLY(driver)
    serves(9)(driver)
    (alert,) = driver.open_alerts()
    copies = builders.topic("t", (1, 2)), *(builders.replica(number, "/d1", "t") for number in (1, 2))
    facts = builders.facts(builders.offline(1, "/d1", cause=alert.cause), builders.directory(2, "/d1"), *copies)
    shown = builders.alert(log_dir="/d1", cause=alert.cause, evidence=alert.evidence)
    found = recommend(shown, facts, builders.policy(), builders.NOW_MS)
    assert (str(found[0].kind), "Kafka did not act on it" in found[0].reason) == ("restart_broker", True)


def loads(*counts, every=3, form="({}/{} completed in /d1)", total=400, lost=fenced):
    """A start that loads logs: a line of its log every few polls, none of which is answered."""

    def given(driver):
        for loaded in counts:
            lost(every)(driver)
            message = f"Completed load of Log(dir=/d1/t-{loaded}, topic=t) with 1 segments in 4000ms {form}"
            show_log(driver, entry(message.format(loaded, total), logger="kafka.log.LogManager", level="INFO"))

    return given


def counts_left(*counts):
    def given(driver):
        for left in counts:
            fenced(3, metrics={"remainingLogsToRecover:/d1": float(left)})(driver)

    return given


STARTS = ("it is recovering its logs, ", " of 400: do not restart it")
RECOVERIES = [
    Row("progress in the log", (loads(*range(1, 60)),), None),
    Row("in the words of older releases", (loads(*range(1, 60), form="({}/{} loaded in /d1)"),), None),
    Row("without a directory", (loads(*range(1, 60), form="({}/{} loaded)"),), None),
    Row("lines that threads wrote out of order", (loads(*(n ^ 1 for n in range(2, 60))),), None),
    Row("nobody calls it fenced", (loads(*range(1, 60), lost=away),), "starting", says=STARTS),
    Row("progress in the gauge", (counts_left(*range(400, 340, -1)),), None),
    Row("it began after the alert", (fenced(7 * MINUTE), loads(58, 59)), "starting", says=STARTS),
    Row("it takes longer than an hour", (loads(*range(1, 60), every=20),), "starting", says=(*STARTS, "is starting")),
    Row("it takes longer, unfenced", (loads(*range(1, 60), every=20, lost=away),), "starting", says=STARTS),
    Row("no progress any more", (loads(*range(1, 60)), fenced(11 * MINUTE)), "lost", never_says=("do not restart",)),
    Row("no progress for six minutes", (loads(*range(1, 60)), fenced(6 * MINUTE)), "starting", says=("59 of 400",)),
    Row("the same count again and again", (loads(*[59] * 60),), "lost"),
    Row("it begins again and again", (loads(*[*range(1, 12)] * 12),), "lost"),
    Row("no recovery at all", (fenced(7 * MINUTE),), "lost", never_says=("recovering",)),
    Row("it is back", (loads(*range(1, 60)), serves(1)), None),
]


@pytest.mark.parametrize("row", RECOVERIES, ids=lambda row: row.name)
def test_a_recovery_that_progresses_is_no_absence_and_one_that_does_not_is(row):
    driver = Driver()
    serves(4)(driver)
    for step in row.given:
        step(driver)
    told = [alert for alert in driver.alerts if alert.rule in {"broker_offline", "broker_unknown"}]
    states = ["starting" if alert.evidence.recovering_logs else "lost" for alert in driver.open_alerts()]
    assert states == ([] if row.open is None else [row.open])
    newest = told[-1].summary if told else ""
    assert all(wanted in newest for wanted in row.says), newest
    assert not any(unwanted in newest for unwanted in row.never_says), newest
    assert sum(one.evidence.recovering_logs is None for one, _ in pairwise(told)) <= 1, "the text does not flip"
    check_schema("alerts", told)
    if row.open is not None:
        (alert,) = driver.open_alerts()
        copies = builders.topic("t", (7, 2)), *(builders.replica(number, "/d1", "t") for number in (7, 2))
        facts = builders.facts(builders.directory(7, "/d1"), builders.directory(2, "/d1"), *copies)
        kinds = [str(one.kind) for one in recommend(alert, facts, builders.policy(), builders.NOW_MS) if not one.vetoes]
        assert ("restart_broker" in kinds) == (row.open == "lost")


def test_a_desk_reports_the_newest_count_every_ten_seconds_and_the_last_one_at_once():
    desk, found = NewsDesk(), [LogsLoaded("/d1", loaded, 400, "") for loaded in range(401)]
    seen = [(ms, [one.loaded for one in desk.of_present_run(found[first:last], ms)]) for ms, first, last in STEPS]
    assert seen == [(0, [4]), (250, []), (9_999, []), (10_000, [300]), (10_250, [400]), (20_500, [])]


STEPS = [(0, 1, 5), (250, 5, 9), (9_999, 9, 301), (10_000, 301, 301), (10_250, 301, 401), (20_500, 0, 0)]


def disks(polls, behind=(0, 0), under_min=0, replicas=(100, 100), **seen):
    """So many polls with replicas out of sync in /d0 and /d1, partitions under their minimum, and looks at /d1."""

    def given(driver):
        for _ in range(polls):
            dirs = [
                log_dir(path, 0.5, replica_count=all_, out_of_sync_count=count)
                for path, all_, count in zip(("/d0", "/d1"), replicas, behind, strict=True)
                if all_
            ]
            health = PartitionHealth(under_min_isr=under_min, sole_replica=under_min, out_of_sync=sum(behind))
            driver.poll(*dirs, partitions=health)
            if seen:
                driver.host(*(host_dir(one.path, **(seen if one.path == "/d1" else {"probe_ms": 1.0})) for one in dirs))

    return given


HUNG = {"probe_error": "no answer for 10 s"}
GOOD = {"probe_ms": 1.0}
REFUSED = "no, because writes to 20 partitions are refused because of this disk"
LOUD, QUIET = ("critical",), ("warning",)
DISKS = [
    (("it hangs, and its followers fall out of sync", disks(60, (0, 60), 20, **HUNG)), LOUD),
    (("nobody looks at the disk, its replicas tell", disks(60, (0, 60), 20)), LOUD),
    (("fewer of its replicas are behind", disks(60, (0, 20), 30, **HUNG)), LOUD),
    (("it is the broker's only disk", disks(60, (0, 60), 20, (0, 100), **HUNG)), LOUD),
    (("others are a little behind", disks(60, (1, 60), 20, **HUNG)), LOUD),
    (("it hangs, and every partition is well", disks(60, (0, 60), 0, **HUNG)), QUIET),
    (("it hangs, and the partitions miss another broker", disks(60, (0, 0), 20, **HUNG)), QUIET),
    (("as many are behind elsewhere: it is the broker", disks(60, (60, 60), 20, **HUNG)), QUIET),
    (("nothing is suspect: a broker that catches up", disks(60, (60, 60), 20, **GOOD)), ()),
    (("one that catches up after a start", fenced(3), disks(60, (0, 60), 20, **HUNG)), QUIET),
    (("the counts come first, then the look", disks(2, (0, 60), 20), disks(9, (0, 60), 20, **HUNG)), LOUD),
    (("the look comes first", disks(9, (0, 0), 0, **HUNG), disks(9, (0, 60), 20, **HUNG)), (*QUIET, *LOUD)),
    (("minima that come and go", *[disks(3, (0, 60), 20, **HUNG), disks(3, (0, 60), 0, **HUNG)] * 9), LOUD),
    (("minima well for long", disks(9, (0, 60), 20, **HUNG), disks(150, (0, 60), 0, **HUNG)), (*LOUD, *QUIET)),
    (("all is well again", disks(9, (0, 60), 20, **HUNG), disks(150, **GOOD)), (*LOUD, "resolved")),
]


@pytest.mark.parametrize(("steps", "severities"), DISKS, ids=[steps[0] for steps, _ in DISKS])
def test_a_suspect_disk_that_makes_writes_refused_cannot_wait(steps, severities):
    driver = Driver()
    is_alone = steps[0] == "it is the broker's only disk"
    disks(9, replicas=(0, 100) if is_alone else (100, 100))(driver)
    for step in steps[1:]:
        step(driver)
    told = [alert for alert in driver.alerts if alert.rule == "log_dir_suspect"]
    assert {alert.log_dir for alert in told} <= {"/d1"}, "a neighbour is not told of"
    seen = [str(alert.severity) if alert.status == "firing" else "resolved" for alert in told]
    assert tuple(one for one, before in zip(seen, [None, *seen], strict=False) if one != before) == severities
    for alert in told:
        if alert.status == "firing":
            assert (REFUSED in alert.summary) == (alert.severity == "critical"), alert.summary
            assert (alert.evidence.refused_partitions is not None) == (alert.severity == "critical")
    check_schema("alerts", told)
