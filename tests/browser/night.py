"""The tables of a bad night: one of each status, alerts of every severity, a disk that fills, and what to do."""

import time
from itertools import pairwise

from logdirwatch.model.vocabulary import ActionKind, ActionStatus, AlertStatus, ExecutionState, Rule, Severity
from tests.unit.report.builders import action, alert, execution
from tests.unit.report.rows import broker, log_dir, partition

HOUR_MS = 3_600_000
LONG = "/var/lib/kafka/a_directory_whose_name_was_made_by_a_machine_and_has_no_place_to_break_0123456789"
FILLING = "/data/d3"
RETENTION = (
    "kafka-configs.sh --bootstrap-server kafka-8:9092 --alter --topic 'orders' --add-config 'retention.ms=3600000'"
)
MOVES = """cat > moves.json <<'END'
{"version": 1,
  "partitions": []}
END
kafka-reassign-partitions.sh --reassignment-json-file moves.json --execute"""
COMMANDS = (RETENTION, MOVES)


def write(tables):
    """Write the tables as of now."""
    now_ms = int(time.time() * 1000)
    _fleet(tables, now_ms)
    _history(tables, now_ms)
    _alerts(tables, now_ms)
    _actions(tables, now_ms)
    _executions(tables, now_ms)


def _fleet(tables, now_ms):
    fresh = {"at_ms": now_ms, "last_seen_ms": now_ms}
    tables.write(
        "broker_state",
        broker(7, status="degraded", rack="r1", **fresh),
        broker(8, rack="r2", **fresh),
        broker(9, status="unknown", **fresh),
        broker(1, "archive", at_ms=now_ms - 30 * 24 * HOUR_MS),
    )
    tables.write(
        "log_dir_state",
        log_dir(7, "/data/d1", at_ms=now_ms, used=0.5),
        log_dir(7, "/data/d2", at_ms=now_ms, used=0.97, status="offline", cause="failed"),
        log_dir(8, "/data/d1", at_ms=now_ms, used=0.78, status="filling"),
        log_dir(8, "/data/d2", at_ms=now_ms, used=0.88, status="critical"),
        log_dir(
            8,
            FILLING,
            at_ms=now_ms,
            used=0.96,
            status="saturated",
            growth_bytes_per_s=1 << 20,
            full_at_ms=now_ms + 4 * HOUR_MS,
        ),
        log_dir(8, LONG, at_ms=now_ms, used=0.1),
        log_dir(9, "/data/d1", None, at_ms=now_ms, status="unknown", total_bytes=None, replica_count=None),
        log_dir(1, "/data/old", 0.4, "archive", at_ms=now_ms - 30 * 24 * HOUR_MS),
    )
    tables.write("log_dir_inventory", {"cluster": "prod", "inventory_at_ms": now_ms})
    tables.write("topic_state", partition("orders", 3, is_leaderless=True), partition("payments", 0))


def _history(tables, now_ms):
    place = {"cluster": "prod", "broker": 8, "log_dir": FILLING}
    sample = {**place, "collector": "c", "kind": "log_dir", "error_code": 0, "total_bytes": 1_000}
    hours = [number for number in range(20) if number not in (9, 10, 11, 12, 13)]
    tables.write(
        "log_dir_samples",
        *(
            {**sample, "timestamp_ms": now_ms - (19 - hour) * HOUR_MS, "usable_bytes": 1_000 - 48 * (hour + 1)}
            for hour in hours
        ),
    )
    levels = ("online", "filling", "critical", "saturated")
    tables.write(
        "transitions",
        *(
            {
                **place,
                "transition_id": level,
                "from_status": before,
                "to_status": level,
                "reason": "space",
                "at_ms": now_ms - hours_ago * HOUR_MS,
            }
            for (before, level), hours_ago in zip(pairwise(levels), (6, 3, 1), strict=True)
        ),
    )
    replica = {**place, "is_future": False, "status": "online", "is_leader": True, "in_isr": True}
    tables.write(
        "replica_state",
        {**replica, "topic": "orders", "partition": 3, "size_bytes": 7 << 30, "offset_lag": 0},
        {**replica, "topic": "payments", "partition": 0, "size_bytes": None, "is_leader": False, "in_isr": None},
    )


def _alerts(tables, now_ms):
    space = {"rule": Rule.LOG_DIR_SPACE, "broker": 8, "cause": None}
    told = (
        ("note", Severity.INFO, 9, {"rule": Rule.LOG_DIR_IMBALANCE, "log_dir": None, "summary": "Broker 7 is uneven"}),
        ("late", Severity.PAGE, 1, {**space, "log_dir": FILLING, "summary": "Broker 8 /data/d3 is saturated"}),
        ("early", Severity.PAGE, 5, {"summary": "Broker 7 /data/d2 is offline, orders-3 has no leader"}),
        (
            "halts",
            Severity.PAGE,
            0,
            {
                **space,
                "log_dir": "/data/d1",
                "evidence": {"halts_broker": "metadata_dir"},
                "summary": "Broker 8 halts soon",
            },
        ),
        ("high", Severity.CRITICAL, 2, {**space, "log_dir": "/data/d2", "summary": "Broker 8 /data/d2 is critical"}),
        ("low", Severity.WARNING, 3, {**space, "log_dir": LONG, "summary": f"Broker 8 {LONG} is filling"}),
    )
    tables.alerts(
        *(
            alert(name, severity=severity, opened_at_ms=now_ms - hours * HOUR_MS - 1, at_ms=now_ms, **more)
            for name, severity, hours, more in told
        ),
        alert("over", summary="Long over", opened_at_ms=now_ms - HOUR_MS),
        alert("over", 2, summary="Long over", opened_at_ms=now_ms - HOUR_MS, status=AlertStatus.RESOLVED),
    )


LOUDEST_FIRST = (
    "Broker 8 halts soon",
    "Broker 7 /data/d2 is offline, orders-3 has no leader",
    "Broker 8 /data/d3 is saturated",
    "Broker 8 /data/d2 is critical",
    f"Broker 8 {LONG} is filling",
    "Broker 7 is uneven",
)


def _actions(tables, now_ms):
    about = {"alert_id": "late", "at_ms": now_ms, "expires_at_ms": now_ms + HOUR_MS}
    tables.actions(
        action("shrink", kind=ActionKind.LOWER_RETENTION, commands=list(COMMANDS), position=0, **about),
        action("grow", kind=ActionKind.EXPAND_DISK, commands=[], reason="the volume can grow", position=1, **about),
        action("done", status=ActionStatus.DONE, kind=ActionKind.CORDON_LOG_DIR, **about),
    )


def _executions(tables, now_ms):
    begun = {"started_at_ms": now_ms - HOUR_MS}
    tables.executions(
        execution("over", action_id="done", state=ExecutionState.DONE, step=3, **begun, at_ms=now_ms - HOUR_MS // 2),
        execution("runs", action_id="move", **begun, at_ms=now_ms),
        execution(
            "stuck",
            action_id="shrink",
            **begun,
            at_ms=now_ms,
            state=ExecutionState.STUCK,
            reason=f"the directory {LONG} went offline",
        ),
    )
