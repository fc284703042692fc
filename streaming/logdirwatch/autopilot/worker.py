"""One execution on one cluster.

Started or resumed with the code of ``apply``, and stopped when it must not continue.
"""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import msgspec
import structlog
from msgspec.structs import replace

from logdirwatch.autopilot.board import Board, Reading
from logdirwatch.autopilot.facts import Facts, Running
from logdirwatch.autopilot.judge import alone, refusal
from logdirwatch.autopilot.standing import reason_to_stop
from logdirwatch.clock import monotonic_ms
from logdirwatch.errors import UserError
from logdirwatch.execute import journal
from logdirwatch.execute.admin import AdminCluster
from logdirwatch.execute.begin import begun
from logdirwatch.execute.need import deletes_history
from logdirwatch.execute.ports import Halt, Hold, NoAnswerError, Ports, RefusedError
from logdirwatch.execute.run import carry_out
from logdirwatch.execute.surroundings import touched
from logdirwatch.execute.watch import Watch, why_held
from logdirwatch.executions import unfinished_of
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model import topics
from logdirwatch.model.records import ActionRecord, DecisionRecord, ExecutionRecord
from logdirwatch.model.vocabulary import Decision, ExecutionState
from logdirwatch.plan.content_hash import content_hash

log = structlog.get_logger(__name__)

ANSWER_S = 10.0
"""The time limit for a reading of the telemetry topics."""

Check = Callable[[ActionRecord], list[str]]
"""Returns why an action does not hold on the live cluster."""


@dataclass(frozen=True)
class Place:
    """The dependencies of executions: the clusters, the recorded executor, and the check of live clusters."""

    name: str
    telemetry: KafkaSettings
    monitored: KafkaSettings
    board: Board
    check: Check
    journal: journal.SharedJournal
    now_ms: Callable[[], int]
    stop: threading.Event
    monotonic_ms: Callable[[], int] = monotonic_ms


def begin(action: ActionRecord, place: Place, running: Running) -> ExecutionRecord | list[str]:
    """Carry out an action beside what else is ``running``; return its end, or why it was not started.

    Raises UserError when a cluster does not answer, FencedError when another process takes over, StopAskedError when
    the service stops.
    """
    touches = _touched(action, place)
    facts = place.board.facts(action.cluster, place.board.reading, running, touches)
    reasons = _held(action, facts, place) or place.check(action)
    if reasons:
        return reasons
    if facts.acceptance(action, place.now_ms()) is None:
        _accept(action, place)
    with place.journal.opened() as noted:
        # Every other executor on the cluster is fenced now, so the reading that follows is complete.
        record = _claimed(action, place, running, touches)
        if not isinstance(record, ExecutionRecord):
            return [record]
        noted.write(record)
        record = replace(record, state=ExecutionState.CHECKED, at_ms=place.now_ms())
        noted.write(record)
        return _carried_out(record, noted, place)


def _touched(action: ActionRecord, place: Place) -> list[str]:
    """Return what an action touches, as the live cluster shows it."""
    try:
        with clients.admin(place.monitored) as admin:
            return touched(action.operations, AdminCluster(admin).hosts)
    except (NoAnswerError, RefusedError) as error:
        raise UserError(f"the brokers of its topics cannot be seen: {error}") from None


def _claimed(action: ActionRecord, place: Place, running: Running, touches: list[str]) -> ExecutionRecord | str:
    """Return the first record of an execution, or why there must be none, by a reading that begins now."""
    reading = place.board.newer_than(place.monotonic_ms(), ANSWER_S)
    if reading is None:
        return "the telemetry topics do not answer"
    known = reading.actions.get(action.action_id)
    if known is None or content_hash(known) != content_hash(action):
        return "it says something else by now"
    facts = place.board.facts(action.cluster, reading, running, touches)
    found = refusal(known, facts, place.now_ms())
    if found is not None:
        return found.reason
    if facts.acceptance(known, place.now_ms()) is None:
        return "its acceptance was not read back"
    held = _held(known, facts, place)
    return held[0] if held else replace(begun(known, place.name, place.now_ms()), touches=touches)


