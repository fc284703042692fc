"""Runs one execution from any point to its end: observe, decide, record the intent, call; also after a kill."""

import dataclasses
from collections.abc import Mapping

from msgspec.structs import replace

from logdirwatch.errors import UserError
from logdirwatch.execute import changes, kernel
from logdirwatch.execute.calling import Hand
from logdirwatch.execute.calls import Do, Progress, Reached, Stuck, Wait
from logdirwatch.execute.ends import finished, halted, stopped_for, stuck
from logdirwatch.execute.patience import Patience
from logdirwatch.execute.ports import (
    Halt,
    Hold,
    NoAnswerError,
    Ports,
    RefusedError,
    StopAskedError,
)
from logdirwatch.execute.seen import Held, Seen
from logdirwatch.execute.step_kinds.cancel import Cancel
from logdirwatch.execute.step_kinds.elect import Elect
from logdirwatch.execute.step_kinds.move import Move, progress
from logdirwatch.execute.step_kinds.order import Order
from logdirwatch.execute.step_kinds.rolling import are_there
from logdirwatch.execute.step_kinds.set_config import SetConfig
from logdirwatch.execute.steps import Settle, Step
from logdirwatch.model.records import ExecutionRecord
from logdirwatch.model.records.executions import ExecutionState
from logdirwatch.text.units import human_bytes, human_ms


def carry_out(record: ExecutionRecord, ports: Ports) -> ExecutionRecord:
    """Return the end of an execution: done, rolled_back or stuck. Raises StopAskedError when a person asks to stop.

    A defect of ours is noted as stuck before it is raised: after a restart it would happen again.
    """
    run = _Run(record, ports)
    try:
        return run.to_its_end()
    except (StopAskedError, UserError):
        raise
    except Exception as error:
        defect = f"a defect of logdirwatch stopped it ({type(error).__name__}: {error})"
        ports.noted(run.record, ExecutionState.STUCK, f"{defect}; its copies go on under their throttles")
        raise


def stopped(record: ExecutionRecord, reason: str, ports: Ports) -> ExecutionRecord:
    """Return an execution stopped where it is.

    Its copies are cancelled, its throttles cleared, and it can be resumed.
    """
    return halted(record, changes.steps(record), Halt(reason, must_end=True), ports)


def rolling_back(record: ExecutionRecord, ports: Ports) -> ExecutionRecord:
    """Return an execution that goes back to its start."""
    back = replace(record, back=not record.back, step=0, begun={})
    return ports.noted(back, ExecutionState.CANCELLING)


