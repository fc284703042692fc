"""What the panels are asked about, stored by ``store`` itself, and what comes later and changes every answer."""

import json

import msgspec

from logdirwatch.model import topics
from logdirwatch.model.records import DecisionRecord, LogDirView, PartitionHealth
from logdirwatch.model.vocabulary import AlertStatus, Severity
from tests.spark.lake import (
    GIB,
    T0,
    action,
    alert,
    decision,
    execution,
    metrics,
    replicas,
    sample,
    scan_end,
    state,
    topic,
    transition,
)
from tests.support import hostile

HOUR_MS, DAY_MS = 3_600_000, 86_400_000
NOW_MS = T0 + DAY_MS
FROM_MS = NOW_MS - 7 * DAY_MS
OLD_MS = NOW_MS - 30 * DAY_MS
HOSTILE = hostile.SQL
SPACED = '/d 2/it\'s \\ "here"'
UNREAD = "unread"
"""A cluster whose topics are listed, and their configurations could not be read."""


def fill(lake):
    """Store five days of two brokers, one that is silent, a cluster that nobody sees any more, and what was said."""
    lake.store(*history(), *states(0), *said(0))
    lake.scan(*inventory(0))
    add_quality(lake, 0)


def change(lake):
    """Store what comes later."""
    lake.store(*later_samples(), *states(1), *said(1))
    lake.scan(*inventory(1))
    add_quality(lake, 1)


