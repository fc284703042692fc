"""Runs one execution from any point to its end: observe, decide, record the intent, call; also after a kill."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from msgspec.structs import replace

from logdirwatch.clock import monotonic_ms
from logdirwatch.execute.calls import Call
from logdirwatch.execute.decide import decide
from logdirwatch.execute.outcomes import Do, Progress, Reached, Stuck
from logdirwatch.execute.seen import Seen
from logdirwatch.execute.step_kinds.cancel import Cancel
from logdirwatch.execute.step_kinds.elect import Elect
from logdirwatch.execute.step_kinds.move import Move, calls_to_cancel
from logdirwatch.execute.step_kinds.order import Order
from logdirwatch.execute.step_kinds.set_config import SetConfig
from logdirwatch.execute.step_kinds.settle import Settle
from logdirwatch.execute.step_kinds.throttle import Throttle, limits_to_clear
from logdirwatch.execute.steps import Step, steps_of
from logdirwatch.model.records import ExecutionRecord
from logdirwatch.model.records.executions import ENDED, ExecutionState, OwnLimit
from logdirwatch.plan.commands.throttles import Limit
from logdirwatch.text.units import human_bytes, human_ms

POLL_S = 2.0
_NOTHING_CALLED = frozenset({ExecutionState.CLAIMED, ExecutionState.CHECKED})
"""The intent of every call is noted before it, with another state."""


class RefusedError(Exception):
    """The cluster refused a call, and would refuse it again."""


class NoAnswerError(Exception):
    """The cluster did not answer; a retry may succeed."""


class StopAskedError(Exception):
    """A person asked to stop; ``record`` is the state of the execution."""

    def __init__(self, record: ExecutionRecord) -> None:
        super().__init__()
        self.record = record


class Cluster(Protocol):
    """The cluster that is changed. Raises NoAnswerError and RefusedError."""

    def look(self, step: Step | None, limits: Sequence[Limit]) -> Seen:
        """Return the state that a step is decided on, and the values of ``limits``."""

    def call(self, call: Call) -> None:
        """Make a call."""


@dataclass(frozen=True)
class Hold:
    """Make no call for the moment."""


@dataclass(frozen=True)
class Halt:
    """The execution must not go on."""

    reason: str


Permit = Callable[[ExecutionRecord], Hold | Halt | None]


def always(_: ExecutionRecord) -> None:
    """Permit every call: a person is present and can stop it."""


@dataclass(frozen=True)
class Ports:
    """The dependencies of an execution.

    ``note`` writes the journal, ``pause`` waits and tells whether a person asked to stop, and ``permit``, called before
    every observation and the calls that follow from it, returns whether the execution may continue.
    """

    cluster: Cluster
    note: Callable[[ExecutionRecord], None]
    say: Callable[[str], None]
    pause: Callable[[float], bool]
    now_ms: Callable[[], int]
    permit: Permit = field(default=always)
    monotonic_ms: Callable[[], int] = monotonic_ms


def carry_out(record: ExecutionRecord, ports: Ports) -> ExecutionRecord:
    """Return the end of an execution: done, rolled_back or stuck. Raises StopAskedError when a person asks to stop."""
    steps, pace = steps_of(record.operations, back=record.back), _Pace(ports)
    while record.step < len(steps):
        step, permit = steps[record.step], ports.permit(record)
        if isinstance(permit, Halt):
            return _halted(record, steps[record.step :], permit.reason, ports)
        if isinstance(permit, Hold):
            _pause(record, ports)
            continue
        if isinstance(step, Settle):
            record = _settling(record, step, ports, pace)
            continue
        record, is_stuck = _advanced(record, step, ports, pace)
        if is_stuck:
            return record
    return _finish(record, ports)


def _is_there(record: ExecutionRecord, left: Sequence[Step], ports: Ports) -> bool:
    """Tell whether all that is left is seen to have its effect."""
    try:
        return all(isinstance(decide(step, ports.cluster.look(step, ()), _limits(record)), Reached) for step in left)
    except (NoAnswerError, RefusedError):
        return False


def _advanced(record: ExecutionRecord, step: Step, ports: Ports, pace: "_Pace") -> tuple[ExecutionRecord, bool]:
    """Observe a step once and do what it needs; return the execution's state, and whether it cannot continue."""
    try:
        found = decide(step, ports.cluster.look(step, ()), _limits(record))
        if isinstance(found, Do):
            record = _begin(record, step, found, ports)
            for call in found.calls:
                ports.cluster.call(call)
            _pause(record, ports)
            return record, False
    except NoAnswerError as error:
        ports.say(f"the cluster does not answer ({error}); asked again, nothing is lost by waiting")
        _pause(record, ports)
        return record, False
    except RefusedError as error:
        return _stuck(record, f"{step} was refused: {error}", ports), True
    if isinstance(found, Stuck):
        return _stuck(record, found.reason, ports), True
    if isinstance(found, Reached):
        for line in (*found.told, f"done: {step}"):
            ports.say(line)
        return replace(record, step=record.step + 1), False
    if found.progress is None:
        ports.say(f"waits: {found.why}")
    else:
        if record.state in {ExecutionState.THROTTLED, ExecutionState.STARTED, ExecutionState.CHECKED}:
            record = _noted(record, ExecutionState.COPYING, ports)
        pace.say(found.progress, found.why)
    _pause(record, ports)
    return record, False


