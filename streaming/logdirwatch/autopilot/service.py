"""The loop of ``logdirwatch autopilot``: read, judge idle clusters, and execute, with a thread for each execution.

Of several processes one has the turn on a cluster, and the others stand by.
"""

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

import structlog
from kafka.errors import KafkaError

from logdirwatch.autopilot import worker
from logdirwatch.autopilot.board import Board, Limits, Reading
from logdirwatch.autopilot.candidates import candidates, left_behind, resumable
from logdirwatch.autopilot.facts import Running
from logdirwatch.autopilot.feed import Feed
from logdirwatch.autopilot.judge import Refusal, refusal
from logdirwatch.autopilot.settings import MOST_AT_ONCE
from logdirwatch.autopilot.worker import Check, Place
from logdirwatch.clock import monotonic_ms
from logdirwatch.errors import UserError
from logdirwatch.execute.journal import FencedError, SharedJournal
from logdirwatch.execute.ports import StopAskedError
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model.records import ActionRecord, ExecutionRecord
from logdirwatch.model.vocabulary import ExecutionState
from logdirwatch.observe.progress import Beat
from logdirwatch.parse.reading import RecordReader, logged
from logdirwatch.plan.content_hash import content_hash

log = structlog.get_logger(__name__)

TICK_S = 0.5
AWAY_S = 3.0

End = ExecutionRecord | list[str]


class Turn(Protocol):
    """Tells whether this process has the turn on a cluster; see :class:`logdirwatch.kafka.turn.Turn`."""

    def is_ours(self) -> bool:
        """Return whether it is this process's turn; raises UserError or KafkaError when nobody tells."""

    def close(self) -> None:
        """Give the turn back."""


@dataclass(frozen=True)
class Surroundings:
    """The dependencies of the service; ``name`` is recorded as the executor."""

    name: str
    telemetry: KafkaSettings
    clusters: Mapping[str, KafkaSettings]
    limits: Limits
    check: Check
    turn_of: Callable[[str], Turn]
    now_ms: Callable[[], int]
    skew_ms: int = 60_000
    monotonic_ms: Callable[[], int] = monotonic_ms


@dataclass
class Lane:
    """One cluster: whose turn it is there, the running executions, and the last message about each action."""

    place: Place
    turn: Turn
    leads: bool | None = None
    """Whether this process has the turn; None: not asked yet."""
    running: dict[str, tuple[ActionRecord | ExecutionRecord, Future[End]]] = field(default_factory=dict)
    """By action: what was begun, or resumed."""
    said: dict[str, tuple[str, str]] = field(default_factory=dict)
    waits_until_ms: dict[str, int] = field(default_factory=dict)
    ended: Counter[str] = field(default_factory=Counter)
    failed: set[str] = field(default_factory=set)
    """Actions that met a defect of ours, which would meet it again: they are left to a person."""
    left_behind: frozenset[str] = frozenset()


