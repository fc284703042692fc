"""``logdirwatch apply``: carry out an action, resume it after a lost connection, or undo it."""

from typing import Annotated

import msgspec
import typer

from logdirwatch.cli import releasing
from logdirwatch.cli.actions.check import still_against
from logdirwatch.cli.actions.lookup import ActionId, find_action
from logdirwatch.cli.context import Context
from logdirwatch.cli.deciding import signed
from logdirwatch.cli.executing import BY_HAND, execute, has_failed, refuse_beside, say, show
from logdirwatch.cli.reading.records import now_ms, telemetry
from logdirwatch.cli.standing import standing
from logdirwatch.errors import UserError
from logdirwatch.execute import journal
from logdirwatch.execute.begin import as_action, begun, is_plan, reason_against_applying, undone
from logdirwatch.execute.ports import Halt, Hold
from logdirwatch.execute.steps import steps_of
from logdirwatch.executions import unfinished_of
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model.records import ActionRecord, ExecutionRecord
from logdirwatch.plan.content_hash import content_hash


def apply(
    ctx: typer.Context,
    identity: ActionId,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show and check what would be done; change nothing.")
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Undo what an earlier apply of the action did.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an execution whose process or connection was lost.")
    ] = False,
    release: Annotated[
        bool, typer.Option("--release", help="End an unfinished execution as it is: you have seen to what it left.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask; the action must have been accepted.")] = False,
    reason: Annotated[str, typer.Option("--reason", help="Why it is released, recorded with the execution.")] = "",
    by: Annotated[str, typer.Option("--by", help="Who carries it out, recorded with the execution.")] = BY_HAND,
) -> None:
    """Carry out an action: show it, check it on the live cluster, ask, do it, verify it, and clean up.

    Only this command and autopilot change a monitored cluster. Exit code 1 if nothing may be done, or the execution got
    stuck.
    """
    if undo + resume + release > 1:
        raise UserError("--undo, --resume and --release exclude each other", exit_code=2)
    context: Context = ctx.obj
    if not context.debug:
        clients.quiet_client_logs()
    cluster = telemetry(context)
    if release:
        releasing.release(context, identity, signed(by, reason), yes=yes, dry_run=dry_run)
        return
    action = _planned(context, cluster, identity) if resume or undo else None
    action = action or find_action(cluster, identity)
    watched = context.settings.clusters.get(action.cluster)
    if watched is None:
        raise UserError(f"apply: cluster {action.cluster} is not in the configuration", exit_code=2)
    known = journal.read(cluster, action.cluster)
    record = _resumed(known, action, by) if resume else _begun(known, action, by, undo=undo)
    refuse_beside(known, record, watched)
    if not resume and not undo:
        _check(context, action, must_be_accepted=yes)
    with standing(context, record, action, is_attended=not yes) as permit:
        show(record, action)
        _show_need(permit.without_need(record), action, must_be_shown=yes)
        if not _is_wanted(dry_run=dry_run, yes=yes):
            return
        if not resume and not undo:
            _check_again(find_action(cluster, action.action_id), permit(record), record)
        ended = execute(record, cluster, watched, permit)
    if has_failed(ended):
        raise typer.Exit(1)


def _show_need(against: str | None, action: ActionRecord, *, must_be_shown: bool) -> None:
    """Say that the need for what deletes history is not shown; raises UserError where nobody would read it."""
    if against is not None and must_be_shown:
        raise UserError(f"apply: {action.kind} {action.action_id} deletes history, and {against}")
    if against is not None:
        say(f"check yourself: {against}")


def _is_wanted(*, dry_run: bool, yes: bool) -> bool:
    """Tell whether to go on; exit code 1 if a person says no."""
    if dry_run:
        say("dry run: nothing was changed")
    elif not yes and not typer.confirm("Do it?", default=False):
        say("nothing was changed")
        raise typer.Exit(1)
    return not dry_run


def _planned(context: Context, cluster: KafkaSettings, identity: str) -> ActionRecord | None:
    """Return the plan that ``plan --apply`` carried out under an id, which is only in the journal."""
    known = [one for name in sorted(context.settings.clusters) for one in journal.read(cluster, name)]
    found = [one for one in known if is_plan(one) and one.action_id.startswith(identity)]
    if len({one.action_id for one in found}) > 1:
        raise UserError(f"several plans begin with {identity}; give more of the id", exit_code=2)
    return as_action(found[-1]) if found else None


def _resumed(known: list[ExecutionRecord], action: ActionRecord, by: str) -> ExecutionRecord:
    found = unfinished_of(known).get(action.action_id)
    if found is None:
        raise UserError(f"apply: no execution of {action.action_id} is unfinished; there is nothing to go on with")
    return msgspec.structs.replace(found, by=by)


def _begun(known: list[ExecutionRecord], action: ActionRecord, by: str, *, undo: bool) -> ExecutionRecord:
    """Return a new execution; raises UserError if there is nothing to begin."""
    if undo:
        return _undone([one for one in known if one.action_id == action.action_id], action, by)
    if (reason := reason_against_applying(action)) is not None:
        raise UserError(f"apply: {action.kind} {action.action_id} {reason}")
    return begun(action, by, now_ms())


def _undone(known: list[ExecutionRecord], action: ActionRecord, by: str) -> ExecutionRecord:
    earlier = [one for one in known if not one.back]
    if earlier and not steps_of(earlier[-1].operations, back=True):
        raise UserError(f"apply: {action.kind} {action.action_id} cannot be undone: {action.undo.get('text')}")
    if not earlier:
        raise UserError(
            f"apply: {action.action_id} was not carried out by apply; its undo commands are in actions show"
        )
    return undone(known, by, now_ms())


def _check_again(action: ActionRecord, against: Halt | Hold | None, record: ExecutionRecord) -> None:
    """Raise UserError if the answer of the person came too late: the action changed, ended, or was rejected."""
    if content_hash(action) != record.content_hash:
        raise UserError(f"apply: action {action.action_id} says something else by now; look at it again")
    if (reason := reason_against_applying(action)) is not None:
        raise UserError(f"apply: {action.kind} {action.action_id} {reason}")
    if isinstance(against, Halt):
        raise UserError(f"apply: {action.kind} {action.action_id}: {against.reason}")


def _check(context: Context, action: ActionRecord, *, must_be_accepted: bool) -> None:
    if must_be_accepted and action.status != "accepted":
        raise UserError(
            f"apply: --yes needs an accepted action, and {action.action_id} is {action.status}; accept it first: "
            f"logdirwatch actions accept {action.action_id} --by NAME --reason WHY"
        )
    reasons = still_against(context.settings, action)
    if reasons:
        for reason in reasons:
            say(f"no longer holds: {reason}")
        raise typer.Exit(1)
