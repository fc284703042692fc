"""What the loop does with what it reads: starts, says once why not, resumes, stands by; and what it tells of itself."""

import threading
from contextlib import nullcontext
from types import SimpleNamespace

import msgspec
import pytest
from kafka.errors import KafkaConnectionError
from msgspec.structs import replace
from structlog.testing import capture_logs

from logdirwatch.autopilot import candidates, service, worker
from logdirwatch.autopilot.board import Limits, Reading
from logdirwatch.autopilot.metrics import AutopilotMetrics
from logdirwatch.autopilot.service import Autopilot, Surroundings
from logdirwatch.autopilot.settings import AutopilotSettings
from logdirwatch.detect.pipeline.heartbeats import HeartbeatMemory, answer
from logdirwatch.errors import UserError
from logdirwatch.execute.journal import FencedError
from logdirwatch.execute.ports import StopAskedError
from logdirwatch.execute.surroundings import touched
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model import topics
from logdirwatch.model.identity import Origin
from logdirwatch.model.records import HeartbeatRecord
from logdirwatch.model.vocabulary import ActionKind, Decision, ExecutionState
from logdirwatch.parse.reading import Unreadable
from logdirwatch.plan.cluster.assignment import Assignment
from logdirwatch.plan.commands.throttles import within_brokers
from logdirwatch.plan.settings import PlanSettings
from tests.support.waiting import DEADLINE_S, wait_until
from tests.unit.autopilot.world import HOUR_MS, WEEK_MS, accepted, execution, move, moving
from tests.unit.plan.builders import NOW_MS, space_alert

MADE = move()
NAME = "autopilot a"


class Turn:
    """A turn that the test gives and takes."""

    ours, is_given_back = True, False

    def is_ours(self):
        return self.ours

    def close(self):
        self.is_given_back = True


class World:
    """A service over readings of the test's own; what would be executed is written down, and ends as the test says."""

    def __init__(self, monkeypatch):
        self.set_by_ms = 0
        self.turn = Turn()
        self.now_ms, self.begun, self.resumed, self.end, self.against = NOW_MS, [], [], [], []
        self.beside, self.goes_on = [], threading.Event()
        self.goes_on.set()
        settings = AutopilotSettings(clusters={"c": {"kinds": {ActionKind.MOVE_LOG_DIR: {}}}})
        monkeypatch.setattr(worker, "begin", self.begin)
        monkeypatch.setattr(worker, "resume", self.resume)
        self.service = Autopilot(
            Surroundings(
                name=NAME,
                telemetry=KafkaSettings(),
                clusters={"c": KafkaSettings(), "not allowed": KafkaSettings()},
                limits=Limits(settings, lambda _: PlanSettings(), WEEK_MS),
                check=lambda _: self.against,
                turn_of=lambda _: self.turn,
                now_ms=lambda: self.now_ms + self.set_by_ms,
                monotonic_ms=lambda: self.now_ms,
            )
        )
        with capture_logs():
            self.gained = self.service._take_turns()

    def begin(self, action, place, running):
        self.begun.append(action.action_id)
        self.beside.append(running.here)
        return self._ended()

    def resume(self, record, place):
        self.resumed.append(record.execution_id)
        return self._ended()

    def _ended(self):
        end = self.end
        self.goes_on.wait(DEADLINE_S)
        if isinstance(end, Exception):
            raise end
        return end

    def reads(self, *actions, said=True, executions=(), unknown=None):
        decisions = {one.action_id: accepted(one) for one in actions} if said else {}
        by_id = {one.action_id: one for one in actions}
        self.service.board.post(Reading(by_id, decisions, {}, executions, self.now_ms, unknown or {}))
        with capture_logs() as logs:
            self.service._tick([*self.gained, *self.service._take_turns()])
            self.gained = []
            if self.goes_on.is_set():
                self.wait()
                self.service._reap()
        return [(entry["event"].removeprefix("autopilot."), entry.get("why")) for entry in logs]

    def wait(self):
        running = [done for lane in self.service.lanes.values() for _, done in lane.running.values()]
        wait_until(lambda: all(one.done() for one in running), DEADLINE_S, "the executions to end")

    def metrics(self):
        return AutopilotMetrics(self.service, 15_000)

    def gauges(self):
        labels = {name for metric in self.metrics().collect() for sample in metric.samples for name in sample.labels}
        assert labels <= {"cluster", "state", "rule"}
        return {
            (sample.name.removeprefix("logdirwatch_autopilot_"), *sample.labels.values()): sample.value
            for metric in self.metrics().collect()
            for sample in metric.samples
        }


