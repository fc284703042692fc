"""An execution from its beginning to its end, on a cluster of the test's own."""

import dataclasses

import pytest
from msgspec.structs import replace

from logdirwatch.execute.begin import reason_against_applying
from logdirwatch.execute.calls import ChangeConfig, PlaceReplicas
from logdirwatch.execute.ports import Halt, Hold, NoAnswerError, Ports, RefusedError, StopAskedError
from logdirwatch.execute.run import calls_of, carry_out, rolling_back, stopped
from logdirwatch.execute.seen import Copy, PartitionSeen, Seen
from logdirwatch.execute.steps import Move, SetConfig, Settle, Throttle, steps_of
from logdirwatch.executions import is_unfinished
from logdirwatch.model.records import ExecutionRecord
from logdirwatch.model.records.executions import OwnLimit
from logdirwatch.model.vocabulary import LOG_DIR_THROTTLE, ActionKind, ActionStatus, ClusterOwner, ExecutionState
from logdirwatch.plan.cluster.assignment import Assignment, to_json
from logdirwatch.plan.commands import operations
from logdirwatch.plan.commands.throttles import Limits, within_brokers
from logdirwatch.plan.content_hash import content_hash
from tests.unit.plan.builders import NOW_MS, action

HELD = ("t", 0, 1)
THERE, HERE = (to_json([Assignment("t", 0, (1,), (path,))]) for path in ("/b", "/a"))
MOVE = operations.reassign(THERE, HERE, "f.json", limits=within_brokers([1], 5), back=within_brokers([1], 5))
CUT = operations.topic_config("t", "retention.ms", "5", now="9", old=None)


class FakeCluster:
    """One partition that is copied in two looks, and configurations; it dies after ``lives`` calls."""

    def __init__(self, **configs):
        self.configs = {("brokers", "1"): dict(configs), ("topics", "t"): {}}
        self.at, self.future, self.copied, self.error, self.made = "/a", None, 0, 0, []
        self.fails, self.size = [], 100

    def look(self, step, limits):
        if self.fails:
            raise self.fails.pop(0)
        if isinstance(step, Move) and self.future is not None:
            self.copied += 50
            if self.copied > self.size:
                self.at, self.future, self.copied = self.future, None, 0
        futures = {} if self.future is None else {HELD: Copy(self.future, self.copied)}
        return Seen(
            configs={entity: dict(values) for entity, values in self.configs.items()},
            partitions={("t", 0): PartitionSeen((1,), (1,))},
            replicas={HELD: Copy(self.at, self.size)},
            futures=futures,
            log_dirs={(1, "/a"): 0, (1, "/b"): self.error},
        )

    def call(self, call):
        self.made.append(call)
        if isinstance(call, ChangeConfig):
            held = self.configs[call.entity, call.name]
            held.pop(call.key, None)
            if call.value is not None:
                held[call.key] = call.value
        elif isinstance(call, PlaceReplicas):
            (path,) = call.paths.values()
            self.future, self.copied = (None if path == self.at else path), 0


class World:
    def __init__(self, *found, stops=(), **configs):
        self.cluster, self.notes, self.said, self.at_ms = FakeCluster(**configs), [], [], NOW_MS
        self.stops = list(stops)
        self.ports = Ports(
            self.cluster, self.notes.append, self.said.append, self.pause, self.now, monotonic_ms=self.now
        )
        self.record = ExecutionRecord(
            version=1,
            execution_id="e",
            action_id="a",
            revision=1,
            content_hash="h",
            kind=ActionKind.MOVE_LOG_DIR,
            cluster="c",
            state=ExecutionState.CHECKED,
            back=False,
            operations=operations.as_data(found),
            by="me",
            started_at_ms=NOW_MS,
            at_ms=NOW_MS,
        )

    def pause(self, seconds):
        self.at_ms += int(seconds * 1000)
        return self.stops.pop(0) if self.stops else False

    def now(self):
        return self.at_ms

    @property
    def states(self):
        return [str(note.state) for note in self.notes]


