"""A start is judged once more by what is read after every other executor was fenced."""

import dataclasses
import threading

import pytest
from msgspec.structs import replace

from logdirwatch.autopilot import worker
from logdirwatch.autopilot.board import Board, Limits, Reading
from logdirwatch.autopilot.facts import Running
from logdirwatch.autopilot.settings import AutopilotSettings
from logdirwatch.autopilot.worker import Place
from logdirwatch.execute.journal import SharedJournal
from logdirwatch.execute.need import Shown
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model.vocabulary import ActionKind, ActionStatus, Decision, ExecutionState
from logdirwatch.plan.content_hash import content_hash
from logdirwatch.plan.settings import PlanSettings
from tests.unit.autopilot.world import HOUR_MS, WEEK_MS, accepted, cut, execution, firing, move
from tests.unit.plan.builders import NOW_MS

MADE = move()
OTHERS = [execution(cut(), state=ExecutionState.DONE, started_at_ms=NOW_MS - n, execution_id=str(n)) for n in range(2)]


class World:
    """The worker over readings of the test's own; the journal is a list, and what is carried out ends at once."""

    def __init__(self, monkeypatch):
        self.notes, self.accepted = [], []
        monkeypatch.setattr(worker.journal, "Journal", lambda *_: self)
        monkeypatch.setattr(worker.clients, "write", lambda _, topic, records: self.accepted.extend(records))
        monkeypatch.setattr(worker, "_touched", lambda action, place: self.touches)
        monkeypatch.setattr(worker, "_carried_out", lambda record, noted, place: record)
        allowed = {"kinds": {ActionKind.MOVE_LOG_DIR: {}}, "max_actions_per_hour": 2}
        limits = Limits(AutopilotSettings(clusters={"c": allowed}), lambda _: PlanSettings(), WEEK_MS)
        self.board, self.reasons, self.touches, self.lost = Board(limits), [], ["brokers 1", "topics t"], None
        self.place = Place(
            "autopilot a",
            KafkaSettings(),
            KafkaSettings(),
            self.board,
            self.check,
            SharedJournal(KafkaSettings(), "c"),
            lambda: NOW_MS,
            threading.Event(),
        )
        self.is_closed = False

    def write(self, record):
        self.notes.append(record)

    def close(self):
        self.is_closed = True

    def check(self, action):
        return self.reasons

    def begins(self, action=MADE, *, said=Decision.ACCEPT, actions=(MADE,), executions=(), elsewhere=0, here=()):
        said = {} if said is None else {MADE.action_id: accepted(MADE, said)}
        self.board.post(Reading({one.action_id: one for one in actions}, said, {}, executions, began_ms=NOW_MS))
        return worker.begin(action, self.place, Running(elsewhere, frozenset(here)))


@pytest.fixture
def world(monkeypatch):
    return World(monkeypatch)


def test_it_is_claimed_then_checked_and_carried_out(world):
    ended = world.begins(executions=[replace(OTHERS[0], started_at_ms=NOW_MS - HOUR_MS), OTHERS[1]])
    assert [note.state for note in world.notes] == [ExecutionState.CLAIMED, ExecutionState.CHECKED]
    assert ended is world.notes[-1]
    assert (ended.by, ended.started_at_ms, ended.content_hash) == ("autopilot a", NOW_MS, content_hash(MADE))
    assert (ended.back, ended.step, ended.operations) == (False, 0, MADE.operations)
    assert ended.touches == ["brokers 1", "topics t"]
    assert world.is_closed
    assert world.accepted == []


@pytest.mark.parametrize("touches", [["brokers 2", "topics u"], ["brokers 1", "topics u"], None])
def test_beside_another_one_begins_only_what_touches_nothing_of_it_on_the_live_cluster(world, touches):
    beside = replace(OTHERS[0], state=ExecutionState.COPYING, action_id="beside", touches=touches)
    ended = world.begins(executions=[beside], here=["beside"])
    assert world.accepted == []
    if touches == ["brokers 2", "topics u"]:
        assert ended is world.notes[-1]
    else:
        assert ("is copying and unfinished" in ended[0], world.notes) == (True, [])


@pytest.mark.parametrize(
    ("read", "reason"),
    [
        ({"executions": OTHERS}, "waits: 2 actions started within the last hour (max_actions_per_hour)"),
        ({"elsewhere": 1}, "waits: actions run on as many clusters as may be (autopilot.clusters_at_once)"),
        ({"actions": ()}, "it says something else by now"),
        ({"actions": (replace(MADE, operations=cut().operations),)}, "it says something else by now"),
        ({"actions": (replace(MADE, status=ActionStatus.RUNNING),)}, "is running"),
        ({"said": Decision.REJECT}, "was rejected by ann: because"),
    ],
)
def test_what_was_read_meanwhile_prevents_it_and_nothing_is_noted(world, read, reason):
    assert world.begins(**read) == [reason]
    assert world.notes == []


def test_without_an_acceptance_it_writes_its_own_and_waits_until_it_is_read_back(world):
    (reason,) = world.begins(said=None)
    assert reason.startswith("waits for an acceptance")
    ((key, _),) = world.accepted
    assert key == MADE.action_id
    assert world.notes == []


def test_what_does_not_hold_on_the_cluster_claims_nothing(world):
    world.reasons = ["a disk is offline"]
    assert world.begins() == ["a disk is offline"]
    assert not world.is_closed


@pytest.mark.parametrize("since", [1, 2], ids=["before it is claimed", "while it is claimed"])
def test_what_is_seen_to_hold_the_cluster_begins_nothing(world, monkeypatch, since):
    held = iter([*[None] * (since - 1), "t-0 has fewer replicas"])
    monkeypatch.setattr(worker, "why_held", lambda records, watched, now_ms: next(held))
    assert world.begins() == ["waits: t-0 has fewer replicas"]
    assert world.notes == []


def test_one_that_is_resumed_goes_on_where_it_was_in_its_new_name(world):
    left = execution(MADE, "autopilot b", state=ExecutionState.COPYING, step=1)
    ended = worker.resume(left, world.place)
    assert world.notes == [ended]
    assert ended == replace(left, by="autopilot a", at_ms=NOW_MS)
    assert world.is_closed


@pytest.mark.parametrize(
    ("made", "is_shown", "why"),
    [(cut(), True, None), (cut(), False, "nothing shows that room is needed"), (move(), False, None)],
    ids=["a need that is shown", "one that is over", "nothing is deleted"],
)
def test_what_deletes_history_ends_before_the_next_call_once_its_need_is_over(world, made, is_shown, why):
    allowed = AutopilotSettings(clusters={"c": {"kinds": {made.kind: {}}}})
    board = Board(Limits(allowed, lambda _: PlanSettings(), WEEK_MS))
    place = dataclasses.replace(world.place, board=board, monotonic_ms=lambda: 0)
    shown = firing(made, NOW_MS) if is_shown else Shown()
    board.post(Reading({made.action_id: made}, {made.action_id: accepted(made)}, began_ms=0, shown=shown))
    found = worker._Permits(place, lambda record, others: None)(execution(made, state=ExecutionState.CHECKED))
    assert found is None if why is None else why in found.reason