def _held(action: ActionRecord, facts: Facts, place: Place) -> list[str]:
    """Return what holds the cluster of an action, also where only a look at it tells whether that is over."""
    if (waits := alone(action, facts, place.now_ms())) is not None:
        return [waits]
    held = why_held(facts.others_on(action.cluster), place.monitored, place.now_ms())
    return [] if held is None else [f"waits: {held}"]


def resume(record: ExecutionRecord, place: Place) -> ExecutionRecord:
    """Resume an execution that an autopilot process left; raises like :func:`begin`."""
    with place.journal.opened() as noted:
        record = replace(record, by=place.name, at_ms=place.now_ms())
        noted.write(record)
        return _carried_out(record, noted, place)


def _accept(action: ActionRecord, place: Place) -> None:
    """Record the acceptance of an action that may start unattended, so that the planner no longer changes it."""
    earlier = place.board.reading.said.get(action.action_id)
    record = DecisionRecord(
        version=1,
        id=action.action_id,
        cluster=action.cluster,
        decision=Decision.ACCEPT,
        by=place.name,
        reason=f"the configuration allows {action.kind} on {action.cluster} unattended",
        at_ms=max(place.now_ms(), 0 if earlier is None else earlier.at_ms + 1),
        revision=action.revision,
        content_hash=content_hash(action),
    )
    clients.write(place.telemetry, topics.DECISIONS, [(record.id, msgspec.json.encode(record))])
    log.info("autopilot.accepted", cluster=action.cluster, action=action.action_id, kind=action.kind)


def _carried_out(record: ExecutionRecord, noted: journal.Journal, place: Place) -> ExecutionRecord:
    told = log.bind(cluster=record.cluster, action=record.action_id)
    with clients.admin(place.monitored) as admin:
        looked = AdminCluster(admin)
        ports = Ports(
            looked,
            noted.write,
            lambda line: told.info("autopilot.progress", what=line),
            place.stop.wait,
            place.now_ms,
            _Permits(place, Watch(looked, place.monotonic_ms)),
            place.monotonic_ms,
            noted.beat,
        )
        return carry_out(record, ports)


class _Permits:
    """Reads the telemetry topics and monitors the cluster before every observation and call.

    Logs once that the topics do not answer.
    """

    def __init__(self, place: Place, watch: Watch) -> None:
        self._place = place
        self._watch = watch
        self._is_away = False

    def __call__(self, record: ExecutionRecord) -> Hold | Halt | None:
        """Return whether an execution may continue."""
        place = self._place
        reading = place.board.newer_than(place.monotonic_ms(), ANSWER_S)
        if reading is None:
            if not self._is_away:
                log.warning(
                    "autopilot.waiting",
                    cluster=record.cluster,
                    action=record.action_id,
                    why="the telemetry topics do not answer: nothing is called until they do, what is copied goes on",
                )
            self._is_away = True
            return Hold()
        self._is_away = False
        facts = place.board.facts(record.cluster, reading)
        action, now_ms = reading.actions.get(record.action_id), place.now_ms()
        halt = reason_to_stop(record, action, facts, now_ms)
        if halt is None and action is not None and deletes_history(record):
            reason = facts.shown.reason_against(action.alert_id, record.cluster, now_ms)
            halt = None if reason is None else Halt(reason)
        return self._watch(record, partial(self._others, record, reading)) if halt is None else halt

    def _others(self, record: ExecutionRecord, before: Reading) -> Iterator[ExecutionRecord]:
        """Yield what else was unfinished on the cluster before the last look at it, or is now."""
        place = self._place
        for reading in (before, place.board.newer_than(place.monotonic_ms(), ANSWER_S)):
            known = () if reading is None else reading.executions
            unfinished = unfinished_of(one for one in known if one.cluster == record.cluster)
            yield from (one for one in unfinished.values() if one.action_id != record.action_id)
