import io
import shlex

import pytest
from rich.console import Console

from logdirwatch.errors import UserError
from logdirwatch.model.vocabulary import ActionStatus
from logdirwatch.report.actions import details, effect, find, line, listed, standing, view
from tests.unit.report.builders import NOW_MS, action


def shown(*actions, width=100) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(view(actions, NOW_MS, width))
    return console.file.getvalue()


def test_actions_of_the_loudest_alert_stand_first():
    actions = [
        action("w", alert={"severity": "warning"}),
        action("p", alert={"severity": "page"}),
        action("n", alert={}),
    ]
    assert [a.action_id for a in listed(actions, everything=False)] == ["p", "w", "n"]


def test_closed_actions_are_shown_last_and_only_when_asked_for():
    actions = [action("done", status=ActionStatus.DONE), action("open", status=ActionStatus.RUNNING)]
    assert [a.action_id for a in listed(actions, everything=False)] == ["open"]
    assert [a.action_id for a in listed(actions, everything=True)] == ["open", "done"]


def test_what_must_not_be_done_stands_after_what_may_and_says_so():
    vetoed = action("v", vetoes=[{"name": "log_dir_offline", "reason": "/data/d3 is offline"}], at_ms=0)
    assert [a.action_id for a in listed([vetoed, action("may")], everything=False)] == ["may", "v"]
    assert effect(vetoed) == ["MUST NOT BE DONE NOW"]
    assert effect(action(status=ActionStatus.DONE, vetoes=vetoed.vetoes)) == ["frees 3 GiB", "in 10 min"]


def test_an_action_is_found_by_the_beginning_of_its_id():
    assert find([action("abc"), action("abd")], "abc").action_id == "abc"


@pytest.mark.parametrize("identity", ["", "x"])
def test_an_action_that_is_not_there_is_named(identity):
    with pytest.raises(UserError, match="no action"):
        find([action("abc")], identity)


def test_an_id_written_whole_names_its_own_action_though_others_begin_with_it():
    assert find([action("ab1"), action("ab"), action("ab2")], "ab").action_id == "ab"


def test_a_beginning_that_several_actions_share_is_refused():
    with pytest.raises(UserError, match="2 actions begin with ab"):
        find([action("abc"), action("abd")], "ab")


def test_the_effect_names_gain_time_loss_and_approval():
    assert effect(action(data_loss=True)) == ["frees 3 GiB", "in 10 min", "LOSES DATA", "needs approval"]


def test_an_effect_that_nobody_knows_is_left_out():
    assert effect(action(expected={"frees_bytes": None}, requires_approval=False)) == []


def test_a_proposal_past_its_time_says_so():
    assert standing(action(expires_at_ms=NOW_MS - 60_000), NOW_MS) == "proposed, 1 min too old"
    assert standing(action(status=ActionStatus.DONE, expires_at_ms=0), NOW_MS) == "done"


@pytest.mark.parametrize("width", [30, 60, 80, 100])
def test_the_table_fits_the_terminal(width):
    text = shown(action(reason="word " * 40), width=width)
    assert max(len(row) for row in text.splitlines()) <= width
    assert "cccccccc" in text


def test_a_followed_revision_is_one_line():
    assert "\n" not in line(action()).plain


def test_commands_stand_on_lines_of_their_own_as_they_are():
    commands = ["cat > plan.json <<'END'\n{\"a\":1}\nEND", "tool --path '/data/it'\"'\"'s [here]' " + "x" * 200]
    undo = {"commands": ["tool --cancel"], "text": "what was deleted does not come back"}
    text = details(action(commands=commands, undo=undo), NOW_MS)
    assert "\n# do it\n" + "\n".join(commands) + "\n" in text
    assert text.endswith("# undo it\n# what was deleted does not come back\ntool --cancel\n")
    assert shlex.split(commands[1])[2].endswith("[here]")


def test_the_details_say_how_old_the_facts_are_and_what_must_hold():
    text = details(
        action(
            preconditions=[
                {"name": "alive", "text": "broker 7 is alive", "holds": True},
                {"name": "asked", "text": "the owner agrees", "holds": None},
            ],
            vetoes=[{"name": "space", "reason": "/data/d3 would be too full"}],
            expected={"on": [{"broker": 7, "log_dir": "/data/d2", "bytes": -1024}]},
        ),
        NOW_MS,
    )
    assert "state of 5 s ago, inventory not known" in text
    assert "[ok] broker 7 is alive" in text
    assert "[check] the owner agrees" in text
    assert "/data/d3 would be too full" in text
    assert "broker 7 /data/d2 takes 1 KiB" in text