@pytest.fixture
def world(monkeypatch):
    return World(monkeypatch)


def test_what_may_start_is_begun_on_clusters_that_are_allowed(world):
    world.end = execution(MADE, state=ExecutionState.DONE)
    assert [event for event, _ in world.reads(MADE)] == ["starts", "done"]
    assert world.begun == [MADE.action_id]
    assert list(world.service.lanes) == ["c"]
    assert world.gauges()["executions_total", "c", "done"] == 1


def test_what_is_not_taken_is_said_once(world):
    ((event, why),) = world.reads(MADE, said=False)
    assert (event, "waits for an acceptance" in why) == ("not_taken", True)
    assert world.reads(MADE, said=False) == []
    assert world.gauges()["not_taken", "c", "decision"] == 1
    assert world.begun == []


def test_what_does_not_hold_is_checked_again_after_a_while(world):
    world.end = ["a disk is offline"]
    assert world.reads(MADE)[1] == ("not_taken", "does not hold on the cluster: a disk is offline")
    assert world.reads(MADE) == []
    world.now_ms += 60_000
    assert [event for event, _ in world.reads(MADE)] == ["starts"]


def test_what_is_stuck_is_an_error(world):
    world.end = execution(MADE, state=ExecutionState.STUCK, reason="the disk is full")
    assert world.reads(MADE)[1] == ("stuck", "the disk is full")
    assert world.gauges()["executions_total", "c", "stuck"] == 1


def test_an_execution_that_was_left_is_resumed_before_anything_is_begun(world):
    left = execution(move(), "autopilot b", state=ExecutionState.COPYING)
    world.end = replace(left, state=ExecutionState.DONE)
    assert [event for event, _ in world.reads(MADE, executions=[left])] == ["resumed", "done"]
    assert (world.resumed, world.begun) == ([left.execution_id], [])


def test_what_touches_other_brokers_begins_beside_it_once_the_journal_shows_the_first_one(world):
    world.goes_on.clear()
    first, same, other = MADE, replace(move(), action_id="same"), elsewhere(3)
    world.end = execution(first, state=ExecutionState.DONE)
    assert world.reads(first, same, other) == [("starts", first.reason)]
    assert world.reads(first, same, other) == [], "the journal does not show it yet"
    runs = replace(execution(first, NAME, state=ExecutionState.COPYING), touches=touched(first.operations))
    told = world.reads(first, same, other, executions=[runs])
    assert [event for event, _ in told] == ["not_taken", "not_taken", "starts"]
    assert "is copying and unfinished" in told[1][1]
    assert (world.begun, world.beside) == ([first.action_id, "3"], [frozenset(), {first.action_id}])
    assert world.gauges()["running", "c"] == 2
    world.goes_on.set()
    world.wait()
    world.service._reap()
    assert world.gauges()["running", "c"] == 0


def test_all_that_were_left_are_resumed_at_once_and_none_while_a_person_carries_one_out(world):
    left = [execution(one, "autopilot b", state=ExecutionState.COPYING) for one in (MADE, elsewhere(3))]
    persons = replace(left[0], by="a person at the terminal", execution_id="p", action_id="p")
    assert world.reads(executions=[*left, persons]) == []
    world.end = replace(left[0], state=ExecutionState.DONE)
    assert [event for event, _ in world.reads(executions=left)] == ["resumed", "resumed", "done", "done"]
    assert sorted(world.resumed) == sorted(one.execution_id for one in left)


