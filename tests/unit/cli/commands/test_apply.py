"""Which execution ``apply`` begins, goes on with or undoes, and which it refuses; its questions and its last words."""

from contextlib import nullcontext

import pytest
from msgspec.structs import replace

from logdirwatch.cli import executing
from logdirwatch.cli.commands import apply
from logdirwatch.errors import UserError
from logdirwatch.execute.ports import Halt, Hold
from logdirwatch.model.records.executions import OwnLimit
from logdirwatch.model.vocabulary import ActionKind, ActionStatus, ExecutionState
from logdirwatch.plan.commands import operations
from logdirwatch.plan.content_hash import content_hash
from tests.unit.execute.test_run import MOVE, World
from tests.unit.plan.builders import action

CUT = operations.topic_config("t", "retention.ms", "5", now="9", old=None)
PLANNED = action(ActionKind.LOWER_RETENTION, operations=operations.as_data([CUT]), status=ActionStatus.ACCEPTED)
ACTION = replace(PLANNED, content_hash=content_hash(PLANNED))
LIMIT = OwnLimit("brokers", "1", "k", "5")


def begun(*known, undo=False):
    return apply._begun(list(known), ACTION, "me", undo=undo)


def earlier(state, **fields):
    return replace(begun(), state=state, **fields)


def test_it_begins_with_what_the_action_says():
    found = begun()
    assert (found.state, found.step, found.back) == (ExecutionState.CLAIMED, 0, False)
    assert (found.operations, found.content_hash, found.by) == (ACTION.operations, ACTION.content_hash, "me")
    assert begun().execution_id != found.execution_id


@pytest.mark.parametrize("state", [ExecutionState.CLAIMED, ExecutionState.COPYING, ExecutionState.CANCELLING])
def test_nothing_begins_while_another_one_is_unfinished(state):
    with pytest.raises(UserError, match=f"apply: .* is {state} and unfinished; go on with it or end it: logdirwatch"):
        executing.refuse_beside([earlier(state)], begun(), None)


@pytest.mark.parametrize("state", [ExecutionState.DONE, ExecutionState.ROLLED_BACK, ExecutionState.RELEASED])
def test_an_ended_one_holds_nobody_up(state):
    executing.refuse_beside([earlier(state)], begun(), None)


def test_what_has_stopped_is_undone_and_nothing_else_begins():
    stuck = earlier(ExecutionState.STUCK, reason="t-0 was changed")
    executing.refuse_beside([stuck], begun(stuck, undo=True), None)
    with pytest.raises(UserError, match=r"is stuck \(t-0 was changed\)"):
        executing.refuse_beside([stuck], begun(), None)


def test_what_was_done_is_undone_and_its_old_throttles_are_not_its_own_any_more():
    found = begun(earlier(ExecutionState.DONE, step=1, limits=[LIMIT]), undo=True)
    assert (found.back, found.step, found.limits, found.state) == (True, 0, [], ExecutionState.CLAIMED)
    stuck = begun(earlier(ExecutionState.STUCK, limits=[LIMIT], reason="why"), undo=True)
    assert (stuck.limits, stuck.reason) == ([LIMIT], None)


def test_what_was_never_done_is_not_undone():
    with pytest.raises(UserError, match="was not carried out by apply"):
        begun(undo=True)


def test_only_what_is_unfinished_goes_on():
    with pytest.raises(UserError, match="there is nothing to go on with"):
        apply._resumed([earlier(ExecutionState.DONE)], ACTION, "ann")
    assert apply._resumed([earlier(ExecutionState.STUCK)], ACTION, "ann").state is ExecutionState.STUCK


def test_a_kind_for_people_is_refused():
    with pytest.raises(UserError, match="only a person can carry it out"):
        apply._begun([], replace(ACTION, operations=None), "me", undo=False)


def test_yes_needs_an_accepted_action():
    with pytest.raises(UserError, match=r"--yes needs an accepted action.* is proposed: nobody has; look at it"):
        apply._check_accepted(replace(ACTION, status=ActionStatus.PROPOSED), "nobody has")


def test_loss_of_data_is_said_loudly_and_a_way_to_stop(capsys):
    executing.show(begun(), replace(ACTION, data_loss=True))
    said = capsys.readouterr().out
    assert "THIS DELETES DATA" in said
    assert "1. set retention.ms of topic t to 5" in said
    assert "stop it: Ctrl-C" in said


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (ExecutionState.DONE, "undo it: logdirwatch apply --undo"),
        (ExecutionState.ROLLED_BACK, "everything is as it was before"),
        (ExecutionState.STUCK, "nothing else begins on c until one of these has ended it"),
    ],
)
def test_its_last_words_say_what_is_next(capsys, state, words):
    executing._say_end(earlier(state))
    assert words in capsys.readouterr().out


@pytest.mark.parametrize(
    ("state", "reason", "failed"),
    [
        (ExecutionState.DONE, None, False),
        (ExecutionState.ROLLED_BACK, None, False),
        (ExecutionState.ROLLED_BACK, "somebody else set a throttle", True),
        (ExecutionState.STUCK, "a directory is offline", True),
    ],
)
def test_what_was_not_done_as_asked_has_failed(capsys, state, reason, failed):
    ended = earlier(state, reason=reason)
    assert executing.has_failed(ended) is failed
    executing._say_end(ended)
    assert (reason or "before") in capsys.readouterr().out or state is ExecutionState.DONE


@pytest.mark.parametrize(
    ("now", "against", "why"),
    [
        (ACTION, None, None),
        (ACTION, Hold(), None),
        (ACTION, Halt("ann rejected it: no"), "ann rejected it: no"),
        (replace(ACTION, status=ActionStatus.WITHDRAWN), None, "is withdrawn"),
        (replace(ACTION, data_loss=True), None, "says something else by now"),
    ],
)
def test_what_changed_while_it_was_asked_counts(now, against, why):
    with pytest.raises(UserError, match=why) if why else nullcontext():
        apply._check_again(now, against, begun())


def test_a_need_that_is_not_shown_is_said_to_a_person_and_refuses_where_nobody_reads(capsys):
    apply._show_need(None, ACTION, must_be_shown=True)
    apply._show_need("its alert is over", ACTION, must_be_shown=False)
    assert capsys.readouterr().out == "check yourself: its alert is over\n"
    with pytest.raises(UserError, match="deletes history, and its alert is over"):
        apply._show_need("its alert is over", ACTION, must_be_shown=True)


def test_a_person_may_ask_again_while_copies_are_stopped(monkeypatch):
    answers = ["s", "s", "g", "s"]
    monkeypatch.setattr(executing.typer, "prompt", lambda *_, **__: answers.pop(0))
    world = World(MOVE, stops=[False, False, True, True, True, True])
    world.cluster.size = 1_000
    ended = executing._until_ended(world.record, world.ports)
    assert (ended.state, world.cluster.future, len(answers)) == (ExecutionState.STUCK, None, 2)
