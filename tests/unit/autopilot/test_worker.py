"""A start is judged once more by what is read after every other executor was fenced."""

import contextlib
import dataclasses
import threading

import msgspec
import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from logdirwatch.autopilot import worker
from logdirwatch.autopilot.board import Board, Limits, Reading
from logdirwatch.autopilot.facts import Running
from logdirwatch.autopilot.settings import AutopilotSettings, KindSettings
from logdirwatch.autopilot.worker import Place
from logdirwatch.errors import UserError
from logdirwatch.execute.journal import SharedJournal
from logdirwatch.execute.need import Shown
from logdirwatch.execute.ports import Hold, NoAnswerError, RefusedError
from logdirwatch.execute.surroundings import Surroundings
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model import topics
from logdirwatch.model.records import DecisionRecord
from logdirwatch.model.vocabulary import ActionKind, ActionStatus, Decision, ExecutionState
from logdirwatch.plan.content_hash import content_hash
from logdirwatch.plan.settings import PlanSettings
from tests.unit.autopilot.world import HOUR_MS, WEEK_MS, accepted, cut, election, execution, firing, move, of
from tests.unit.execute.test_run import MOVE, FakeCluster
from tests.unit.plan.builders import NOW_MS

MADE = move()
CARRIED_OUT = worker._carried_out
OTHERS = [execution(cut(), state=ExecutionState.DONE, started_at_ms=NOW_MS - n, execution_id=str(n)) for n in range(2)]


class World:
    """The worker over readings of the test's own; the journal is a list, and what is carried out ends at once."""

    def __init__(self, monkeypatch):
        self.notes, self.accepted = [], []
        monkeypatch.setattr(worker.journal, "Journal", lambda *_: self)
        monkeypatch.setattr(worker.clients, "write", self.accept)
        monkeypatch.setattr(worker.clients, "admin", contextlib.nullcontext)
        monkeypatch.setattr(worker, "AdminCluster", lambda admin: self if admin is self.place.monitored else None)
        monkeypatch.setattr(worker, "_carried_out", lambda record, noted, place: record)
        allowed = {"kinds": {ActionKind.MOVE_LOG_DIR: {}}, "max_actions_per_hour": 2}
        limits = Limits(AutopilotSettings(clusters={"c": allowed}), lambda _: PlanSettings(), WEEK_MS)
        self.board, self.reasons, self.answers = Board(limits), [], iter([])
        self.place = Place(
            "autopilot a",
            KafkaSettings(),
            KafkaSettings(),
            self.board,
            self.check,
            SharedJournal(KafkaSettings(), "c"),
            lambda: self.at_ms,
            threading.Event(),
        )
        self.is_closed, self.at_ms = False, NOW_MS

    def write(self, record):
        self.notes.append(record)
        self.at_ms += 1

    def beat(self, record):
        pass

    def accept(self, settings, topic, records):
        assert (settings, topic) == (self.place.telemetry, topics.DECISIONS)
        self.accepted += [msgspec.json.decode(record, type=DecisionRecord) for _, record in records]

    def hosts(self, names):
        for answer in self.answers:
            if isinstance(answer, Exception):
                raise answer
            yield from answer.get(names, ())

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
    assert [note.at_ms for note in world.notes] == [NOW_MS, NOW_MS + 1]
    assert (ended.back, ended.step, ended.operations) == (False, 0, MADE.operations)
    assert ended.touches == ["brokers 1", "brokers 2", "topics t"]
    assert world.is_closed
    assert world.accepted == []


@pytest.mark.parametrize("touches", [["brokers 3", "topics u"], ["brokers 1", "topics u"], None])
def test_beside_another_one_begins_only_what_touches_nothing_of_it_on_the_live_cluster(world, touches):
    beside = replace(OTHERS[0], state=ExecutionState.COPYING, action_id="beside", touches=touches)
    ended = world.begins(executions=[beside], here=["beside"])
    assert world.accepted == []
    if touches == ["brokers 3", "topics u"]:
        assert ended is world.notes[-1]
    else:
        assert ("is copying and unfinished" in ended[0], world.notes) == (True, [])
        assert not world.is_closed, "no other executor is fenced"


def test_an_election_touches_the_brokers_that_are_seen_to_have_its_topics(world):
    world.answers = iter([{frozenset("t"): (4, 5)}])
    assert worker._touched(election(), world.place) == ["brokers 4", "brokers 5", "topics t"]


@pytest.mark.parametrize("error", [NoAnswerError("no answer"), RefusedError("no ACL")], ids=str)
def test_nothing_begins_while_nobody_tells_what_it_touches(world, error):
    world.answers = iter([error])
    with pytest.raises(UserError, match=f"the brokers of its topics cannot be seen: {error}"):
        worker.begin(election(), world.place, Running())


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
    assert [one.id for one in world.accepted] == [MADE.action_id]
    assert world.notes == []


