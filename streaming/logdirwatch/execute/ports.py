"""What an execution depends on: the cluster, its journal, its clocks, and whoever may stop it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from msgspec.structs import replace

from logdirwatch.clock import monotonic_ms
from logdirwatch.execute.calls import Call
from logdirwatch.execute.seen import Seen
from logdirwatch.execute.steps import Step
from logdirwatch.model.records import ExecutionRecord
from logdirwatch.model.records.executions import ExecutionState
from logdirwatch.plan.commands.throttles import Limit

POLL_S = 2.0


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
    """The execution must not go on; ``must_end``: nor may its copies; ``need_is_over``: nobody has to decide more."""

    reason: str
    must_end: bool = field(default=False, compare=False)
    need_is_over: bool = field(default=False, compare=False)


Permit = Callable[[ExecutionRecord], Hold | Halt | None]


def always(_: ExecutionRecord) -> None:
    """Permit every call: a person is present and can stop it."""


@dataclass(frozen=True)
class Ports:
    """The dependencies of an execution.

    ``note`` writes the journal, ``pause`` waits and tells whether a person asked to stop, and ``permit``, called before
    every observation and the calls that follow from it, returns whether the execution may continue. ``beat`` shows that
    its process lives while it waits.
    """

    cluster: Cluster
    note: Callable[[ExecutionRecord], None]
    say: Callable[[str], None]
    pause: Callable[[float], bool]
    now_ms: Callable[[], int]
    permit: Permit = field(default=always)
    monotonic_ms: Callable[[], int] = monotonic_ms
    beat: Callable[[ExecutionRecord], None] = field(default=lambda _: None)

    def noted(self, record: ExecutionRecord, state: ExecutionState, reason: str | None = None) -> ExecutionRecord:
        """Write a state to the journal and return it."""
        record = replace(record, state=state, reason=reason, at_ms=self.now_ms())
        self.note(record)
        return record

    def wait(self, record: ExecutionRecord) -> None:
        """Wait until the next look; raises StopAskedError when a person asks to stop."""
        self.beat(replace(record, at_ms=self.now_ms()))
        if self.pause(POLL_S):
            raise StopAskedError(record)

    def say_no_answer(self, error: NoAnswerError) -> None:
        """Say that the cluster is asked again."""
        self.say(f"the cluster does not answer ({error}); asked again, nothing is lost by waiting")