def elsewhere(broker):
    """A move of another topic on another broker, which is named by it."""
    there, here = (Assignment(f"t{broker}", 0, (broker,), (path,)) for path in ("/b", "/a"))
    return moving(there, here, within_brokers([broker], 5), action_id=str(broker), position=broker)


def test_one_that_another_process_begins_later_is_its_own(world):
    world.reads()
    others = execution(MADE, "autopilot b", state=ExecutionState.COPYING)
    ((event, why),) = world.reads(MADE, executions=[others])
    assert event == "not_taken"
    assert "is being carried out" in why
    assert world.resumed == []


def test_beside_an_execution_of_another_release_its_own_goes_on_and_nothing_is_begun(world):
    unknown = Unreadable(Origin(topics.EXECUTIONS, 0, 7, NOW_MS), "version 2 is unknown, expected 1", "c", 2)
    ((event, why),) = world.reads(MADE, unknown={"c": unknown})
    assert event == "not_taken"
    assert "(partition 0, offset 7) may be of an execution that another release of logdirwatch began" in why
    left = execution(move(), NAME, state=ExecutionState.COPYING)
    world.end = replace(left, state=ExecutionState.DONE)
    assert [event for event, _ in world.reads(MADE, executions=[left], unknown={"c": unknown})] == ["resumed", "done"]
    assert (world.resumed, world.begun) == ([left.execution_id], [])
    assert [event for event, _ in world.reads(MADE, unknown={"another": unknown})] == ["starts", "done"]


@pytest.mark.parametrize("end", [["full"], ValueError("a defect")], ids=["waits", "is left to a person"])
def test_one_that_does_not_begin_keeps_no_other_from_it(world, end):
    world.end = end
    other = replace(move(), action_id="other", position=1)
    world.reads(MADE, other)
    world.reads(MADE, other)
    assert world.begun == [MADE.action_id, "other"]


def test_a_pass_is_a_sign_of_life(world):
    world.service.ticked_s -= 1_000
    world.reads()
    assert world.metrics().is_ill() is None


def test_who_was_fenced_goes_on_when_nobody_else_carries_anything_out(world):
    world.end = FencedError("another one took over")
    assert world.reads(MADE)[1:] == [("fenced", "another one took over")]
    assert world.gauges()["executions_total", "c", "fenced"] == 1
    persons = execution(MADE, "a person at the terminal", state=ExecutionState.COPYING)
    assert [event for event, _ in world.reads(MADE, executions=[persons])] == ["not_taken"]
    world.end = execution(MADE, state=ExecutionState.DONE)
    assert [event for event, _ in world.reads(MADE)] == ["starts", "done"]


def test_who_has_not_the_turn_stands_by_and_takes_over_what_was_left_once_it_has(world):
    world.turn.ours = False
    left = execution(move(), "autopilot b", state=ExecutionState.COPYING)
    assert [event for event, _ in world.reads(MADE)] == ["stands_by"]
    assert world.reads(MADE, executions=[left]) == []
    assert (world.metrics().is_unready(), world.gauges()["leads", "c"]) == (None, 0)
    world.turn.ours = True
    world.end = replace(left, state=ExecutionState.DONE)
    assert [event for event, _ in world.reads(MADE, executions=[left])] == ["leads", "resumed", "done"]
    assert world.gauges()["leads", "c"] == 1
    world.turn.ours = False
    assert [event for event, _ in world.reads(MADE)] == ["stands_by"]
    assert (world.resumed, world.begun) == ([left.execution_id], [])


def test_what_is_interrupted_waits_a_while(world):
    world.end = UserError("no answer")
    assert world.reads(MADE)[1] == ("interrupted", "no answer")
    assert world.reads(MADE) == []


