"""An execution at a terminal: show it, carry it out with a way to stop it, and report the result."""

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec
import typer

from logdirwatch.cli.reading.records import now_ms
from logdirwatch.errors import UserError
from logdirwatch.execute import journal
from logdirwatch.execute.admin import AdminCluster
from logdirwatch.execute.begin import is_plan
from logdirwatch.execute.ports import Permit, Ports, StopAskedError, always
from logdirwatch.execute.run import calls_of, carry_out, rolling_back, stopped
from logdirwatch.execute.step_kinds.move import Move
from logdirwatch.execute.steps import steps_of
from logdirwatch.execute.watch import Watch, why_held
from logdirwatch.executions import may_begin, ways_on
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model.records import ActionRecord, ExecutionRecord
from logdirwatch.model.vocabulary import ExecutionState
from logdirwatch.plan.lifecycle.live_check import left_to_see
from logdirwatch.text.printable import printable
from logdirwatch.text.units import human_bytes, human_ms

BY_HAND = "a person at the terminal"


def refuse_beside(known: Sequence[ExecutionRecord], record: ExecutionRecord, watched: KafkaSettings) -> None:
    """Raise UserError while another execution holds the cluster of one that is to begin."""
    if may_begin(record, known, now_ms()):
        return
    if (held := why_held(known, watched, now_ms())) is not None:
        raise UserError(f"{'plan' if is_plan(record) else 'apply'}: {held}")


def show(record: ExecutionRecord, action: ActionRecord) -> None:
    """Say what will be done, how long it takes, how to stop it and how to undo it."""
    say(f"{'undo of ' if record.back else ''}{action.kind} {action.action_id} on cluster {action.cluster}")
    say(f"why: {action.reason}")
    for number, step in enumerate(steps_of(record.operations, back=record.back), 1):
        done = " (done already)" if number <= record.step else ""
        say(f"  {number}. {step}{done}\n     call: {calls_of(step)}")
        if isinstance(step, Move) and step.rolling is not None:
            for line in step.lines:
                say(f"     {line}")
    needs, frees = action.expected.get("needs_ms"), action.expected.get("frees_bytes")
    if not record.back:
        if "frees_bytes" in action.expected:
            say(f"frees: {'not known' if frees is None else human_bytes(frees)}")
        say(f"takes: {'not known' if needs is None else f'about {human_ms(needs)}'}")
        for text in left_to_see(action):
            say(f"check yourself: {text}")
    if action.data_loss and not record.back:
        say("THIS DELETES DATA: what is deleted does not come back, also not by --undo")
    say("stop it: Ctrl-C asks whether to leave it running, stop its copies or roll back")


def execute(
    record: ExecutionRecord, cluster: KafkaSettings, watched: KafkaSettings, permit: Permit = always
) -> ExecutionRecord:
    """Carry an execution out and return its end; ``cluster`` has the journal, ``watched`` is changed."""
    with _asked_to_stop() as asked, clients.admin(watched) as admin:
        noted = journal.Journal(cluster, record.cluster)
        try:
            looked = AdminCluster(admin)
            watch = Watch(looked)
            ports = Ports(
                looked, noted.write, say, asked, now_ms, lambda one: permit(one) or watch(one), beat=noted.beat
            )
            if record.state is ExecutionState.CLAIMED and record.step == 0:
                # Every other executor on the cluster is fenced now, so what is read is complete.
                refuse_beside(journal.read(cluster, record.cluster), record, watched)
                noted.write(record)
                record = msgspec.structs.replace(record, state=ExecutionState.CHECKED)
            elif record.state is ExecutionState.STUCK:
                # Its record says from now on that it is carried out, and who does it.
                record = msgspec.structs.replace(record, state=ExecutionState.STARTED, reason=None, cause_is_seen=False)
            record = msgspec.structs.replace(record, at_ms=now_ms())
            noted.write(record)
            ended = _until_ended(record, ports)
        finally:
            noted.close()
    _say_end(ended)
    return ended


def _until_ended(record: ExecutionRecord, ports: Ports) -> ExecutionRecord:
    ended, is_stopped = False, False
    while not ended:
        record, ended = _until_asked(record, ports, is_stopped=is_stopped)
        if not ended:
            record, is_stopped = _answered(record, ports)
    return record


def _until_asked(record: ExecutionRecord, ports: Ports, *, is_stopped: bool) -> tuple[ExecutionRecord, bool]:
    """Return the state of an execution, and whether it is its end: a person asks for nothing else."""
    try:
        done = stopped(record, f"stopped by {record.by}", ports) if is_stopped else carry_out(record, ports)
    except StopAskedError as asked:
        return asked.record, False
    return done, True


def _answered(record: ExecutionRecord, ports: Ports) -> tuple[ExecutionRecord, bool]:
    """Ask a person how it goes on; return the state of the execution, and whether it is to be stopped."""
    question = "go on (g), leave it running (l), stop its copies (s), or roll back (r)?"
    answer = typer.prompt(question, default="g").strip().lower()[:1]
    if answer == "l":
        say(f"left running; its throttles stay until you go on: logdirwatch apply --resume {record.action_id}")
        raise typer.Exit(1)
    if answer == "s":
        return record, True
    if answer == "r" and not steps_of(record.operations, back=not record.back):
        say(f"{record.kind} cannot be undone; it goes on")
        return record, False
    return rolling_back(record, ports) if answer == "r" else record, False


@contextmanager
def _asked_to_stop() -> Iterator["_Pause"]:
    """Yield the pause; Ctrl-C ends the pause, never a call."""
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
        """Wait at most ``seconds``."""
        asked = self.stop.wait(seconds)
        self.stop.clear()
        return asked


def has_failed(record: ExecutionRecord) -> bool:
    """Tell whether an execution that ended did not do what was asked: it is stuck, or was stopped before it began."""
    return record.state is ExecutionState.STUCK or record.reason is not None


def _say_end(record: ExecutionRecord) -> None:
    if record.state is ExecutionState.STUCK:
        say(f"stuck: {record.reason}")
        say(f"nothing else begins on {record.cluster} until one of these has ended it, the first once it is repaired:")
        for command in ways_on(record):
            say(f"  {command}")
    elif record.state is ExecutionState.DONE and not record.back:
        say("done: what was expected is seen on the cluster, and no throttle of ours is left")
        say(f"undo it: logdirwatch apply --undo {record.action_id}")
    elif has_failed(record):
        say(f"nothing was changed: {record.reason}")
    else:
        say("everything is as it was before, and no throttle of ours is left")


def say(line: str) -> None:
    """Print a line without characters that control a terminal."""
    typer.echo("\n".join(printable(part) for part in line.split("\n")))
