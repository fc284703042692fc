"""``logdirwatch apply``: carry out an action, resume it after a lost connection, undo it, or release its cluster.

Before each call it reads the last word on its action, and the need for what deletes history.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import msgspec
import typer
from kafka.errors import KafkaError
from msgspec.structs import replace

from logdirwatch.autopilot.feed import Feed
from logdirwatch.autopilot.standing import revoked
from logdirwatch.cli.actions.check import still_against
from logdirwatch.cli.actions.deciding import ActionId, find_action
from logdirwatch.cli.context import Context
from logdirwatch.cli.deciding import Signed, signed
from logdirwatch.cli.executing import BY_HAND, execute, has_failed, refuse_beside, say, show
from logdirwatch.cli.reading.records import now_ms, telemetry
from logdirwatch.errors import UserError
from logdirwatch.execute import changes, journal
from logdirwatch.execute.begin import as_action, begun, is_plan, reason_against_applying, undone
from logdirwatch.execute.need import deletes_history
from logdirwatch.execute.ports import Halt, Hold
from logdirwatch.execute.steps import steps_of
from logdirwatch.executions import held_by, passing, unfinished_of
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model import topics
from logdirwatch.model.records import ActionRecord, ExecutionRecord
from logdirwatch.model.vocabulary import ActionStatus, Decision, ExecutionState
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
        release_execution(context, identity, signed(by, reason), yes=yes, dry_run=dry_run)
        return
    action = _planned(context, cluster, identity) if resume or undo else None
    action = action or find_action(cluster, identity)
    watched = context.settings.clusters.get(action.cluster)
    if watched is None:
        raise UserError(f"apply: cluster {action.cluster} is not in the configuration", exit_code=2)
    known = journal.read(cluster, action.cluster)
    record = _resumed(known, action, by) if resume else _begun(known, action, by, undo=undo)
    refuse_beside(known, record, watched)
    with standing(context, record, action, is_attended=not yes) as permit:
        if not resume and not undo:
            _check_accepted(action, permit.why_not_accepted(record) if yes else None)
            _check(context, action)
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


def _check_accepted(action: ActionRecord, against: str | None) -> None:
    if against is not None and action.status != ActionStatus.ACCEPTED:
        raise UserError(
            f"apply: --yes needs an accepted action, and {action.action_id} is {action.status}: {against}; look at it "
            f"and accept it: logdirwatch actions accept {action.action_id} --by NAME --reason WHY"
        )


def _check(context: Context, action: ActionRecord) -> None:
    reasons = still_against(context.settings, action)
    if reasons:
        for reason in reasons:
            say(f"no longer holds: {reason}")
        raise typer.Exit(1)


def release_execution(context: Context, identity: str, said: Signed, *, yes: bool, dry_run: bool) -> None:
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
        found |= {one.action_id: one for one in (*unfinished_of(known).values(), *passing(known))}
    chosen = [one for one in found.values() if one.action_id.startswith(identity)]
    if len(chosen) != 1:
        what = "no unfinished execution is" if not chosen else "several unfinished executions are"
        raise UserError(f"apply: {what} of an action that begins with {identity}; logdirwatch status shows them")
    return chosen[0]


class Standing:
    """Reads decisions, and alerts where history is deleted, to their end before each look and call.

    A rejection ends what goes forward, whoever is at the terminal. Without a person there (``--yes``), so does the end
    of the acceptance or of the need.
    """

    def __init__(self, feed: Feed, action: ActionRecord, *, is_attended: bool) -> None:
        self._feed, self._action, self._is_attended = feed, action, is_attended
        self._is_away = False

    def __call__(self, record: ExecutionRecord) -> Halt | Hold | None:
        """Return why an execution must not continue; while the topics do not answer, nothing is called."""
        try:
            self._feed.catch_up()
        except (UserError, KafkaError):
            if not self._is_away:
                say("the telemetry topics do not answer: nothing is called until they do, what is copied goes on")
            self._is_away = True
            return Hold()
        self._is_away = False
        said = self._feed.said().get(record.action_id)
        is_word = said is not None and (said.decision is Decision.REJECT or not self._is_attended)
        reason = None if record.back or not is_word else revoked(said, record, now_ms())
        if reason is None and not self._is_attended:
            reason = self.without_need(record)
        return None if reason is None else Halt(reason)

    def why_not_accepted(self, record: ExecutionRecord) -> str | None:
        """Return why the last decision does not accept what the execution does; None if it does.

        The action's own status follows a decision a batch later.
        """
        said = self._feed.said().get(record.action_id)
        if said is None:
            return "nobody has decided about it"
        if said.decision is Decision.ACCEPT and said.content_hash != record.content_hash:
            return f"it has changed since {said.by} accepted it"
        return revoked(said, record, now_ms())

    def without_need(self, record: ExecutionRecord) -> str | None:
        """Return why the need for what deletes history is not shown; None if it is, or nothing deletes any."""
        if not deletes_history(record):
            return None
        return self._feed.shown().reason_against(self._action.alert_id, record.cluster, now_ms())


@contextmanager
def standing(
    context: Context, record: ExecutionRecord, action: ActionRecord, *, is_attended: bool
) -> Iterator[Standing]:
    """Yield the permission of an execution, as of now; raises UserError when the topics do not answer."""
    names = [topics.DECISIONS, *([topics.ALERTS] if deletes_history(record) else [])]
    cluster = telemetry(context)
    try:
        with clients.consumer(cluster, auto_offset_reset="earliest", isolation_level="read_committed") as client:
            feed = Feed(client, context.settings.detect.clock_skew_ms, names=names)
            feed.catch_up()
            yield Standing(feed, action, is_attended=is_attended)
    except KafkaError as error:
        raise clients.unreachable(cluster, error) from None
