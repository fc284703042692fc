"""When a streaming query makes no progress, and what follows. Pure: all times are of one monotonic clock.

Spark reports each batch that ended and, every ten seconds, that nothing has arrived. Within a batch, a task or a job
that ended is progress. A query that waits, or whose batch has no running task, must make progress within its longest
silence: Spark's trigger waits for an hour when the wall clock is set back by one, and no task runs after the executor
was lost. A running task may have much to do, such as the records of a long downtime. It gets more time, and twice as
much after each restart, so that a long batch ends at last.
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import NamedTuple

from logdirwatch.observe.progress import ENDS_AFTER, ILL_AFTER, LONGEST_SILENCE_S

RUNNING_FACTOR = 5
"""How much longer a task may run without progress than a query may wait."""
MOST_DOUBLINGS = 6
RESTARTS = 1
"""After this many restarts without progress only a new process helps."""
SET_BACK_MS = 5_000
"""A trigger that waits for less than that does not matter; NTP slews the clock by less."""


class Signs(NamedTuple):
    """What shows progress: batch and time of the last report, the running jobs and how many of their tasks ended."""

    report: tuple[int | None, str | None] | None = None
    jobs: tuple[int, ...] = ()
    ended_tasks: int = 0
    has_running_task: bool = False

    def is_progress_after(self, before: "Signs") -> bool:
        """Tell whether something ended in between; a job that only began proves nothing."""
        if self.report != before.report:
            return True
        return bool(before.jobs) and (self.jobs != before.jobs or self.ended_tasks > before.ended_tasks)

    def ahead_ms(self, wall_ms: int) -> int:
        """Return by how much the reported trigger began later than now, in ms: the wall clock was set back since then.

        The next trigger waits for an interval after that moment (Spark's ``ProcessingTimeExecutor``). The report is
        evidence where a look at the clock is not: between two looks it may be set forward and back.
        """
        began = None if self.report is None else self.report[1]
        if began is None:
            return 0
        return max(0, round(datetime.fromisoformat(began.replace("Z", "+00:00")).timestamp() * 1000) - wall_ms)


class Verdict(Enum):
    """What to do about a query: nothing, start it again, or end the process."""

    WAIT = "wait"
    RESTART = "restart"
    END = "end"


@dataclass
class Silence:
    """The progress of one query; ``since_s`` is when it last made some, None if that is not known yet.

    ``ends_process`` tells whether a new process is worth it, if nothing else helps: alerts do not wait for tables.
    """

    longest_s: float = max(LONGEST_SILENCE_S.values())
    is_real_time: bool = False
    ends_process: bool = True
    since_s: float | None = None
    restarts: int = 0
    signs: Signs = field(default_factory=Signs)
    _is_first_look: bool = True

    def started(self) -> None:
        """Record a start: its first look is compared with nothing."""
        self._is_first_look = True

    def judge(self, signs: Signs, started_s: float, now_s: float) -> Verdict:
        """Compare with the last look; ``started_s`` is when the query was started last."""
        is_progress = not self._is_first_look and signs.is_progress_after(self.signs)
        self.signs, self._is_first_look = signs, False
        self.since_s = started_s if self.since_s is None else self.since_s
        if is_progress:
            self.since_s, self.restarts = now_s, 0
        if now_s - max(started_s, self.since_s) <= self._limit_s * (1 << min(self._doublings, MOST_DOUBLINGS)):
            return Verdict.WAIT
        self.restarts += 1
        # A new process would only begin a running task once more.
        is_end = self.restarts > RESTARTS and self.ends_process and not self._has_time
        return Verdict.END if is_end else Verdict.RESTART

    def is_hopeless(self, now_s: float) -> bool:
        """Tell whether a query that fails at each start is left to a new process."""
        return self.ends_process and self.silent_s(now_s) > ENDS_AFTER * self.longest_s

    def excuse(self, now_s: float) -> None:
        """Restart the count, while nothing can make progress."""
        self.since_s = now_s

    def silent_s(self, now_s: float) -> float:
        """Return the seconds since the last progress."""
        return 0.0 if self.since_s is None else now_s - self.since_s

    def is_silent(self, now_s: float) -> bool:
        """Tell whether it is silent for longer than it may be."""
        return self.silent_s(now_s) > self._limit_s

    def is_stuck(self, now_s: float) -> bool:
        """Tell whether the silence lasts, although the query was started again."""
        return self.silent_s(now_s) > ILL_AFTER * self._limit_s and not self._has_time

    @property
    def _has_time(self) -> bool:
        # The tasks of the real-time query run all the time, whether or not anything arrives.
        return self.signs.has_running_task and not self.is_real_time

    @property
    def _limit_s(self) -> float:
        return self.longest_s * (RUNNING_FACTOR if self._has_time else 1)

    @property
    def _doublings(self) -> int:
        return self.restarts if self._has_time else 0
