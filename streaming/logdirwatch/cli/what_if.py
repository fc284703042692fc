"""Changes tried on a cluster of the tables, for ``plan --what-if`` and the console."""

import csv
import gc
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import msgspec
import typer

from logdirwatch.cli.context import Context
from logdirwatch.cli.reading.plan_source import Source, find
from logdirwatch.cli.reading.records import console
from logdirwatch.errors import UserError
from logdirwatch.plan.balance.model.task import Kind, parse_mode
from logdirwatch.plan.what_if.parse import parse
from logdirwatch.plan.what_if.planner import Outcome, what_if
from logdirwatch.report.capacity import what_if as words


def tried_changes(context: Context, source: Source, changes: Iterable[str], mode: str | None) -> Outcome:
    """Return the effect of changes; raises UserError, one line, if one is invalid or the cluster cannot be read."""
    chosen = None if mode is None else parse_mode("balance-disks" if mode == "fix" else mode)
    if mode == "fix" or (chosen is not None and chosen.kind is Kind.EVACUATE):
        raise UserError(f"plan: --what-if cannot be combined with --mode {mode}: balance, or no mode", exit_code=2)
    wanted = parse(changes)
    with _without_collections():
        found = find(context, source, needs_alerts=False)
        return what_if(found.judged, wanted, found.policy, chosen)


@contextmanager
def _without_collections() -> Iterator[None]:
    """Collect no cycles meanwhile: a large cluster is a million objects without any, which each pass would visit."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def print_outcome(outcome: Outcome, now_ms: int, *, as_json: bool, as_csv: bool) -> None:
    """Print the outcome for people or programs."""
    if as_json:
        typer.echo(msgspec.json.encode(outcome))
    elif as_csv:
        csv.writer(sys.stdout, lineterminator="\n").writerows(words.table(outcome))
    else:
        terminal = console()
        terminal.print(words.view(outcome, terminal.width, now_ms))
