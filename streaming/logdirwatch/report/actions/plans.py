"""Plans for people: a fix plan with what to do, in order, and what does not fit; a plan for a whole cluster."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import asdict
from rich.console import Group, RenderableType
from rich.text import Text

from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.balance.summary import About, Change, Outside, Summary
from logdirwatch.plan.fix.plan import Fix, Remedy
from logdirwatch.report.actions import listing as report
from logdirwatch.report.layout import listing
from logdirwatch.report.words import place
from logdirwatch.text.units import human_ago, human_bytes, human_in, human_ms, human_ratio
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


SHOWN = 20


def plan_view(summary: Summary, width: int, now_ms: int = 0) -> RenderableType:
    """Return the summary, at most ``width`` columns wide."""
    rows = [*_rows("directory", summary.directories), *_rows("broker", summary.brokers)]
    about = [] if summary.about is None else _about(summary.about, now_ms)
    fills = listing(("", "before", "after"), rows, width)
    return Group(*_head(summary), *about, Text(), fills, *_left(summary, width))


def _head(summary: Summary) -> Iterator[Text]:
    moved, bound = summary.moved, summary.lower_bound
    yield Text(f"{summary.mode}: {counted(moved.replicas, 'replica')}, {human_bytes(moved.bytes)}", style="bold")
    yield Text(
        f"copied     {human_bytes(moved.within_brokers_bytes)} within brokers, "
        f"{human_bytes(moved.between_brokers_bytes)} between them; "
        f"{counted(moved.leaders, 'leader changes its', 'leaders change their')} broker"
    )
    yield Text(f"possible   {human_bytes(bound.bytes)} at least{_times(moved.bytes, bound.bytes)}")
    if bound.in_racks_bytes != bound.bytes:
        least = human_bytes(bound.in_racks_bytes)
        yield Text(f"           {least} at least with the racks kept{_times(moved.bytes, bound.in_racks_bytes)}")
    yield Text(
        f"takes      {human_ms(moved.needs_ms)} at the configured rates; the busiest broker copies for "
        f"{human_ms(moved.busiest_ms)}"
    )
    if summary.evacuation is not None:
        fullest, best = map(human_ratio, (summary.evacuation.max_ratio, summary.evacuation.best_max_ratio))
        yield Text(f"evacuated  the broker's fullest directory has {fullest} then; at best {best}")


def _about(about: About, now_ms: int) -> Iterator[Text]:
    state, inventory = (human_ago(at_ms, now_ms) for at_ms in (about.state_at_ms, about.inventory_at_ms))
    yield Text(f"facts      cluster {about.cluster}: state of {state}, inventory of {inventory}")
    for one in about.left_out:
        yield Text(f"left out   {place('', one.broker, one.log_dir).strip()}: {one.reason}", style="yellow")
    for group in about.staying:
        more = f", and {counted(group.partitions - 1, 'partition')} alike" if group.partitions > 1 else ""
        yield Text(f"stays      {group.reason}{more}", style="yellow")


def _times(bytes_: int, least: int) -> str:
    return f" (this plan: {bytes_ / least:.3f} times)" if least else ""


def _rows(what: str, change: Change) -> Iterator[tuple[Text, Text, Text]]:
    names = (("fullest", "max_ratio"), ("emptiest", "min_ratio"), ("spread", "spread_ratio"))
    for name, field in names:
        before, after = (human_ratio(getattr(fills, field)) for fills in (change.before, change.after))
        yield Text(f"{name} {what}"), Text(before), Text(after)


def _left(summary: Summary, width: int) -> Iterator[RenderableType]:
    broken = {name.replace("_", " "): count for name, count in asdict(summary.violations).items() if count}
    if broken:
        told = ", ".join(f"{name}: {count}" for name, count in broken.items())
        yield Text(f"THE PLAN BREAKS RULES, do not execute it: {told}", style="bold white on red")
    yield Text()
    if not summary.outside:
        yield Text("nothing remains outside the tolerance" if summary.evacuation is None else "the directory is empty")
        return
    count = counted(len(summary.outside), "stays", "stay")
    yield Text(f"{count} outside the tolerance: {summary.outside[0].reason}", style="yellow")
    rows = [_outside(one) for one in sorted(summary.outside, key=lambda one: -one.off_bytes)[:SHOWN]]
    yield listing(("where", "used", "mean", "off by"), rows, width)
    if len(summary.outside) > SHOWN:
        yield Text(f"and {len(summary.outside) - SHOWN} that deviate less")


def _outside(one: Outside) -> tuple[Text, ...]:
    where = place("", one.broker, one.log_dir).strip()
    return (
        Text(where),
        Text(human_ratio(one.used_ratio)),
        Text(human_ratio(one.mean_ratio)),
        Text(human_bytes(one.off_bytes)),
    )
