"""The last reading of the telemetry topics, shared by the reader and the running executions."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from logdirwatch.autopilot.facts import ALONE, Facts, Running
from logdirwatch.autopilot.settings import AutopilotSettings
from logdirwatch.clock import monotonic_ms, wall_ms
from logdirwatch.execute.need import Shown
from logdirwatch.model.records import ActionRecord, DecisionRecord, ExecutionRecord
from logdirwatch.parse.reading import Unreadable
from logdirwatch.plan.settings import PlanSettings


@dataclass(frozen=True)
class Reading:
    """The topics as of ``began_ms`` of the monotonic clock, when a reading that is now complete began."""

    actions: Mapping[str, ActionRecord] = field(default_factory=dict)
    said: Mapping[str, DecisionRecord] = field(default_factory=dict)
    pauses: Mapping[str, DecisionRecord] = field(default_factory=dict)
    executions: Sequence[ExecutionRecord] = ()
    began_ms: int | None = None
    unknown_executions: Mapping[str, Unreadable] = field(default_factory=dict)
    """By cluster: a record that may be an execution of another release."""
    shown: Shown = field(default_factory=Shown)
    maintenance: Sequence[DecisionRecord] = ()


@dataclass(frozen=True)
class Limits:
    """The parts of the configuration that rules need; ``plan`` returns the planner's settings for a cluster."""

    autopilot: AutopilotSettings
    plan: Callable[[str], PlanSettings]
    longest_ms: int


class Board:
    """The last complete reading.

    The reader posts it; executions wait for one that is newer than their question.
    """

    def __init__(
        self, limits: Limits, now_ms: Callable[[], int] = wall_ms, monotonic_ms: Callable[[], int] = monotonic_ms
    ) -> None:
        self._limits, self._now_ms, self._monotonic_ms = limits, now_ms, monotonic_ms
        self._changed = threading.Condition()
        self._is_closed = False
        self.reading = Reading()

    def close(self) -> None:
        """Wake up everybody who waits; no further reading will come."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def post(self, reading: Reading) -> None:
        """Publish a reading."""
        with self._changed:
            self.reading = reading
            self._changed.notify_all()

    def newer_than(self, at_ms: int, wait_s: float) -> Reading | None:
        """Return a reading that began at ``at_ms`` or later, by the monotonic clock.

        None if none comes within ``wait_s`` seconds.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or _began(self.reading) >= at_ms, wait_s)
            return self.reading if _began(self.reading) >= at_ms else None

    def age_ms(self, reading: Reading) -> int | None:
        """Return how long ago a reading began; None if there was none."""
        return None if reading.began_ms is None else self._monotonic_ms() - reading.began_ms

    def facts(
        self, cluster: str, reading: Reading, running: Running = ALONE, touches: Sequence[str] | None = None
    ) -> Facts:
        """Return the facts about a cluster in a reading."""
        age_ms = self.age_ms(reading)
        return Facts(
            settings=self._limits.autopilot,
            plan=self._limits.plan(cluster),
            longest_ms=self._limits.longest_ms,
            said=reading.said,
            pause=reading.pauses.get(cluster),
            maintenance=[one for one in reading.maintenance if one.cluster == cluster],
            executions=reading.executions,
            shown=reading.shown,
            unknown_execution=reading.unknown_executions.get(cluster),
            alerts={name: action.alert_id for name, action in reading.actions.items()},
            read_at_ms=None if age_ms is None else self._now_ms() - age_ms,
            running=running,
            touches=touches,
        )


def _began(reading: Reading) -> int:
    return -1 if reading.began_ms is None else reading.began_ms