@pytest.mark.parametrize("is_begun", [False, True])
def test_a_defect_leaves_the_action_to_a_person_and_the_service_goes_on(world, is_begun):
    world.end = KeyError("t-0")
    left = [execution(MADE, NAME, state=ExecutionState.CLAIMED)] if is_begun else []
    assert world.reads(MADE, executions=left)[1] == ("failed", "KeyError: 't-0'")
    assert world.gauges()["executions_total", "c", "failed"] == 1
    world.now_ms += 60_000
    world.end = execution(MADE, state=ExecutionState.DONE)
    world.reads(MADE, executions=left)
    assert len(world.begun + world.resumed) == 1
    other = replace(move(), action_id="other")
    assert [event for event, _ in world.reads(other)] == ["starts", "done"]


def test_a_stop_leaves_what_runs(world):
    world.end = StopAskedError(execution(MADE))
    assert world.reads(MADE)[1][0] == "left"


def test_it_is_ready_once_it_has_read_and_while_it_can(world):
    assert world.metrics().is_unready() == "the telemetry topics cannot be read"
    world.reads()
    assert (world.metrics().is_unready(), world.metrics().is_ill()) == (None, None)
    world.now_ms += HOUR_MS
    assert world.metrics().is_unready() == "the telemetry topics cannot be read"
    assert world.gauges()["telemetry_age_seconds",] == 3_600
    world.service.ticked_s -= 1_000
    assert world.metrics().is_ill() == world.metrics().is_unready() == "no progress: autopilot for 16 min 40 s"


def test_a_dry_run_says_what_would_become_of_each_action(world):
    other = replace(move(), action_id="other")
    world.service.board.post(
        Reading({MADE.action_id: MADE, "other": other}, {MADE.action_id: accepted(MADE)}, {}, (), NOW_MS)
    )

    def lines(check):
        return list(candidates.lines(world.service.board, ["c"], check, NOW_MS))

    said = lines(lambda _: [])
    assert f"c: move_log_dir {MADE.action_id} would start now" in said
    assert any(line.startswith("c: move_log_dir other waits for an acceptance") for line in said)
    assert any("1:/b" in line and "AlterReplicaLogDirs" in line for line in said)
    assert any("does not hold on the cluster: full" in line for line in lines(lambda _: ["full"]))

    def fails(_):
        raise UserError("no answer")

    assert any("does not hold on the cluster: no answer" in line for line in lines(fails))
    world.service.board.post(Reading(began_ms=NOW_MS))
    assert lines(fails) == ["c: no action is open"]


class Consumer:
    """The telemetry topics, one partition each; ``errors`` are those of the readings, one after another."""

    def __init__(self, *records, errors=()):
        self.records, self.errors, self.assigned, self.at = records, iter(errors), [], {}

    def partitions_for_topic(self, topic):
        return {0}

    def assign(self, parts):
        self.assigned = list(parts)

    def seek_to_beginning(self):
        self.at = dict.fromkeys(self.assigned, 0)

    def end_offsets(self, parts):
        if (error := next(self.errors, None)) is not None:
            raise error
        return {part: len(self.of(part)) for part in parts}

    def position(self, part):
        return self.at[part]

    def poll(self, timeout_ms):
        found = {}
        for part in self.assigned:
            found[part] = self.of(part)[self.at[part] :][:1]
            self.at[part] += len(found[part])
        return found

    def of(self, part):
        values = [(key, value) for topic, key, value in self.records if topic == part.topic]
        return [
            SimpleNamespace(
                topic=part.topic,
                partition=0,
                offset=number,
                timestamp=NOW_MS,
                key=key.encode(),
                value=msgspec.json.encode(value),
            )
            for number, (key, value) in enumerate(values)
        ]


class Stop(threading.Event):
    """Is set at the last of some waits."""

    def __init__(self, waits):
        super().__init__()
        self.most, self.waits = waits, []

    def wait(self, timeout=None):
        self.waits.append(timeout)
        if len(self.waits) == self.most:
            self.set()
        return self.is_set()


