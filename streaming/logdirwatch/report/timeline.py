"""What happened in a period: changes of status, alerts, executions and decisions, the newest first. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from logdirwatch.model.records import AlertRecord, DecisionRecord, ExecutionRecord
from logdirwatch.model.vocabulary import AlertStatus, ExecutionState
from logdirwatch.report.executions import execution
from logdirwatch.report.words import place

Row = Mapping[str, Any]
KINDS = ("alerts", "statuses", "executions")
_LOOKS: Mapping[str, str] = {
    ExecutionState.STUCK: "offline",
    ExecutionState.DONE: "online",
    ExecutionState.ROLLED_BACK: "unknown",
    ExecutionState.RELEASED: "unknown",
}


def execution_look(state: str) -> str:
    """Return the status in whose colour the state of an execution is shown; those that go on are yellow."""
    return _LOOKS.get(state, "filling")


class Moment(NamedTuple):
    """One line; ``look`` is the status or severity whose colour ``word`` has, ``page`` and ``about`` are its link."""

    at_ms: int
    what: str
    word: str
    look: str
    text: str
    page: str
    about: Mapping[str, Any]
    why: str


def moments(
    transitions: Iterable[Row],
    alerts: Iterable[AlertRecord],
    executions: Iterable[ExecutionRecord],
    most: int,
    decisions: Iterable[DecisionRecord] = (),
) -> tuple[list[Moment], bool]:
    """Return the newest ``most`` moments, and whether there are more.

    ``alerts`` are the revisions with which one opened, changed or ended; ``executions`` are in the order of ``at_ms``.
    """
    found = [
        *map(_transition, transitions),
        *map(_alert, alerts),
        *_executions(executions),
        *map(_decision, decisions),
    ]
    ordered = sorted(found, key=lambda moment: -moment.at_ms)
    return ordered[:most], len(ordered) > most


def changed(stored: Iterable[AlertRecord], heard: Iterable[AlertRecord]) -> list[AlertRecord]:
    """Return the alerts of the topic that opened, changed severity or ended since the revision in the tables."""
    before = {alert.alert_id: alert for alert in stored}
    return [alert for alert in heard if _is_change(before.get(alert.alert_id), alert)]


def _is_change(before: AlertRecord | None, after: AlertRecord) -> bool:
    if before is None:
        return True
    is_same = (before.status, before.severity) == (after.status, after.severity)
    return after.revision > before.revision and not is_same


def _transition(row: Row) -> Moment:
    about = {"cluster": row["cluster"], "broker": row["broker"]}
    if row["log_dir"] is not None:
        about["log_dir"] = row["log_dir"]
    return Moment(
        at_ms=row["at_ms"],
        what="broker" if row["log_dir"] is None else "directory",
        word=row["to_status"],
        look=row["to_status"],
        text=place(row["cluster"], row["broker"], row["log_dir"]),
        page="broker" if row["log_dir"] is None else "directory",
        about=about,
        why=_why(row),
    )


def _why(row: Row) -> str:
    was = f"was {row['from_status']}" if row["from_status"] else "first seen"
    reason = row["reason"] or ""
    cause = f" ({row['cause']})" if row["cause"] else ""
    return f"{was}; {reason}{cause}" if reason or cause else was


def _alert(alert: AlertRecord) -> Moment:
    is_over = alert.status is AlertStatus.RESOLVED
    return Moment(
        at_ms=alert.at_ms,
        what="alert",
        word="resolved" if is_over else str(alert.severity),
        look="resolved" if is_over else str(alert.severity),
        text=f"{place(alert.cluster, None, None)}: {alert.summary}",
        page="alert",
        about={"alert_id": alert.alert_id},
        why=alert.reason or "",
    )


def _decision(record: DecisionRecord) -> Moment:
    return Moment(
        at_ms=record.at_ms,
        what="decision",
        word=str(record.decision),
        look="unknown",
        text=f"by {record.by}",
        page="alert",
        about={"alert_id": record.id},
        why=record.reason,
    )


def _executions(records: Iterable[ExecutionRecord]) -> Iterator[Moment]:
    """Yield what changed the state of an execution, not every step."""
    seen: dict[str, str] = {}
    for record in sorted(records, key=lambda record: record.at_ms):
        if seen.get(record.execution_id) == record.state:
            continue
        seen[record.execution_id] = str(record.state)
        one = execution(record)
        yield Moment(
            at_ms=record.at_ms,
            what="execution",
            word=str(record.state),
            look=execution_look(record.state),
            text=f"{one.what} on {one.cluster}",
            page="execution",
            about={"execution_id": record.execution_id},
            why="; ".join(filter(None, [f"by {record.by}", record.reason])),
        )