class Autopilot:
    """Runs until it is stopped; while the telemetry cluster is unavailable it starts nothing and makes no call."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._stop = threading.Event()
        self.board = Board(around.limits, around.now_ms, around.monotonic_ms)
        self.lanes = {
            name: Lane(
                Place(
                    around.name,
                    around.telemetry,
                    found,
                    self.board,
                    around.check,
                    SharedJournal(around.telemetry, name),
                    around.now_ms,
                    self._stop,
                    around.monotonic_ms,
                ),
                around.turn_of(name),
            )
            for name, found in around.clusters.items()
            if name in around.limits.autopilot.clusters
        }
        # As many as may be left by a process with another configuration.
        self._threads = ThreadPoolExecutor(max(1, len(self.lanes)) * MOST_AT_ONCE, thread_name_prefix="execution")
        self.records = RecordReader(logged)
        """Counts the records that could not be read."""
        self._is_away = False
        self.beat = Beat("autopilot")

    @property
    def ticked_s(self) -> float:
        """When the loop completed its last pass, by the monotonic clock."""
        return self.beat.last_s

    @ticked_s.setter
    def ticked_s(self, at_s: float) -> None:
        self.beat.last_s = at_s

    def run(self, stop: threading.Event) -> None:
        """Run until ``stop`` is set; running copies then continue, and the next start resumes them."""
        while not stop.is_set():
            self._follow(stop)
        self._stop.set()
        self.board.close()
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._reap()
        for lane in self.lanes.values():
            lane.turn.close()

    def _follow(self, stop: threading.Event) -> None:
        """Read and judge until ``stop`` is set or the telemetry cluster cannot be read."""
        around = self._around
        try:
            with clients.consumer(
                around.telemetry, auto_offset_reset="earliest", isolation_level="read_committed"
            ) as client:
                feed = Feed(client, around.skew_ms, self.records)
                while not stop.is_set():
                    # Before the reading: what it shows was there when the turn was taken.
                    gained = self._take_turns()
                    self._reap()
                    self._read(feed)
                    self._tick(gained)
                    stop.wait(TICK_S)
        except (UserError, KafkaError) as error:
            self._away(error)
            stop.wait(AWAY_S)

    def _read(self, feed: Feed) -> None:
        began_ms, now_ms = self._around.monotonic_ms(), self._around.now_ms()
        feed.catch_up()
        self.board.post(reading_of(feed, self._around.limits.longest_ms, now_ms, began_ms))
        if self._is_away:
            log.warning("autopilot.telemetry.recovered")
        self._is_away = False

    def _away(self, error: Exception) -> None:
        self.beat.beat()
        self._reap()
        if not self._is_away:
            log.warning(
                "autopilot.telemetry.failed",
                error=clients.one_line(error) if isinstance(error, KafkaError) else str(error),
                meaning="nothing is started and no call is made until it can be read; what is copied goes on",
            )
        self._is_away = True

    def _take_turns(self) -> list[str]:
        """Ask for the turn on each cluster; return those on which this process has it now, and had it not before."""
        gained = []
        for name, lane in self.lanes.items():
            had, lane.leads = lane.leads, lane.turn.is_ours()
            if lane.leads == had:
                continue
            if lane.leads:
                gained.append(name)
                log.info("autopilot.leads", cluster=name)
            else:
                log.info("autopilot.stands_by", cluster=name, why="another autopilot acts there, or none has begun to")
        return gained

    def _tick(self, gained: Sequence[str] = ()) -> None:
        self.beat.beat()
        reading = self.board.reading
        for name in gained:
            self.lanes[name].left_behind = left_behind(reading.executions, name)
        for name, lane in self.lanes.items():
            if lane.leads:
                self._look(name, lane, reading)

    def _look(self, name: str, lane: Lane, reading: Reading) -> None:
        known = resumable(reading.executions, name, self._around.name, lane.left_behind, self._around.now_ms())
        left = [one for one in known if one.action_id not in lane.failed and one.action_id not in lane.running]
        for mine in left:
            log.warning("autopilot.resumed", cluster=name, action=mine.action_id, kind=mine.kind, state=mine.state)
            lane.running[mine.action_id] = mine, self._threads.submit(worker.resume, mine, lane.place)
        # One begins at a time: the next is judged once the journal shows it.
        if left or not lane.running.keys() <= {one.action_id for one in known}:
            return
        listed = candidates(reading.actions.values(), name)
        lane.said = {one.action_id: lane.said[one.action_id] for one in listed if one.action_id in lane.said}
        for action in listed:
            if self._starts(action, lane, reading):
                return

    def _starts(self, action: ActionRecord, lane: Lane, reading: Reading) -> bool:
        if action.action_id in lane.failed:
            return False
        now_ms = self._around.now_ms()
        elsewhere = sum(1 for other in self.lanes.values() if other.running and other is not lane)
        running = Running(elsewhere, frozenset(lane.running))
        facts = self.board.facts(action.cluster, reading, running)
        found = refusal(action, facts, now_ms)
        if found is not None:
            self._tell(action, found, lane)
            return False
        if self._around.monotonic_ms() < lane.waits_until_ms.get(action.action_id, 0):
            return False
        log.info(
            "autopilot.starts", cluster=action.cluster, action=action.action_id, kind=action.kind, why=action.reason
        )
        lane.running[action.action_id] = action, self._threads.submit(worker.begin, action, lane.place, running)
        return True

    def _tell(self, action: ActionRecord, found: Refusal, lane: Lane) -> None:
        """Log once why an action is not carried out."""
        key = (found.rule, content_hash(action))
        if lane.said.get(action.action_id) == key:
            return
        lane.said[action.action_id] = key
        log.info(
            "autopilot.not_taken", cluster=action.cluster, action=action.action_id, kind=action.kind, why=found.reason
        )

    def _does_not_hold(self, action: ActionRecord, reasons: list[str], lane: Lane) -> None:
        self._wait(lane, action.action_id)
        self._tell(action, Refusal("live", f"does not hold on the cluster: {'; '.join(reasons)}"), lane)

    def _wait(self, lane: Lane, action_id: str) -> None:
        lane.waits_until_ms[action_id] = self._around.monotonic_ms() + self._around.limits.autopilot.recheck_ms

    def _reap(self) -> None:
        for name, lane in self.lanes.items():
            ended = [one for one in lane.running.values() if one[1].done()]
            for about, done in ended:
                del lane.running[about.action_id]
                self._ended(name, lane, done, about)

    def _ended(self, name: str, lane: Lane, done: Future[End], about: ActionRecord | ExecutionRecord) -> None:
        told = log.bind(cluster=name, action=about.action_id, kind=about.kind)
        try:
            end = done.result()
        except StopAskedError:
            told.info("autopilot.left", why="the service stops; what is copied goes on, the next start resumes it")
        except FencedError as error:
            lane.ended["fenced"] += 1
            told.error("autopilot.fenced", why=str(error), meaning="another process carries it out")
        except UserError as error:
            self._wait(lane, about.action_id)
            told.warning("autopilot.interrupted", why=str(error))
        except Exception as error:
            lane.failed.add(about.action_id)
            lane.ended["failed"] += 1
            told.exception(
                "autopilot.failed",
                why=f"{type(error).__name__}: {error}",
                meaning="a defect of logdirwatch: this process leaves the action to a person; report it",
                next=f"if it was begun, go on with logdirwatch apply --resume {about.action_id}, or back with --undo",
            )
        else:
            self._of_end(lane, end, about, told)

    def _of_end(
        self, lane: Lane, end: End, about: ActionRecord | ExecutionRecord, told: structlog.typing.FilteringBoundLogger
    ) -> None:
        if isinstance(end, ExecutionRecord):
            lane.ended[str(end.state)] += 1
            if end.state is ExecutionState.STUCK:
                told.error(
                    "autopilot.stuck",
                    why=end.reason,
                    next=f"go on with logdirwatch apply --resume {end.action_id}, or back with --undo",
                )
            elif end.state is ExecutionState.ROLLED_BACK:
                told.warning("autopilot.ended_early", why=end.reason)
            else:
                told.info("autopilot.done", undo=f"logdirwatch apply --undo {end.action_id}")
        elif isinstance(about, ActionRecord):
            self._does_not_hold(about, end, lane)


def reading_of(feed: Feed, longest_ms: int, now_ms: int, began_ms: int) -> Reading:
    """Return what a feed has read; ``began_ms`` is of the monotonic clock, ``now_ms`` of the wall clock."""
    return Reading(
        actions={action.action_id: action for action in feed.actions},
        said=feed.said(),
        pauses=feed.pauses(longest_ms, now_ms),
        maintenance=feed.maintenance(longest_ms, now_ms),
        executions=feed.executions,
        shown=feed.shown(),
        unknown_executions=feed.unknown_executions,
        began_ms=began_ms,
    )