def test_a_move_is_throttled_started_copied_verified_and_cleaned():
    world = World(MOVE)
    ended = carry_out(world.record, world.ports)
    assert world.states == ["throttled", "started", "copying", "verified", "cleaned", "done"]
    assert (ended.state, world.cluster.at) == (ExecutionState.DONE, "/b")
    assert world.cluster.configs["brokers", "1"] == {}
    assert not is_unfinished(ended)
    assert any("50 B of 100 B" in line for line in world.said)


def test_the_rate_and_the_time_left_are_said():
    world = World(MOVE)
    carry_out(world.record, world.ports)
    why = "(t-0 is being copied to /b)"
    assert f"copying: 0 of 1 partitions, 50 B of 100 B {why}" in world.said
    assert f"copying: 0 of 1 partitions, 100 B of 100 B, 25 B/s, 0 s left {why}" in world.said
    slow = World(MOVE)
    slow.cluster.size = 1_000
    carry_out(slow.record, slow.ports)
    assert f"copying: 0 of 1 partitions, 100 B of 1000 B, 25 B/s, 36 s left {why}" in slow.said


@pytest.mark.parametrize("after", range(1, 12))
def test_killed_after_any_write_or_call_it_ends_the_same(after):
    """What is written before a call is all that the next process has."""
    world, lives = World(MOVE), [after]

    def spend():
        lives[0] -= 1
        if lives[0] == 0:
            raise KeyboardInterrupt

    def note(record):
        world.notes.append(record)
        spend()

    class Dying:
        look = staticmethod(world.cluster.look)

        @staticmethod
        def call(call):
            world.cluster.call(call)
            spend()

    record = world.record
    try:
        record = carry_out(
            record, Ports(Dying(), note, world.said.append, world.pause, world.now, monotonic_ms=world.now)
        )
    except KeyboardInterrupt:
        record = world.notes[-1]
    ended = record if record.state is ExecutionState.DONE else carry_out(record, world.ports)
    assert (ended.state, world.cluster.at) == (ExecutionState.DONE, "/b")
    assert world.cluster.configs["brokers", "1"] == {}


def test_a_throttle_of_somebody_else_stays():
    world = World(MOVE, **{LOG_DIR_THROTTLE: "5"})
    carry_out(world.record, world.ports)
    assert world.cluster.configs["brokers", "1"] == {LOG_DIR_THROTTLE: "5"}
    assert any("set by somebody else" in line for line in world.said)


def test_an_offline_destination_is_stuck_with_its_reason_and_no_throttle_is_left():
    world = World(MOVE)
    world.cluster.error = 56
    ended = carry_out(world.record, world.ports)
    assert (ended.state, ended.reason) == (ExecutionState.STUCK, "/b of broker 1 is offline (error 56)")
    assert world.cluster.configs["brokers", "1"] == {}
    assert is_unfinished(ended)
    world.cluster.error = 0
    assert carry_out(ended, world.ports).state is ExecutionState.DONE


def test_no_answer_is_waited_for_and_a_refusal_is_not():
    world = World(CUT)
    world.cluster.fails = [NoAnswerError("timeout")]
    assert carry_out(world.record, world.ports).state is ExecutionState.DONE
    world = World(CUT)
    world.cluster.fails = [RefusedError("no ACL")]
    ended = carry_out(world.record, world.ports)
    assert ended.reason == "set retention.ms of topic t to 5 was refused: no ACL"


def test_asked_to_stop_it_goes_back_to_where_it_began():
    world = World(MOVE, stops=[False, False, True])
    with pytest.raises(StopAskedError) as asked:
        carry_out(world.record, world.ports)
    assert world.cluster.future == "/b"
    ended = carry_out(rolling_back(asked.value.record, world.ports), world.ports)
    assert (ended.state, world.cluster.at, world.cluster.future) == (ExecutionState.ROLLED_BACK, "/a", None)
    assert world.cluster.configs["brokers", "1"] == {}
    assert world.states[-1] == "rolled_back"
    assert "verified" not in world.states


BOTH = (CUT, MOVE)