PAUSE = replace(accepted(MADE, Decision.PAUSE), id="c", cluster="c", until_ms=NOW_MS + HOUR_MS)
DONE = execution(move(), state=ExecutionState.DONE)
WRITTEN = [
    (topics.ACTIONS, MADE.action_id, MADE),
    (topics.DECISIONS, MADE.action_id, replace(accepted(MADE), cluster="c")),
    (topics.EXECUTIONS, DONE.execution_id, replace(DONE, started_at_ms=NOW_MS - HOUR_MS)),
    (topics.ALERTS, space_alert().alert_id, space_alert()),
]


def heartbeat(number, at_ms):
    beat = HeartbeatRecord(
        version=1,
        cluster="c",
        collector=str(number),
        timestamp_ms=at_ms,
        interval_ms=10_000,
        samples_overdue_ms=0,
    )
    (sign,) = answer(HeartbeatMemory(), [beat])
    return replace(sign, alert_id=f"heartbeat {number}")


def runs(world, monkeypatch, consumer, waits):
    """Let the service run for some passes; return the log, and how long it waited after each."""
    opened = []
    monkeypatch.setattr(service.clients, "consumer", lambda _, **how: opened.append(how) or nullcontext(consumer))
    stop = Stop(waits)
    with capture_logs() as logs:
        world.service.run(stop)
    assert {tuple(how.items()) for how in opened} == {
        (("auto_offset_reset", "earliest"), ("isolation_level", "read_committed"))
    }
    return [entry["event"].removeprefix("autopilot.") for entry in logs], stop.waits


def test_it_reads_the_topics_from_their_beginning_to_their_end(world, monkeypatch):
    over = replace(PAUSE, id="other", cluster="other", until_ms=NOW_MS)
    pauses = [(topics.DECISIONS, one.id, one) for one in (PAUSE, over)]
    beats = [heartbeat(number, NOW_MS - age_ms) for number, age_ms in enumerate((9_000, 1_000, 5_000))]
    runs(world, monkeypatch, Consumer(*WRITTEN, *pauses, *((topics.ALERTS, one.alert_id, one) for one in beats)), 1)
    reading = world.service.board.reading
    assert reading.actions == {MADE.action_id: MADE}
    assert [one.decision for one in reading.said.values()] == [Decision.ACCEPT]
    assert {name: one.until_ms for name, one in reading.pauses.items()} == {"c": PAUSE.until_ms}
    assert [one.execution_id for one in reading.executions] == [DONE.execution_id]
    assert set(reading.shown.alerts) == {space_alert().alert_id, *(one.alert_id for one in beats)}
    assert reading.shown.passed_ms == {"c": NOW_MS - 1_000}, "the last one that any collector's samples show"
    assert (reading.began_ms, world.begun) == (NOW_MS, []), "it is paused"


def test_while_the_topics_are_away_it_says_so_once_and_goes_on_with_their_return(world, monkeypatch):
    world.end = DONE
    away = KafkaConnectionError("reset")
    logs, waits = runs(world, monkeypatch, Consumer(*WRITTEN, errors=[None, away, away, None]), 4)
    told = [event for event in logs if event.startswith("telemetry")]
    assert told == ["telemetry.failed", "telemetry.recovered"]
    assert waits == [service.TICK_S, service.AWAY_S, service.AWAY_S, service.TICK_S]
    assert world.begun[0] == MADE.action_id


def test_at_its_end_it_gives_its_turn_back_and_leaves_nobody_waiting(world, monkeypatch):
    world.end = DONE
    logs, _ = runs(world, monkeypatch, Consumer(*WRITTEN), 1)
    (lane,) = world.service.lanes.values()
    assert (lane.running, lane.ended["done"], logs[-1]) == ({}, 1, "done")
    assert lane.place.stop.is_set()
    assert world.turn.is_given_back
    assert world.service.board.newer_than(NOW_MS + 1, DEADLINE_S) is None