def _settling(record: ExecutionRecord, step: Settle, ports: Ports, pace: "_Pace") -> ExecutionRecord:
    """Wait for some time; after a kill the whole time is waited again."""
    if ports.monotonic_ms() >= pace.waits_until_ms(record.step, step):
        return replace(record, step=record.step + 1)
    _pause(record, ports)
    return record


def rolling_back(record: ExecutionRecord, ports: Ports) -> ExecutionRecord:
    """Return an execution that goes back to its start."""
    back = replace(record, back=not record.back, step=0)
    return _noted(back, ExecutionState.CANCELLING, ports)


def _begin(record: ExecutionRecord, step: Step, found: Do, ports: Ports) -> ExecutionRecord:
    """Record what is about to be done: after a kill this is the only evidence of whose a throttle is."""
    limits = [*record.limits, *(OwnLimit(*one) for one in found.limits if OwnLimit(*one) not in record.limits)]
    state = ExecutionState.THROTTLED if isinstance(step, Throttle) else ExecutionState.STARTED
    if record.state in {ExecutionState.CANCELLING, ExecutionState.COPYING}:
        state = record.state
    ports.say(f"now: {step}")
    return _noted(replace(record, limits=limits), state, ports)


def _finish(record: ExecutionRecord, ports: Ports) -> ExecutionRecord:
    """Clear our throttles once the effect of every step is visible."""
    was_cancelled = record.state is ExecutionState.CANCELLING
    if not was_cancelled:
        record = _noted(record, ExecutionState.VERIFIED, ports)
    left = _clean(record, ports)
    if left is not None:
        return _noted(record, ExecutionState.STUCK, ports, f"done, but throttles are left: {left}")
    if not was_cancelled:
        record = _noted(record, ExecutionState.CLEANED, ports)
    return _noted(record, ExecutionState.ROLLED_BACK if was_cancelled else ExecutionState.DONE, ports)


def stopped(record: ExecutionRecord, reason: str, ports: Ports) -> ExecutionRecord:
    """Return an execution stopped where it is.

    Its copies are cancelled, its throttles cleared, and it can be resumed.
    """
    return _halted(record, steps_of(record.operations, back=record.back)[record.step :], reason, ports)


def _halted(record: ExecutionRecord, left: Sequence[Step], reason: str, ports: Ports) -> ExecutionRecord:
    """Cancel the running copies before their throttles are cleared; completed moves stay and can be undone.

    If all steps that are ``left`` have their effect already, nothing is stopped: the execution is done.
    """
    ports.say(f"stops: {reason}")
    if not record.back and record.step == 0 and record.state in _NOTHING_CALLED:
        return _noted(record, ExecutionState.ROLLED_BACK, ports, reason)
    step, was_cancelled = left[0] if left else None, False
    while isinstance(step, Move):
        try:
            calls = calls_to_cancel(step, ports.cluster.look(step, ()))
            if not calls:
                break
            was_cancelled = True
            record = _noted(record, record.state, ports, f"stopping: {reason}")
            for call in calls:
                ports.cluster.call(call)
        except NoAnswerError as error:
            ports.say(f"the cluster does not answer ({error}); asked again")
        except RefusedError as error:
            return _stuck(record, f"{reason}; a copy could not be cancelled: {error}", ports)
        _pause(record, ports)
    if not was_cancelled and _is_there(record, left, ports):
        return _finish(record, ports)
    return _stuck(record, reason, ports)


def _stuck(record: ExecutionRecord, reason: str, ports: Ports) -> ExecutionRecord:
    left = _clean(record, ports)
    more = "" if left is None else f"; throttles are left: {left}"
    return _noted(record, ExecutionState.STUCK, ports, f"{reason}{more}")


def _clean(record: ExecutionRecord, ports: Ports) -> str | None:
    """Delete our throttles that still have our value; return why some may be left, None when none is."""
    limits = _limits(record)
    if not limits:
        return None
    try:
        for _ in range(5):
            calls = limits_to_clear(limits, ports.cluster.look(None, limits))
            if not calls:
                ports.say("the throttles that it set are gone")
                return None
            for call in calls:
                ports.cluster.call(call)
            ports.pause(POLL_S / 4)
    except (NoAnswerError, RefusedError) as error:
        return str(error)
    return "they are still shown"


def _noted(record: ExecutionRecord, state: ExecutionState, ports: Ports, reason: str | None = None) -> ExecutionRecord:
    noted = replace(record, state=state, reason=reason, at_ms=ports.now_ms())
    ports.note(noted)
    return noted


def _pause(record: ExecutionRecord, ports: Ports) -> None:
    if ports.pause(POLL_S):
        raise StopAskedError(record)


def _limits(record: ExecutionRecord) -> list[Limit]:
    return [Limit(one.entity, one.name, one.key, one.value) for one in record.limits]


def is_unfinished(record: ExecutionRecord) -> bool:
    """Tell whether an execution can be resumed; one that is stuck may, once a person has removed the reason."""
    return record.state not in ENDED


def is_running(record: ExecutionRecord) -> bool:
    """Tell whether an execution is in progress: not ended, and not waiting for a person."""
    return is_unfinished(record) and record.state is not ExecutionState.STUCK


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
