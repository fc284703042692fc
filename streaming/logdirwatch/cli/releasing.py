"""``logdirwatch apply --release``: a person ends an execution as it is, and with it the hold on its cluster."""

import typer
from msgspec.structs import replace

from logdirwatch.cli.context import Context
from logdirwatch.cli.deciding import Signed
from logdirwatch.cli.executing import say
from logdirwatch.cli.reading.records import now_ms, telemetry
from logdirwatch.errors import UserError
from logdirwatch.execute import changes, journal
from logdirwatch.executions import held_by, hold_of, unfinished_of
from logdirwatch.model.records import ExecutionRecord
from logdirwatch.model.vocabulary import ExecutionState


def release(context: Context, identity: str, said: Signed, *, yes: bool, dry_run: bool) -> None:
    """Record that an execution is over; nothing is called, and a process that still carries it out is fenced."""
    record = _found(context, identity)
    say(held_by(record, now_ms()))
    left = [one.text for one in changes.limits(record)]
    say(f"its copies and throttles stay as they are{': ' if left else ''}{'; '.join(left)}")
    if dry_run or not (yes or typer.confirm("Release it?", default=False)):
        say(f"{'dry run: ' if dry_run else ''}nothing was changed")
        raise typer.Exit(0 if dry_run else 1)
    before = record.state if record.reason is None else f"{record.state} ({record.reason})"
    reason = f"released by {said.by}: {said.reason}; it was {before}"
    noted = journal.Journal(telemetry(context), record.cluster)
    try:
        released = replace(record, state=ExecutionState.RELEASED, by=said.by, reason=reason, at_ms=now_ms())
        noted.write(replace(released, cause_is_seen=False))
    finally:
        noted.close()
    say(f"released; what begins on {record.cluster} from now on is not held by it")


def _found(context: Context, identity: str) -> ExecutionRecord:
    """Return the execution that can be released, by the id of its action."""
    found: dict[str, ExecutionRecord] = {}
    for name in sorted(context.settings.clusters):
        known = journal.read(telemetry(context), name)
        hold = hold_of(known)
        found |= unfinished_of(known) | ({} if hold is None else {hold.action_id: hold})
    chosen = [one for one in found.values() if one.action_id.startswith(identity)]
    if len(chosen) != 1:
        what = "no unfinished execution is" if not chosen else "several unfinished executions are"
        raise UserError(f"apply: {what} of an action that begins with {identity}; logdirwatch status shows them")
    return chosen[0]
