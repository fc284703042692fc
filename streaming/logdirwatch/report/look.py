"""One look at a cluster for people: what is wrong with the next step, the fullest directories, and what is odd."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from logdirwatch.model.records import ActionRecord, AlertRecord
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.report.actions.listing import is_blocked
from logdirwatch.report.alerts import listed
from logdirwatch.report.layout import listing
from logdirwatch.report.words import colour, place
from logdirwatch.text.printable import printable
from logdirwatch.text.units import human_bytes, human_ratio
from logdirwatch.text.words import counted

SHOWN = 10
COMMANDS = 6


def view(
    snapshot: ClusterSnapshot,
    alerts: Sequence[AlertRecord],
    actions: Sequence[ActionRecord],
    odd: Sequence[tuple[str, Sequence[str]]],
    width: int,
) -> RenderableType:
    """Return it, at most ``width`` columns wide."""
    first = {one.alert_id: one for one in reversed(actions) if not is_blocked(one)}
    lines = [line for alert in listed(alerts, everything=False) for line in _alert(alert, first.get(alert.alert_id))]
    found = lines or [Text("nothing fires", style="green")]
    more = [line for text, commands in odd for line in (Text(f"also: {printable(text)}"), *_commands(commands))]
    return Group(head(snapshot), Text(), *found, Text(), *_directories(snapshot, width), Text(), *more)


def head(snapshot: ClusterSnapshot) -> Text:
    """Return the size of a cluster on one line."""
    directories = snapshot.directories.values()
    known = [(one.used_bytes, one.total_bytes) for one in directories if one.total_bytes]
    used, total = (sum(found or 0 for found in column) for column in zip(*known, strict=True)) if known else (0, 0)
    size = f", {human_bytes(used)} of {human_bytes(total)} used" if total else ", sizes unknown"
    brokers = counted(len(snapshot.brokers), "broker")
    count = counted(len(directories), "log directory", "log directories")
    return Text(f"{snapshot.cluster}: {brokers}, {count}{size}", style="bold")


def _alert(alert: AlertRecord, action: ActionRecord | None) -> Iterator[Text]:
    where = place("", alert.broker, alert.log_dir).strip()
    yield Text(f"{alert.severity} ", style=colour(alert.severity)) + Text(
        printable(f"{alert.rule} {where}: {alert.summary}")
    )
    yield from next_step(action)


def next_step(action: ActionRecord | None) -> Iterator[Text]:
    """Yield what to do first, and its commands."""
    if action is not None:
        yield Text(f"  next: {printable(action.reason)}")
        yield from _commands(action.commands)


def _commands(commands: Sequence[str]) -> Iterator[Text]:
    lines = [line for command in commands for line in command.splitlines()]
    yield from (Text(f"    {printable(line)}", style="dim") for line in lines[:COMMANDS])
    if len(lines) > COMMANDS:
        yield Text(f"    ... {counted(len(lines) - COMMANDS, 'line')} more with --json", style="dim")


def _directories(snapshot: ClusterSnapshot, width: int) -> Iterator[RenderableType]:
    found = sorted(snapshot.directories.values(), key=_fullest_first)
    rows = [
        (
            Text(printable(place("", one.broker, one.path).strip())),
            Text(str(one.status), style=colour(str(one.status))),
            Text("-" if (ratio := _used_ratio(one)) is None else human_ratio(ratio)),
            Text("-" if one.usable_bytes is None else human_bytes(one.usable_bytes)),
            Text("-" if one.replica_count is None else str(one.replica_count)),
        )
        for one in found[:SHOWN]
    ]
    if rows:
        yield listing(("directory", "status", "used", "free", "replicas"), rows, width)
    if len(found) > SHOWN:
        yield Text(f"and {counted(len(found) - SHOWN, 'directory that is', 'directories that are')} emptier")


def _used_ratio(one: LogDir) -> float | None:
    return one.used_bytes / one.total_bytes if one.used_bytes is not None and one.total_bytes else None


def _fullest_first(one: LogDir) -> tuple[bool, float, int, str]:
    ratio = _used_ratio(one)
    return one.is_serving, -2.0 if ratio is None else -ratio, one.broker, one.path
