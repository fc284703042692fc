"""Alerts and actions with defaults."""

import msgspec

from logdirwatch.model.records import ActionRecord, AlertRecord, ExecutionRecord
from logdirwatch.model.vocabulary import ActionKind, ActionStatus, AlertStatus, ExecutionState, Lane, Rule, Severity
from logdirwatch.plan.cluster.assignment import Assignment, to_json
from logdirwatch.plan.commands import operations
from logdirwatch.plan.commands.throttles import within_brokers
from logdirwatch.report.folding import Message

NOW_MS = 1_700_000_000_000


def alert(alert_id="a" * 32, revision=1, **fields) -> AlertRecord:
    values = {
        "status": AlertStatus.FIRING,
        "rule": Rule.LOG_DIR_OFFLINE,
        "severity": Severity.CRITICAL,
        "cluster": "prod",
        "broker": 7,
        "log_dir": "/data/d1",
        "from_status": "online",
        "to_status": "offline",
        "cause": None,
        "opened_at_ms": NOW_MS - 60_000,
        "at_ms": NOW_MS - 60_000,
        "lane": Lane.FAST if revision == 0 else Lane.STATEFUL,
        "evidence": {},
        "affected": {},
        "summary": "Broker 7 /data/d1 is offline",
    }
    return AlertRecord(version=1, alert_id=alert_id, revision=revision, **{**values, **fields})


def heartbeat(age_ms=5_000, collector="c1", **fields):
    values = {
        "rule": Rule.HEARTBEAT,
        "status": AlertStatus.RESOLVED,
        "severity": Severity.INFO,
        "broker": None,
        "log_dir": None,
        "opened_at_ms": NOW_MS - age_ms,
        "at_ms": NOW_MS - age_ms,
        "evidence": {"collector": collector, "interval_ms": 10_000},
    }
    return alert(f"beat-{collector}", revision=9, **{**values, **fields})


def action(action_id="c" * 32, revision=1, **fields) -> ActionRecord:
    values = {
        "status": ActionStatus.PROPOSED,
        "kind": ActionKind.MOVE_LOG_DIR,
        "alert_id": "a" * 32,
        "alert": {"severity": "critical", "rule": "log_dir_space"},
        "cluster": "prod",
        "target": {"broker": 7, "log_dir": "/data/d1"},
        "reason": "three replicas fit into /data/d2",
        "expected": {"frees_bytes": 3 << 30, "needs_ms": 600_000, "time_to_full_after_ms": None, "on": []},
        "preconditions": [],
        "vetoes": [],
        "data_loss": False,
        "requires_approval": True,
        "expires_at_ms": NOW_MS + 60_000,
        "commands": ["kafka-reassign-partitions.sh --execute"],
        "reassignment": None,
        "configs": None,
        "undo": {},
        "based_on": {"state_at_ms": NOW_MS - 5_000, "inventory_at_ms": None},
        "at_ms": NOW_MS - 30_000,
    }
    return ActionRecord(version=1, action_id=action_id, revision=revision, **{**values, **fields})


def execution(execution_id="e" * 32, **fields) -> ExecutionRecord:
    """An execution of ``action()``: a move in two waves, of which the first one is done."""
    here, there = (
        to_json([Assignment("orders", number, (7,), (path,)) for number in (0, 1)]) for path in ("/data/d1", "/data/d2")
    )
    limits = within_brokers([7], 1 << 20)
    move = operations.reassign(there, here, "moves.json", limits=limits, back=limits, waves=[[0], [1]])
    values = {
        "action_id": "c" * 32,
        "revision": 1,
        "content_hash": "h",
        "kind": ActionKind.MOVE_LOG_DIR,
        "cluster": "prod",
        "state": ExecutionState.COPYING,
        "back": False,
        "operations": operations.as_data([move]),
        "step": 2,
        "bytes": 3 << 30,
        "by": "ada",
        "started_at_ms": NOW_MS - 600_000,
        "at_ms": NOW_MS - 60_000,
    }
    return ExecutionRecord(version=1, execution_id=execution_id, **{**values, **fields})


def message(record, key=None) -> Message:
    return Message(None if key is None else key.encode(), msgspec.json.encode(record))
