"""A fix plan for people and programs: what to do, in order, and what does not fit."""

from collections.abc import Iterator
from typing import Any

import msgspec
from rich.console import Group, RenderableType
from rich.text import Text

from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.fix.plan import Fix, Remedy
from logdirwatch.report.actions import listing as report
from logdirwatch.report.words import place
from logdirwatch.text.units import human_ago, human_bytes, human_in
from logdirwatch.text.words import counted, short_id


def view(plan: Fix, now_ms: int, width: int) -> RenderableType:
    """Return the plan, at most ``width`` columns wide."""
    count, moved = len(plan.actions), sum(len((a.reassignment or {}).get("partitions", ())) for a in plan.actions)
    alerts = counted(len(plan.remedies), "alert")
    head = [
        Text(f"fix {plan.snapshot.cluster}: {alerts}, {counted(count, 'action')}", style="bold"),
        Text(f"facts      state of {human_ago(plan.snapshot.state_at_ms, now_ms)}, {_inventory(plan, now_ms)}"),
        Text(f"reassigned {counted(moved, 'partition')}"),
        Text(),
    ]
    rows = [report.view(plan.actions, now_ms, width)] if plan.actions else []
    return Group(*head, *rows, Text(), *(Text(line) for line in _notes(plan)))


def as_data(plan: Fix) -> dict[str, Any]:
    """Return the plan for programs; alerts, and the actions of each, are in the order to carry them out."""
    return {
        "mode": "fix",
        "cluster": plan.snapshot.cluster,
        "based_on": plan.snapshot.based_on,
        "alerts": [
            {
                "alert_id": remedy.alert.alert_id,
                "rule": str(remedy.alert.rule),
                "severity": str(remedy.alert.severity),
                "broker": remedy.alert.broker,
                "log_dir": remedy.alert.log_dir,
                "summary": remedy.alert.summary,
                "under_way": [action.action_id for action in remedy.under_way],
                "actions": [msgspec.to_builtins(action) for action in remedy.actions],
                "missing_bytes": remedy.missing_bytes,
                "full_in_ms": remedy.full_in_ms,
                "against": list(remedy.against),
            }
            for remedy in plan.remedies
        ],
    }


def _inventory(plan: Fix, now_ms: int) -> str:
    return f"inventory of {human_ago(plan.snapshot.inventory_at_ms, now_ms)}"


def _notes(plan: Fix) -> Iterator[str]:
    yield "Complete each before the next, in this order. Commands: --json; commands of the moves: --steps FILE."
    for remedy in plan.remedies:
        for action in remedy.under_way:
            yield f"{_where(remedy)}: {action.kind} {short_id(action.action_id)} is {action.status} already"
        yield from _gaps(remedy)


def _gaps(remedy: Remedy) -> Iterator[str]:
    """Yield what the plan does not solve, and what would solve it."""
    why = f" ({'; '.join(remedy.against)})" if remedy.against else ""
    if remedy.missing_bytes:
        missing = human_bytes(remedy.missing_bytes)
        room = f"{missing} more on its volume, or on other disks and brokers"
        lacks = f"{missing} fit nowhere"
        if remedy.full_in_ms is not None:
            lacks = (
                f"it is full {human_in(remedy.full_in_ms)}, and {missing} are missing with everything that is in time"
            )
        yield f"{_where(remedy)}: {lacks}{why}; would help: {room}"
    elif not remedy.under_way and all(action.kind is ActionKind.INVESTIGATE for action in remedy.actions):
        yield f"{_where(remedy)}: no automatic plan, see runbook{why}"


def _where(remedy: Remedy) -> str:
    return f"{remedy.alert.rule} {place('', remedy.alert.broker, remedy.alert.log_dir).strip()}".strip()
