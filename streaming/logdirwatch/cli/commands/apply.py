"""``logdirwatch apply``: carry an action out, go on with it after a lost connection, or undo it."""

import signal
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import msgspec
import typer

from logdirwatch.cli.actions.check import still_against
from logdirwatch.cli.actions.lookup import find_action
from logdirwatch.cli.context import Context
from logdirwatch.cli.reading.records import now_ms, telemetry
from logdirwatch.errors import UserError
from logdirwatch.execute import journal
from logdirwatch.execute.admin import AdminCluster
from logdirwatch.execute.begin import begun
from logdirwatch.execute.eligible import reason_against_applying
from logdirwatch.execute.run import Ports, StopAskedError, calls_of, carry_out, is_unfinished, rolling_back
from logdirwatch.execute.steps import steps_of
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model.records import ActionRecord, ExecutionRecord
from logdirwatch.model.vocabulary import ExecutionState
from logdirwatch.plan.content_hash import content_hash
from logdirwatch.plan.lifecycle.live_check import left_to_see
from logdirwatch.text.printable import printable
from logdirwatch.text.units import human_bytes, human_ms

_BY_HAND = "a person at the terminal"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("apply")(apply)


def apply(
    ctx: typer.Context,
    identity: Annotated[str, typer.Argument(metavar="ID", help="The action's id or the beginning of it.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show and check what would be done; change nothing.")
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Undo what an earlier apply of the action did.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an execution whose process or connection was lost.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask; the action must have been accepted.")] = False,
    by: Annotated[str, typer.Option("--by", help="Who carries it out, recorded with the execution.")] = _BY_HAND,
) -> None:
    """Carry out an action: show it, check it on the live cluster, ask, do it, verify it, and clean up.

    Only this command and autopilot change a monitored cluster. Exit code 1 if nothing may be done, or it got stuck.
    """
    if undo and resume:
        raise UserError("--undo and --resume exclude each other", exit_code=2)
    context: Context = ctx.obj
    if not context.debug:
        clients.quiet_client_logs()
    cluster = telemetry(context)
    action = find_action(cluster, identity)
    watched = context.settings.clusters.get(action.cluster)
    if watched is None:
        raise UserError(f"apply: cluster {action.cluster} is not in the configuration", exit_code=2)
    known = journal.read(cluster, action.cluster)
    record = _resumed(known, action, by) if resume else _begun(known, action, by, undo=undo)
    if not resume and not undo:
        _check(context, action, must_be_accepted=yes)
    _show(record, action)
    if dry_run:
        _say("dry run: nothing was changed")
        return
    if not yes and not typer.confirm("Do it?", default=False):
        _say("nothing was changed")
        raise typer.Exit(1)
    if not resume and not undo and content_hash(find_action(cluster, action.action_id)) != record.content_hash:
        raise UserError(f"apply: action {action.action_id} says something else by now; look at it again")
    ended = _execute(record, cluster, watched)
    if ended.state is ExecutionState.STUCK:
        raise typer.Exit(1)


def _resumed(known: list[ExecutionRecord], action: ActionRecord, by: str) -> ExecutionRecord:
    found = [one for one in known if one.action_id == action.action_id and is_unfinished(one)]
    if not found:
        raise UserError(f"apply: no execution of {action.action_id} is unfinished; there is nothing to go on with")
    return msgspec.structs.replace(found[-1], by=by)


def _begun(known: list[ExecutionRecord], action: ActionRecord, by: str, *, undo: bool) -> ExecutionRecord:
    """Return a new execution; raises UserError while another one on the cluster is unfinished."""
    running = [one for one in known if is_unfinished(one) and one.state is not ExecutionState.STUCK]
    if running:
        one = running[-1]
        raise UserError(
            f"apply: the execution of {one.kind} {one.action_id} on {one.cluster} is {one.state} and unfinished; go "
            f"on with it: logdirwatch apply --resume {one.action_id}"
        )
    if undo:
        return _undone([one for one in known if one.action_id == action.action_id and not one.back], action, by)
    if (reason := reason_against_applying(action)) is not None:
        raise UserError(f"apply: {action.kind} {action.action_id} {reason}")
    return begun(action, by, now_ms())


def _undone(earlier: list[ExecutionRecord], action: ActionRecord, by: str) -> ExecutionRecord:
    if earlier and not steps_of(earlier[-1].operations, back=True):
        raise UserError(f"apply: {action.kind} {action.action_id} cannot be undone: {action.undo.get('text')}")
    if not earlier:
        raise UserError(
            f"apply: {action.action_id} was not carried out by apply; its undo commands are in actions show"
        )
    return msgspec.structs.replace(
        earlier[-1],
        execution_id=uuid.uuid4().hex,
        state=ExecutionState.CLAIMED,
        back=True,
        step=0,
        by=by,
        reason=None,
        # What a finished execution set is gone: the same value would be somebody else's.
        limits=earlier[-1].limits if earlier[-1].state is ExecutionState.STUCK else [],
        started_at_ms=now_ms(),
        at_ms=now_ms(),
    )


def _check(context: Context, action: ActionRecord, *, must_be_accepted: bool) -> None:
    if must_be_accepted and action.status != "accepted":
        raise UserError(
            f"apply: --yes needs an accepted action, and {action.action_id} is {action.status}; accept it first: "
            f"logdirwatch actions accept {action.action_id} --by NAME --reason WHY"
        )
    reasons = still_against(context.settings, action)
    if reasons:
        for reason in reasons:
            _say(f"no longer holds: {reason}")
        raise typer.Exit(1)


def _show(record: ExecutionRecord, action: ActionRecord) -> None:
    """Say what will be done, how long it takes, how to stop it and how to undo it."""
    _say(f"{'undo of ' if record.back else ''}{action.kind} {action.action_id} on cluster {action.cluster}")
    _say(f"why: {action.reason}")
    for number, step in enumerate(steps_of(record.operations, back=record.back), 1):
        done = " (done already)" if number <= record.step else ""
        _say(f"  {number}. {step}{done}\n     call: {calls_of(step)}")
    needs, frees = action.expected.get("needs_ms"), action.expected.get("frees_bytes")
    if not record.back:
        _say(f"frees: {'not known' if frees is None else human_bytes(frees)}")
        _say(f"takes: {'not known' if needs is None else f'about {human_ms(needs)}'}")
        for text in left_to_see(action):
            _say(f"check yourself: {text}")
    if action.data_loss and not record.back:
        _say("THIS DELETES DATA: what is deleted does not come back, also not by --undo")
    _say("stop it: Ctrl-C asks whether to leave it running or to roll back")


def _execute(record: ExecutionRecord, cluster: KafkaSettings, watched: KafkaSettings) -> ExecutionRecord:
    with _asked_to_stop() as stopped, clients.admin(watched) as admin:
        noted = journal.Journal(cluster, record.cluster)
        try:
            ports = Ports(AdminCluster(admin), noted.write, _say, stopped, now_ms)
            if record.state is ExecutionState.CLAIMED and record.step == 0:
                noted.write(record)
                record = msgspec.structs.replace(record, state=ExecutionState.CHECKED, at_ms=now_ms())
                noted.write(record)
            ended = _until_ended(record, ports)
        finally:
            noted.close()
    _say_end(ended)
    return ended


def _until_ended(record: ExecutionRecord, ports: Ports) -> ExecutionRecord:
    ended: ExecutionRecord | None = None
    while ended is None:
        record, ended = _until_asked(record, ports)
    return ended


def _until_asked(record: ExecutionRecord, ports: Ports) -> tuple[ExecutionRecord, ExecutionRecord | None]:
    """Return where an execution is, and its end; no end where a person wants it to go on, or back."""
    try:
        return record, carry_out(record, ports)
    except StopAskedError as asked:
        record = asked.record
    answer = typer.prompt("go on (g), leave it running (l), or roll back (r)?", default="g").strip().lower()[:1]
    if answer == "l":
        _say(f"left running; its throttles stay until you go on: logdirwatch apply --resume {record.action_id}")
        raise typer.Exit(1)
    if answer == "r" and not steps_of(record.operations, back=not record.back):
        _say(f"{record.kind} cannot be undone; it goes on")
        return record, None
    return rolling_back(record, ports) if answer == "r" else record, None


@contextmanager
def _asked_to_stop() -> Iterator["_Pause"]:
    """Yield what waits; Ctrl-C ends the wait and never a call."""
    pause = _Pause()
    before = signal.signal(signal.SIGINT, lambda *_: pause.stop.set())
    try:
        yield pause
    finally:
        signal.signal(signal.SIGINT, before)


class _Pause:
    """Waits, and tells whether a person asked to stop meanwhile."""

    def __init__(self) -> None:
        self.stop = threading.Event()

    def __call__(self, seconds: float) -> bool:
        """Wait at most so long."""
        asked = self.stop.wait(seconds)
        self.stop.clear()
        return asked


def _say_end(record: ExecutionRecord) -> None:
    if record.state is ExecutionState.STUCK:
        _say(f"stuck: {record.reason}")
        _say(f"once that is repaired, go on: logdirwatch apply --resume {record.action_id}")
        if not record.back:
            _say(f"or go back: logdirwatch apply --undo {record.action_id}")
    elif record.state is ExecutionState.DONE and not record.back:
        _say("done: what was expected is seen on the cluster, and no throttle of ours is left")
        _say(f"undo it: logdirwatch apply --undo {record.action_id}")
    else:
        _say("everything is as it was before, and no throttle of ours is left")


def _say(line: str) -> None:
    typer.echo("\n".join(printable(part) for part in line.split("\n")))