def history():
    """A sample each six hours, filling faster from day to day; then one of every broker, and what is no record."""
    for hour in range(0, 5 * 24, 6):
        day = hour // 24
        free = GIB // 2 - day * GIB // 50 - day**2 * GIB // 400
        at_ms = NOW_MS - 5 * DAY_MS + hour * HOUR_MS
        yield metrics(7, at_ms, log_dirs=[sample("/d1", usable_bytes=free), sample(SPACED, usable_bytes=GIB // 3)])
    recent_ms = NOW_MS - 120_000
    yield metrics(7, recent_ms, log_dirs=[sample("/d1", usable_bytes=GIB // 8), sample(SPACED, usable_bytes=GIB // 3)])
    yield metrics(8, recent_ms, log_dirs=["/d1", sample("/d2", error_code=56, total_bytes=None, usable_bytes=None)])
    yield metrics(9, recent_ms, status="timeout", log_dirs=[])
    yield metrics(1, recent_ms, cluster=HOSTILE, log_dirs=["/x"], collector="c2")
    yield topics.METRICS, "prod/7", "not JSON at all", recent_ms
    yield topics.METRICS, "prod/7", '{"version": 1, "cluster": "prod", "type": "metrics"}', recent_ms


def later_samples():
    recent_ms = NOW_MS - 30_000
    yield metrics(7, recent_ms, log_dirs=[sample("/d1", usable_bytes=GIB // 64), sample(SPACED, usable_bytes=GIB // 4)])
    yield metrics(8, recent_ms, log_dirs=["/d1", "/d2"], collector="c3")
    yield topics.EVENTS, "prod/8", "[]", recent_ms


def states(step):
    """State records; those of ``step`` 1 are later and tell something else of everything."""
    at_ms = NOW_MS - 60_000 + 1_000 * step
    health = PartitionHealth(leaderless=1, under_min_isr=2, examples=["a-0"])
    yield believed(
        7,
        step,
        at_ms,
        [
            view(
                "/d1", ("filling", "critical")[step], 7 * GIB // 8 + step * GIB // 16, full_in_ms=DAY_MS // (1 + step)
            ),
            view(SPACED, ("online", "filling")[step], 2 * GIB // 3 + step * GIB // 9, is_metadata_dir=True),
        ],
        host="b7",
        rack="r1",
        kafka_version="4.3.1",
        partitions=health,
        transitions=[transition(70 + step, at_ms=at_ms, from_status=("online", "filling")[step], to_status="critical")],
    )
    yield believed(
        8,
        step,
        at_ms,
        [
            view("/d1", "online", GIB // 2 + step, volume="sda"),
            view("/d2", ("offline", "saturated")[step], (None, GIB - 1)[step], cause="failed", volume="sda"),
            view(
                "/d3", ("online", "unknown")[step], GIB // 4, last_status="online", replica_bytes=(GIB // 5, None)[step]
            ),
        ],
        status=("degraded", "online")[step],
        maintenance_until_ms=NOW_MS + HOUR_MS + step,
        maintenance_by="anna",
        maintenance_reason="new disk",
        transitions=[
            transition(80 + step, broker=8, log_dir=None, at_ms=at_ms, to_status=("degraded", "online")[step])
        ],
    )
    yield believed(9, step, at_ms, [view("/d1", "unknown", GIB // 3, last_status="online")], status="unknown")
    yield believed(
        1,
        step,
        OLD_MS + step,
        [view("/x", "online", GIB // 10 + step)],
        cluster=HOSTILE,
        transitions=[transition(10 + step, cluster=HOSTILE, broker=1, log_dir="/x", at_ms=NOW_MS - DAY_MS + step)],
    )
    yield believed(1, step, at_ms, [view("/u", "online", GIB // 10 + step)], cluster=UNREAD)


def believed(broker, step, at_ms, log_dirs, **fields):
    return msgspec.structs.replace(
        state(broker, 1 + step), log_dirs=log_dirs, at_ms=at_ms, last_seen_ms=at_ms - 500, **fields
    )


def view(path, status, used_bytes, full_in_ms=None, **fields):
    known = {} if used_bytes is None else {"usable_bytes": GIB - used_bytes, "used_ratio": used_bytes / GIB}
    at_ms = NOW_MS - 60_000
    rest = {
        "since_ms": at_ms - DAY_MS,
        "sample_at_ms": at_ms,
        "last_seen_ms": at_ms,
        "last_proof_ms": at_ms,
        "total_bytes": GIB,
        "replica_count": 3,
        "replica_bytes": used_bytes and used_bytes - 1_000,
        "growth_bytes_per_s": 1_234.5,
        "full_at_ms": full_in_ms and at_ms + full_in_ms,
        "forecast_confidence": 0.5,
    }
    return LogDirView(**rest | {"path": path, "status": status} | known | fields)


def said(step):
    """Alerts, what people said of them, and actions from the proposal to the end."""
    opened = {"opened_at_ms": NOW_MS - HOUR_MS, "at_ms": NOW_MS - HOUR_MS + step, "revision": 1 + step}
    severity = ("critical", "page")[step]
    yield alert("a1", **opened, severity=severity, rule="log_dir_space", log_dir=SPACED, summary=f"{SPACED} is full")
    yield alert("a2", **opened, broker=8, log_dir=None, status=("firing", "resolved")[step])
    yield alert("a3", **opened, broker=None, log_dir=None, rule="partitions_at_risk", summary=f"{step} at risk")
    yield alert("a4", **opened, cluster=HOSTILE, broker=1, log_dir="/x", severity="warning", summary=f"{step}; hostile")
    yield alert(
        "p1", **opened, cluster="*", broker=None, log_dir=None, rule="pipeline_lagging", summary=f"detect lags {step}"
    )
    if step:
        yield decision("a1", NOW_MS - 60_000, until_ms=NOW_MS + HOUR_MS, by="o'hara")
        yield alert("a5", opened_at_ms=NOW_MS, at_ms=NOW_MS, rule="broker_unknown", broker=9, log_dir=None)
        yield from named_later()
        yield from spoken()
    yield from proposals(step)
    yield from executions(step)


def named_later():
    """The fast lane's alert of a broker, and the directory that it is about, as ``detect`` tells it."""
    opened = {"opened_at_ms": NOW_MS, "at_ms": NOW_MS}
    yield alert("a6", 0, **opened, log_dir=None, summary="failed or full", lane="fast")
    yield alert("a6", 1, **opened, log_dir="/d1", summary="/d1 failed")


LONG_AGO = {"at_ms": NOW_MS - 8 * DAY_MS}
SPOKEN_OF = {
    "s1": (["warning"], {"severity": "warning", "revision": 1}),
    "s2": (["warning", "page", "warning"], {"severity": "warning", "revision": 1}),
    "s3": (["page", "warning"], {"severity": "warning", "revision": 2}),
    "s4": (["warning", "critical"], {"severity": "warning"}),
    "s5": (["warning", "critical"], {"severity": "critical", "revision": 1, "decision": "silence"}),
    "s6": (["warning", "page"], {}),
    "s7": (["warning"], LONG_AGO),
    "s8": (["warning"], LONG_AGO | {"until_ms": NOW_MS + DAY_MS}),
    "s9": (["warning"], {"until_ms": NOW_MS - 1}),
}
"""By alert: the severities of its revisions, and what somebody said of it."""


def spoken():
    """Alerts by cluster of which somebody said something, and what was said."""
    opened = {"opened_at_ms": NOW_MS - HOUR_MS, "at_ms": NOW_MS - HOUR_MS}
    for name, (severities, fields) in SPOKEN_OF.items():
        for revision, severity in enumerate(severities, start=1):
            yield alert(name, revision, **opened, severity=severity, broker=None, log_dir=None)
        yield decision(name, **{"at_ms": NOW_MS - 60_000} | fields)


def spoken_of(name):
    """Return an alert, the severities that it spoke with, and the decision about it, as ``decisions`` takes them."""
    severities, fields = SPOKEN_OF[name]
    latest = alert(name, len(severities), status=AlertStatus.FIRING, severity=Severity(severities[-1]))
    said_of_it = decision(name, **{"at_ms": NOW_MS - 60_000} | fields)[2]
    record = msgspec.json.decode(said_of_it, type=DecisionRecord)
    return latest, [(n, Severity(each)) for n, each in enumerate(severities, start=1)], record


def proposals(step):
    ended = ("running", "done")[step]
    gives = {"frees_bytes": 1_000, "needs_ms": 60_000}
    place = {"broker": 7, "log_dir": SPACED}
    about = {"alert_id": "a1", "alert": {"severity": "page"}, "target": place, "revision": 1 + step}
    later = {"at_ms": NOW_MS - HOUR_MS + step}
    yield action(
        "x1",
        **about,
        **later,
        kind="move_log_dir",
        status=ended,
        expected=gives,
        observed={"started_at_ms": NOW_MS - HOUR_MS - 90_000, "frees_bytes": 900},
    )
    yield action("x2", **about, **later, expected=gives, vetoes=[{"name": "v"}] if step else [], position=1)
    yield action("x3", alert_id="a4", cluster=HOSTILE, revision=1 + step, reason=f"{step}", **later)
    if step:
        yield action(
            "x4", **about | {"revision": 1}, **later, kind="reassign", status="failed", expected={}, observed={}
        )
        yield action("x5", alert_id="a4", cluster=HOSTILE, kind="reassign", status="done", expected=gives, **later)


def executions(step):
    """One that goes on and ends, one that gets stuck and is undone, and one of a hostile cluster, long ago."""
    began = {"started_at_ms": NOW_MS - HOUR_MS - 80_000}
    later = {"at_ms": NOW_MS - HOUR_MS + step, "step": 1 + step}
    yield execution("e1", **began, **later, state=("copying", "done")[step], kind="move_log_dir")
    yield execution("e2", **began, **later, action_id="x2", state=("started", "stuck")[step], reason=f"no room {step}")
    old = {"started_at_ms": OLD_MS, "at_ms": OLD_MS + step}
    yield execution("e3", **old, action_id="x3", cluster=HOSTILE, state=("stuck", "rolled_back")[step], by="o'hara")
    if step:
        yield execution("e4", **began, at_ms=NOW_MS, action_id="x2", back=True, state="copying")


def inventory(step):
    """Placements and topics, as two scans saw them, and a directory that is gone; the hostile one was never scanned."""
    scan = (NOW_MS - T0) // 60_000 - 3 + step
    yield replicas("a-0", "a-1", "__consumer_offsets-0", broker=7, log_dir="/d1", scan=scan, size=10 + step)
    yield replicas("b-0", broker=7, log_dir=SPACED, scan=scan, size=99 - step)
    yield replicas("a-0", "b-0", broker=8, log_dir="/d2", scan=scan, size=5 + step)
    configs = {"min.insync.replicas": "2", "retention.ms": str(HOUR_MS + step), "retention.bytes": "-1"}
    yield topic("a", [7, 8], [7, 9], scan=scan, isr=[7], configs=configs)
    yield topic("b", [7, 8], scan=scan, isr=([7, 8], [8])[step], configs=configs)
    yield topic("__consumer_offsets", [7], scan=scan, is_internal=True, configs={"min.insync.replicas": "1"})
    yield scan_end(3, scan=scan)
    yield topic("u", [1, 2], scan=scan, isr=[1, 2][: 2 - step], configs={}, cluster=UNREAD)
    yield msgspec.structs.replace(scan_end(1, scan=scan), cluster=UNREAD)
    if not step:
        # Its broker does not answer: the marker stays, whatever is known of the directory.
        yield replicas(broker=9, log_dir="/gone", scan=scan - 60)


QUALITY = ("run_id", "suite", "expectation", "cluster", "at_ms", "success", "observed", "unexpected", "error")


def add_quality(lake, step):
    """Append as ``validate`` does."""
    rows = [
        (
            f"r{step}",
            "alerts",
            "unique ids",
            "*",
            NOW_MS - HOUR_MS + step,
            False,
            json.dumps({"n": step}),
            1 + step,
            None,
        ),
        (f"r{step}", "alerts", "known rules", "prod", NOW_MS - HOUR_MS + step, True, "{}", 0, None),
        (f"h{step}", "samples", "sizes", HOSTILE, NOW_MS - HOUR_MS + step, False, "{}", step, "boom"),
    ]
    if not step:
        # The later run looks at one table only: this one stays the newest of the other.
        rows.append(("r0", "topics", "unique topics", "*", NOW_MS - HOUR_MS, True, "{}", 0, None))
    frame = lake.spark.createDataFrame(
        rows, ", ".join(f"{name} {kind}" for name, kind in zip(QUALITY, KINDS, strict=True))
    )
    frame.write.format("delta").mode("append").save(f"{lake.settings.tables_path}/quality_results")


KINDS = ("string", "string", "string", "string", "bigint", "boolean", "string", "bigint", "string")
