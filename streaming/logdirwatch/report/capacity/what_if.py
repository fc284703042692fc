"""The effect of changes as text, and as rows of a table."""

from collections.abc import Iterator
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.text import Text

from logdirwatch.plan.what_if.planner import DirectoryOutlook, Fill, Outcome
from logdirwatch.plan.what_if.scenario import Moves
from logdirwatch.report.layout import listing
from logdirwatch.report.words import place
from logdirwatch.text.units import human_ago, human_bytes, human_in, human_ms, human_ratio
from logdirwatch.text.words import counted, some_of

SHOWN = 20
COLUMNS = ("used_bytes", "total_bytes", "used_ratio", "growth_bytes_per_s", "full_in_ms")


def view(outcome: Outcome, width: int, now_ms: int) -> RenderableType:
    """Return the outcome, at most ``width`` columns wide."""
    rows = [_row(one) for one in outcome.directories[:SHOWN]]
    more = len(outcome.directories) - SHOWN
    rest = [Text(f"and {counted(more, 'directory')} that last longer: --json or --csv")] if more > 0 else []
    headers = ("directory", "used before", "after", "full before", "after")
    lines = [Text(f"{term:<10} {text}", style=style) for term, text, style in told(outcome)]
    return Group(
        Text(f"what if {', '.join(outcome.what_if)}", style="bold"),
        *lines,
        *_facts(outcome, now_ms),
        Text(),
        listing(headers, rows, width),
        *rest,
    )


class Line(NamedTuple):
    """One line: its term, its text and its emphasis."""

    term: str
    text: str
    style: str = ""


def told(outcome: Outcome) -> Iterator[Line]:
    """Yield the effect and cost of the changes."""
    moves, unplaced = outcome.moves, outcome.unplaced
    yield Line("first full", first_full(outcome))
    yield Line("copied", _copied(moves) if moves.replicas else "nothing")
    if unplaced.replicas:
        what = f"{counted(unplaced.replicas, 'replica')}, {human_bytes(unplaced.bytes)}"
        yield Line("NO ROOM", f"for {what}: {unplaced.reason}", "bold red")
    if unplaced.lost:
        what = counted(len(unplaced.lost), "partition")
        yield Line("LOST", f"{what} without another copy: {some_of(unplaced.lost)}", "bold red")
    for note in outcome.notes:
        yield Line("assumed", note, "yellow")


def _copied(moves: Moves) -> str:
    within, between = human_bytes(moves.within_brokers_bytes), human_bytes(moves.between_brokers_bytes)
    what = f"{counted(moves.replicas, 'replica')}, {human_bytes(moves.bytes)}"
    return (
        f"{what}: {within} within brokers, {between} between them; {human_ms(moves.needs_ms)} at the configured rates"
    )


def first_full(outcome: Outcome) -> str:
    """Say which directory is full first before and after, and when."""
    known = [(one, one.before.full_in_ms) for one in outcome.directories if one.before is not None]
    before = min((pair for pair in known if pair[1] is not None), key=lambda pair: pair[1] or 0, default=None)
    after = next(
        (one for one in outcome.directories if one.after is not None and one.after.full_in_ms is not None), None
    )
    was = "none" if before is None else f"{_where(before[0])} {human_in(before[1])}"
    then = "none" if after is None or after.after is None else f"{_where(after)} {human_in(after.after.full_in_ms)}"
    return f"before: {was}; after: {then}"


def _facts(outcome: Outcome, now_ms: int) -> Iterator[Text]:
    state, inventory = (human_ago(at_ms, now_ms) for at_ms in (outcome.state_at_ms, outcome.inventory_at_ms))
    yield Text(f"facts      cluster {outcome.cluster}: state of {state}, inventory of {inventory}")


def _row(one: DirectoryOutlook) -> tuple[Text, ...]:
    return (
        Text(_where(one)),
        Text(used(one.before, "new")),
        Text(used(one.after, "gone")),
        Text(full(one.before)),
        Text(full(one.after)),
    )


def used(fill: Fill | None, otherwise: str) -> str:
    """Return the used share of a directory, ``otherwise`` if it does not exist."""
    return otherwise if fill is None else human_ratio(fill.used_ratio)


def full(fill: Fill | None) -> str:
    """Return when a directory is full."""
    if fill is None:
        return "-"
    if fill.full_in_ms is None:
        return "unknown" if fill.growth_bytes_per_s is None or fill.used_bytes is None else "never at this growth"
    return human_in(fill.full_in_ms)


def _where(one: DirectoryOutlook) -> str:
    return place("", one.broker, one.log_dir).strip()


def table(outcome: Outcome) -> Iterator[tuple[object, ...]]:
    """Yield a header and one row per directory; empty cells are unknown or do not exist."""
    yield ("cluster", "broker", "log_dir", *(f"{name}_{when}" for when in ("before", "after") for name in COLUMNS))
    for one in outcome.directories:
        numbers = (_number(fill, name) for fill in (one.before, one.after) for name in COLUMNS)
        yield (outcome.cluster, one.broker, one.log_dir, *numbers)


def _number(fill: Fill | None, name: str) -> object:
    value = None if fill is None else getattr(fill, name)
    return "" if value is None else value