@pytest.mark.parametrize("operations_of_it", [BOTH, BOTH[::-1]], ids=["cut first", "move first"])
@pytest.mark.parametrize("pauses", range(5))
def test_wherever_it_is_stopped_it_goes_back_to_the_beginning_and_on_again(operations_of_it, pauses):
    world = World(*operations_of_it, stops=[*[False] * pauses, True])
    with pytest.raises(StopAskedError) as asked:
        carry_out(world.record, world.ports)
    back = rolling_back(asked.value.record, world.ports)
    assert (back.back, back.step, back.state, world.notes[-1]) == (True, 0, ExecutionState.CANCELLING, back)
    ended = carry_out(back, world.ports)
    assert (ended.state, world.cluster.at, world.cluster.future) == (ExecutionState.ROLLED_BACK, "/a", None)
    assert world.cluster.configs == {("brokers", "1"): {}, ("topics", "t"): {}}
    again = carry_out(rolling_back(ended, world.ports), world.ports)
    assert (again.back, again.step, world.cluster.at) == (False, len(steps_of(again.operations, back=False)), "/b")
    assert world.cluster.configs == {("brokers", "1"): {}, ("topics", "t"): {"retention.ms": "5"}}


class Keeping(FakeCluster):
    """Whoever deletes a throttle is answered, or refused, and it stays."""

    def __init__(self, error=None):
        super().__init__()
        self.refusal = error

    def call(self, call):
        if not (isinstance(call, ChangeConfig) and call.value is None):
            super().call(call)
        elif self.refusal:
            raise self.refusal


@pytest.mark.parametrize("error", [None, RefusedError("no ACL"), NoAnswerError("gone")])
@pytest.mark.parametrize("need_is_over", [False, True])
@pytest.mark.parametrize("reason", [None, "ann rejected it"])
def test_throttles_that_are_left_are_said_and_nothing_is_done_then(error, reason, need_is_over):
    world = World(MOVE)
    world.cluster = Keeping(error)
    world.ports = Ports(world.cluster, world.notes.append, world.said.append, world.pause, world.now)
    answers = [None, None, Halt(reason, need_is_over=need_is_over)] if reason else []
    ended = carry_out(world.record, permitted(world, *answers))
    left = f"throttles are left: broker 1 ({error or 'it is still shown'})"
    said = f"done, but {left}" if reason is None else f"{reason}; {left}"
    assert (ended.state, ended.reason, world.notes[-1]) == (ExecutionState.STUCK, said, ended)
    assert "cleaned" not in world.states
    assert "the throttles that it set are gone" not in world.said
    assert world.cluster.configs["brokers", "1"] == {LOG_DIR_THROTTLE: "5"}


def permitted(world, *answers):
    """The world's ports, which get these answers to whether it may go on, and then always may."""
    left = list(answers)
    ports = world.ports
    return dataclasses.replace(ports, permit=lambda _: left.pop(0) if left else None)


@pytest.mark.parametrize("before", range(8))
@pytest.mark.parametrize("need_is_over", [False, True])
def test_what_must_not_go_on_ends_its_copies_and_leaves_no_throttle(before, need_is_over):
    world = World(MOVE)
    halt = Halt("ann rejected it", need_is_over=need_is_over)
    ended = carry_out(world.record, permitted(world, *[None] * before, halt))
    if ended.state is ExecutionState.DONE:
        assert before >= 5
        return
    state = ExecutionState.ROLLED_BACK if before == 0 or need_is_over else ExecutionState.STUCK
    assert (ended.state, ended.reason, not world.cluster.made) == (state, "ann rejected it", before < 2)
    assert world.cluster.future is None
    assert world.cluster.configs["brokers", "1"] == {}
    assert "stops: ann rejected it" in world.said


@pytest.mark.parametrize(
    ("halt", "is_seen"), [(Halt("full", must_end=True), True), (Halt("ann rejected it"), False)], ids=["seen", "said"]
)
@pytest.mark.parametrize("before", [0, 4])
def test_a_stop_says_whether_its_cause_can_be_seen_to_be_over(halt, is_seen, before):
    world = World(MOVE)
    ended = carry_out(world.record, permitted(world, *[None] * before, halt))
    assert (ended.state in {ExecutionState.STUCK, ExecutionState.ROLLED_BACK}, ended.cause_is_seen) == (True, is_seen)
    again = carry_out(ended, world.ports) if ended.state is ExecutionState.STUCK else None
    assert again is None or (again.state, again.cause_is_seen) == (ExecutionState.DONE, False)