def test_one_that_needs_nobody_waits_until_its_acceptance_is_read_back(world):
    world.board._limits.autopilot.clusters["c"].kinds[MADE.kind] = KindSettings(unattended=True)
    assert world.begins(said=None) == ["its acceptance was not read back"]
    because = f"the configuration allows {MADE.kind} on c unattended"
    (written,) = world.accepted
    assert written == replace(accepted(MADE), cluster="c", by="autopilot a", reason=because, revision=MADE.revision)
    assert world.notes == []


def test_what_was_read_before_the_others_were_fenced_begins_nothing(world, monkeypatch):
    monkeypatch.setattr(worker, "ANSWER_S", 0.0)
    world.place = dataclasses.replace(world.place, monotonic_ms=lambda: NOW_MS + 1)
    assert world.begins() == ["the telemetry topics do not answer"]
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
    world.at_ms = NOW_MS + 5
    ended = worker.resume(left, world.place)
    assert world.notes == [ended]
    assert ended == replace(left, by="autopilot a", at_ms=NOW_MS + 5)
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


class Unstopped:
    """Nobody stops the service, and waiting takes no time."""

    def wait(self, seconds):
        return False


@pytest.mark.parametrize("said", [Decision.ACCEPT, Decision.REJECT])
def test_it_is_carried_out_as_apply_does_while_its_word_stands(world, monkeypatch, said):
    cluster, made = FakeCluster(), of(ActionKind.MOVE_LOG_DIR, MOVE)
    cluster.look_around = lambda ours: Surroundings()
    monkeypatch.setattr(worker, "_carried_out", CARRIED_OUT)
    monkeypatch.setattr(worker, "AdminCluster", lambda admin: cluster)
    world.board.post(Reading({made.action_id: made}, {made.action_id: accepted(made, said)}, began_ms=0))
    place = dataclasses.replace(world.place, stop=Unstopped(), monotonic_ms=lambda: 0)
    with capture_logs() as logs:
        ended = worker.resume(execution(made, state=ExecutionState.CHECKED), place)
    is_done = said is Decision.ACCEPT
    assert (ended.state, cluster.at) == (("done", "/b") if is_done else ("rolled_back", "/a"))
    assert {(entry["event"], entry["cluster"], entry["action"]) for entry in logs} == {
        ("autopilot.progress", "c", made.action_id)
    }
    assert is_done or [entry["what"] for entry in logs] == ["stops: ann rejected it: because"]


def test_while_the_topics_do_not_answer_no_call_is_made_and_that_is_said_once(world, monkeypatch):
    monkeypatch.setattr(worker, "ANSWER_S", 0.0)
    began_ms = iter([1, 1, 1, 2, 2])
    place = dataclasses.replace(world.place, monotonic_ms=lambda: next(began_ms))
    permits, record = worker._Permits(place, lambda record, others: None), execution(MADE, state=ExecutionState.COPYING)
    with capture_logs() as logs:
        assert [permits(record), permits(record)] == [Hold(), Hold()]
        world.board.post(Reading({MADE.action_id: MADE}, {MADE.action_id: accepted(MADE)}, began_ms=1))
        assert permits(record) is None
        assert [permits(record), permits(record)] == [Hold(), Hold()]
    told = [(entry["event"], entry["cluster"], entry["action"]) for entry in logs]
    assert told == [("autopilot.waiting", "c", MADE.action_id)] * 2


def test_what_is_beside_it_is_what_was_unfinished_before_the_look_or_is_now(world):
    mine = execution(MADE, state=ExecutionState.COPYING)
    before, after, done, far = (
        replace(mine, action_id=name, execution_id=name, cluster=cluster, state=state)
        for name, cluster, state in (
            ("before", "c", ExecutionState.COPYING),
            ("after", "c", ExecutionState.THROTTLED),
            ("done", "c", ExecutionState.DONE),
            ("far", "other", ExecutionState.COPYING),
        )
    )

    def reads(*executions):
        said = {MADE.action_id: accepted(MADE)}
        world.board.post(Reading({MADE.action_id: MADE}, said, executions=executions, began_ms=0))

    def watch(record, others):
        reads(mine, replace(before, state=ExecutionState.DONE), after, far)
        found.extend(one.action_id for one in others())

    reads(mine, before, done, far)
    found = []
    worker._Permits(dataclasses.replace(world.place, monotonic_ms=lambda: 0), watch)(mine)
    assert found == ["before", "after"]