class _Run(Hand):
    """One process's run of an execution."""

    def __init__(self, record: ExecutionRecord, ports: Ports) -> None:
        # Only a person resumes what is stuck; what had begun is noted only where its copies may still run.
        is_stuck = record.state is ExecutionState.STUCK
        super().__init__(replace(record, reason=None, cause_is_seen=False) if is_stuck else record, ports)
        self._steps = changes.steps(record)
        self._pace, self._patience = _Pace(ports), Patience(record.needs_ms, ports.monotonic_ms())
        self._doubt: Stuck | None = None
        self._there_ms: dict[Held, int] = {}
        """When each replica of a step was first seen where it is to be."""
        self._since_ms = ports.monotonic_ms() if record.state is not ExecutionState.CLAIMED else None
        """When it was taken over, or turned back: what was cancelled or has moved away before may still take room."""

    def to_its_end(self) -> ExecutionRecord:
        """Return the end."""
        if self.record.reason is not None:
            # A process before this one was stopping it.
            now = self.ports.permit(self.record)
            is_over = isinstance(now, Halt) and now.need_is_over
            halt = Halt(stopped_for(self.record.reason), need_is_over=is_over)
            return halted(self.record, self._steps, halt, self.ports)
        if self.record.state is ExecutionState.STUCK:
            # Whatever ends it from here on is known to be unfinished, also after a kill.
            self.record = self.ports.noted(self.record, ExecutionState.STARTED)
        while self.record.step < len(self._steps):
            against: Stuck | Halt | Hold | None = self.ports.permit(self.record)
            if against is None:
                against = self._advance(self._steps[self.record.step])
            if isinstance(against, Halt):
                record = replace(self.record, cause_is_seen=against.must_end)
                return halted(record, self._steps, against, self.ports)
            if isinstance(against, Stuck):
                return stuck(self.record, self._steps, Halt(against.reason, must_end=True), self.ports)
            if isinstance(against, Hold):
                self.ports.wait(self.record)
        return finished(self.record, self.ports)

    def _advance(self, step: Step) -> Stuck | Halt | None:
        """Observe a step once and do what it needs; return why the execution cannot continue."""
        try:
            if not isinstance(step, Settle):
                return self._look(step)
            self._settle(step)
        except NoAnswerError as error:
            self.ports.say_no_answer(error)
            return self._waited({}, f"the cluster does not answer ({error})")
        except RefusedError as error:
            return Stuck(f"{step} was refused: {error}")
        return None

    def _look(self, step: Step) -> Stuck | Halt | None:
        if isinstance(step, Move):
            against = self.keep_throttles(kernel.throttle_before(self._steps, self.record.step))
            if against is not None:
                return against
            step = self._settled(step)
        seen = self.ports.cluster.look(step, ())
        if isinstance(step, Move):
            self._note_there(step, seen)
        found = kernel.next_of(step, seen, self.record)
        if isinstance(found, Do):
            against = self.do(step, found, seen)
            if against is None:
                done = progress(step, seen).done if isinstance(step, Move) else {}
                return self._waited(done, f"what was called for {step} has no effect")
            return self._believed(against) if isinstance(against, Stuck) else against
        self.note_begun(kernel.running(step, seen))
        return self._take(step, found)

    def _note_there(self, step: Move, seen: Seen) -> None:
        now_ms = self.ports.monotonic_ms()
        there = are_there(step.rolling, seen) if step.rolling is not None else ()
        self._there_ms |= {held: now_ms for held in there if held not in self._there_ms}

    def _settled(self, step: Move) -> Move:
        """Return a step that knows which old copies are deleted; after a kill their whole time is waited again."""
        if step.rolling is None:
            return step
        until_ms = self.ports.monotonic_ms() - step.rolling.settle_ms
        settled = frozenset(held for held, at_ms in self._there_ms.items() if at_ms <= until_ms)
        rests = self._since_ms is not None and self._since_ms > until_ms
        return dataclasses.replace(step, rolling=dataclasses.replace(step.rolling, settled=settled, rests=rests))

    def _take(self, step: Step, found: Wait | Reached | Stuck) -> Stuck | None:
        if isinstance(found, Stuck):
            return self._believed(found)
        self._doubt = None
        if isinstance(found, Reached):
            for line in (*found.told, f"done: {step}"):
                self.ports.say(line)
            self.record = replace(self.record, step=self.record.step + 1, begun={})
            self._patience = Patience(self.record.needs_ms, self.ports.monotonic_ms())
            self._there_ms = {}
            return None
        return self._wait(found)

    def _believed(self, found: Stuck) -> Stuck | None:
        """Return what is certain, or seen twice in a row."""
        if found.is_certain or found == self._doubt:
            return found
        self._doubt = found
        self.ports.wait(self.record)
        return None

    def _wait(self, found: Wait) -> Stuck | None:
        if found.progress is None:
            self.ports.say(f"waits: {found.why}")
        else:
            self._pace.say(found.progress, found.why)
        return self._waited({} if found.progress is None else found.progress.done, found.why or "nothing is copied")

    def _waited(self, done: Mapping[object, int], why: str) -> Stuck | None:
        """Wait until the next look; return that it has waited too long for more than what is ``done``."""
        if (lost := self._patience.lost(done, self.ports.monotonic_ms())) is not None:
            return Stuck(f"{lost}: {why}")
        self.ports.wait(self.record)
        return None

    def _settle(self, step: Settle) -> None:
        """Wait for some time; after a kill the whole time is waited again."""
        if self.ports.monotonic_ms() >= self._pace.waits_until_ms(self.record.step, step):
            self.record = replace(self.record, step=self.record.step + 1)
        else:
            self.ports.wait(self.record)


def calls_of(step: Step) -> str:
    """Return the Kafka requests that a step makes, for a dry run."""
    if isinstance(step, Move | Cancel):
        return "AlterReplicaLogDirs, AlterPartitionReassignments"
    if isinstance(step, Settle):
        return "none"
    if isinstance(step, Order | Elect):
        return "AlterPartitionReassignments" if isinstance(step, Order) else "ElectLeaders"
    return "IncrementalAlterConfigs" + (" of the topic" if isinstance(step, SetConfig) else " of brokers and topics")


class _Pace:
    """Reports the progress, rate and remaining time of copies; a line only when something changed."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._last: Progress | None = None
        self._first: tuple[int, int] | None = None
        self._until_ms: dict[int, int] = {}

    def waits_until_ms(self, number: int, step: Settle) -> int:
        """Return until when to wait for a step; the first call starts the time."""
        if number not in self._until_ms:
            self._until_ms[number] = self._ports.monotonic_ms() + step.delay_ms
            self._ports.say(f"now: {step}")
        return self._until_ms[number]

    def say(self, progress: Progress, why: str | None) -> None:
        """Report progress, if it is not the same as before."""
        if progress == self._last:
            return
        now = self._ports.monotonic_ms()
        if self._first is None or self._last is None or progress.total_bytes != self._last.total_bytes:
            self._first = (now, progress.copied_bytes)
        self._last = progress
        self._ports.say(f"{_line(progress, self._rate(progress, now))}{'' if why is None else f' ({why})'}")

    def _rate(self, progress: Progress, now_ms: int) -> float:
        since_ms, copied = self._first or (now_ms, progress.copied_bytes)
        return (progress.copied_bytes - copied) * 1000 / (now_ms - since_ms) if now_ms > since_ms else 0.0


def _line(progress: Progress, bytes_per_s: float) -> str:
    done = f"{progress.reached} of {progress.of} partitions, "
    done += f"{human_bytes(progress.copied_bytes)} of {human_bytes(progress.total_bytes)}"
    if bytes_per_s <= 0:
        return f"copying: {done}"
    left_ms = int((progress.total_bytes - progress.copied_bytes) / bytes_per_s * 1000)
    return f"copying: {done}, {human_bytes(int(bytes_per_s))}/s, {human_ms(left_ms)} left"