@pytest.mark.parametrize(("is_over_now", "state"), [(True, ExecutionState.ROLLED_BACK), (False, ExecutionState.STUCK)])
def test_whoever_finishes_a_stop_asks_whether_anything_is_needed(is_over_now, state):
    world = World(MOVE)
    stopping = replace(world.record, step=1, state=ExecutionState.COPYING, reason="stopping: the action is withdrawn")
    now = Halt("the action is withdrawn", need_is_over=True) if is_over_now else None
    ended = carry_out(stopping, permitted(world, now))
    assert (ended.state, ended.reason) == (state, "the action is withdrawn")


def test_where_something_is_left_a_person_has_to_see_to_it():
    world = World(MOVE)
    world.cluster.fails = [RefusedError("no")] * 5
    record = replace(world.record, step=1, changed={"t": "0"})
    assert not carry_out(record, permitted(world, Halt("full", must_end=True))).cause_is_seen


def test_a_defect_is_noted_as_a_stop_before_it_is_raised():
    world = World(MOVE)

    def defective(call):
        raise KeyError("t-0")

    world.cluster.call = defective
    with pytest.raises(KeyError):
        carry_out(world.record, world.ports)
    assert (world.notes[-1].state, world.notes[-1].limits) == (ExecutionState.STUCK, world.notes[0].limits)
    assert world.notes[-1].reason.startswith("a defect of logdirwatch stopped it (KeyError: 't-0')")


def test_while_it_waits_it_shows_that_its_process_lives():
    world, beats = World(MOVE), []
    carry_out(world.record, dataclasses.replace(world.ports, beat=beats.append))
    assert beats
    assert {one.execution_id for one in beats} == {"e"}
    assert [one.at_ms for one in beats] == sorted({one.at_ms for one in beats})


def test_what_is_done_already_is_not_stopped():
    world = World(MOVE)
    world.cluster.at = "/b"
    ended = carry_out(replace(world.record, step=1), permitted(world, Halt("it says something else by now")))
    assert (ended.state, world.cluster.made) == (ExecutionState.DONE, [])
    world = World(MOVE, CUT)
    world.cluster.at = "/b"
    ended = carry_out(replace(world.record, step=1), permitted(world, Halt("ann rejected it")))
    assert (ended.state, ended.reason) == (ExecutionState.STUCK, "ann rejected it")


def test_the_intent_to_cancel_is_noted_and_no_answer_is_waited_for():
    world = World(MOVE)
    world.cluster.future, world.cluster.size = "/b", 1_000
    world.cluster.fails = [NoAnswerError("gone")]
    carry_out(replace(world.record, step=1, changed={"t": "0"}), permitted(world, Halt("why")))
    assert world.notes[0].reason == "stopping: why"
    assert world.cluster.made == [PlaceReplicas({HELD: "/a"})]
    assert any("does not answer (gone)" in line for line in world.said)


def test_while_it_cannot_be_seen_whether_a_copy_runs_its_throttles_stay():
    world = World(MOVE, **{LOG_DIR_THROTTLE: "5"})
    world.cluster.fails = [RefusedError("no")] * 5
    limits = [OwnLimit("brokers", "1", LOG_DIR_THROTTLE, "5")]
    record = replace(world.record, step=1, changed={"t": "0"}, limits=limits)
    ended = carry_out(record, permitted(world, Halt("why")))
    assert "goes on the copy of what cannot be seen (no)" in ended.reason
    assert (world.cluster.made, len(ended.limits)) == ([], 1)


def test_while_it_holds_nothing_is_called():
    world = World(MOVE)
    waited = world.at_ms
    ended = carry_out(world.record, permitted(world, Hold(), Hold()))
    assert ended.state is ExecutionState.DONE
    assert world.notes[0].at_ms >= waited + 4_000


def test_undoing_takes_the_operations_back_in_reverse():
    steps = steps_of(operations.as_data([CUT, MOVE]), back=True)
    assert [type(step) for step in steps] == [Throttle, Move, SetConfig]
    assert steps[2] == SetConfig("topics", "t", "retention.ms", None, ("5",))
    assert steps[1].there[0].log_dirs == ("/a",)


def test_waves_are_steps_of_their_own():
    plan, before = (to_json([Assignment("t", number, (1,), (path,)) for number in (0, 1)]) for path in ("/b", "/a"))
    waves = operations.reassign(plan, before, "f", limits=within_brokers([1], 5), back=MOVE_BACK, waves=[[1], [0]])
    steps = steps_of(operations.as_data([waves]), back=False)
    assert [step.there[0].partition for step in steps[1:]] == [1, 0]
    assert len(steps_of(operations.as_data([waves]), back=True)) == 2


def test_a_wave_waits_until_old_copies_are_deleted_and_longer_after_a_kill():
    plan, before = (to_json([Assignment("t", 0, (1,), (path,))]) for path in ("/b", "/a"))
    limits = within_brokers([1], 5)
    first = operations.reassign(plan, before, "f", limits=limits, back=limits, settle_ms=9_000)
    second = operations.reassign(before, plan, "g", limits=Limits(), back=Limits(), settle_ms=9_000)
    world = World(first, second)
    assert [type(step) for step in steps_of(world.record.operations, back=False)] == [Throttle, Move, Settle, Move]
    ended = carry_out(world.record, world.ports)
    assert (ended.state, world.cluster.at) == (ExecutionState.DONE, "/a")
    assert "now: wait 9 s until the old copies are deleted" in world.said
    waits = World(first, second)
    begins = waits.at_ms
    waits.cluster.at = "/b"
    carry_out(replace(waits.record, step=2), waits.ports)
    assert waits.at_ms - begins >= 9_000


def test_a_person_can_stop_it_and_go_on_later():
    world = World(MOVE, stops=[False, False, True])
    with pytest.raises(StopAskedError) as asked:
        carry_out(world.record, world.ports)
    ended = stopped(asked.value.record, "stopped by ann", world.ports)
    assert (ended.state, ended.reason, world.cluster.future) == (ExecutionState.STUCK, "stopped by ann", None)
    assert world.cluster.configs["brokers", "1"] == {}
    assert carry_out(ended, world.ports).state is ExecutionState.DONE


MOVE_BACK = within_brokers([1], 5)


def test_a_list_of_a_broker_is_one_value():
    cordon = operations.broker_list(1, "cordoned.log.dirs", ["/a", "/b"], old=[])
    (step,) = steps_of(operations.as_data([cordon]), back=False)
    assert step == SetConfig("brokers", "1", "cordoned.log.dirs", "/a,/b", (None,))
    assert calls_of(step).startswith("IncrementalAlterConfigs")


class TestWhatMayBeApplied:
    DONE = action(ActionKind.LOWER_RETENTION, operations=operations.as_data([CUT]))
    GOOD = replace(DONE, content_hash=content_hash(DONE))

    def test_a_proposal_with_operations_may(self):
        assert reason_against_applying(self.GOOD) is None

    @pytest.mark.parametrize(
        ("fields", "reason"),
        [
            ({"vetoes": [{"name": "v", "reason": "no room"}]}, "must not be done now: no room"),
            ({"operations": None}, "only a person can carry it out"),
            ({"operations": None, "owner": ClusterOwner.STRIMZI}, "Strimzi, which reverts what is changed past it"),
            ({"operations": None, "owner": ClusterOwner.GITOPS}, "only a person can carry it out"),
            ({"configs": {"t": {"x": {"to": "1"}}}}, "another program wrote or changed it"),
            ({"content_hash": None}, "another program wrote or changed it"),
            ({"status": ActionStatus.REJECTED}, "is rejected"),
            ({"decision": {"decision": "accept_other_content", "at_ms": 1}}, "accept it again"),
        ],
    )
    def test_anything_else_says_why_not(self, fields, reason):
        assert reason in reason_against_applying(replace(self.GOOD, **fields))
