import io
import shlex

import pytest
from rich.console import Console

from logdirwatch.errors import UserError
from logdirwatch.model.vocabulary import ActionStatus
from logdirwatch.report.actions.listing import details, effect, find, line, listed, standing, view
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


def of(name, severity, rule, broker, *vetoes, **fields):
    told = {"severity": severity, "rule": rule, "broker": broker, "opened_at_ms": NOW_MS}
    against = [{"name": name, "reason": reason} for name, reason in vetoes]
    return action(name, alert_id=f"alert-{rule}-{broker}", alert=told, vetoes=against, **fields)


DOWN = ("other_broker_down", "broker 2 is not known to be alive")


class TestWhatCanBeDoneStandsFirst:
    def order(self, *actions):
        return [found.action_id for found in listed(actions, everything=False)]

    def test_vetoed_actions_of_the_loudest_alert_stand_behind_what_may_be_done_of_any(self):
        blocked = [of(f"v{n}", "page", "log_dir_offline", 1, DOWN, position=n) for n in range(8)]
        look = of("look", "critical", "broker_unknown", 2)
        quiet = of("quiet", "info", "log_dir_imbalance", 3)
        assert self.order(*blocked, quiet, look) == ["look", "quiet", *(f"v{n}" for n in range(8))]

    @pytest.mark.parametrize(
        ("veto", "rule"),
        [
            (DOWN, "broker_unknown"),
            (DOWN, "broker_offline"),
            (("other_broker_down", "broker 5, 2 and 3 more is not known to be alive"), "broker_offline"),
            (("broker_not_alive", "broker 2 is not known to be alive"), "broker_unknown"),
            (("log_dir_offline", "/d3 of broker 2 is offline; Kafka refuses moves"), "log_dir_offline"),
            (("log_dir_unknown", "the state of /d3 on broker 2 is not known"), "log_dir_unknown"),
        ],
    )
    def test_what_ends_a_veto_stands_before_all_that_is_less_loud_than_what_it_blocks(self, veto, rule):
        blocked = of("blocked", "page", "partitions_at_risk", 1, veto)
        way_in = of("way in", "warning", rule, 2)
        own = of("own", "page", "log_dir_space", 1)
        critical = of("critical", "critical", "log_dir_space", 4)
        assert self.order(blocked, critical, own, way_in) == ["way in", "own", "critical", "blocked"]

    def test_the_brokers_that_a_veto_names_count_and_not_those_of_its_text(self):
        told = {
            "name": "other_broker_down",
            "reason": "broker 5 and 1 more is not known to be alive",
            "brokers": [7, 2],
        }
        alert = {"severity": "page", "rule": "partitions_at_risk", "broker": 1}
        blocked = action("blocked", alert_id="at risk", alert=alert, vetoes=[told])
        named, other = (of(f"of {number}", "warning", "broker_unknown", number) for number in (2, 5))
        critical = of("critical", "critical", "log_dir_space", 4)
        assert self.order(blocked, critical, other, named) == ["of 2", "critical", "of 5", "blocked"]

    @pytest.mark.parametrize(
        "other",
        [
            of("other", "warning", "broker_unknown", 22),
            of("other", "warning", "log_dir_space", 2),
            of("other", "warning", "broker_unknown", 2, cluster="test"),
        ],
        ids=["another broker", "another rule", "another cluster"],
    )
    def test_what_ends_no_veto_is_as_loud_as_its_own_alert(self, other):
        blocked, critical = of("blocked", "page", "log_dir_offline", 1, DOWN), of("critical", "critical", "x", 4)
        assert self.order(blocked, other, critical) == ["critical", "other", "blocked"]

    def test_of_one_alert_both_parts_keep_the_order_in_which_they_are_advised(self):
        actions = [of(f"a{n}", "page", "log_dir_space", 1, *([DOWN] if n % 2 else []), position=n) for n in range(6)]
        assert self.order(*reversed(actions)) == ["a0", "a2", "a4", "a1", "a3", "a5"]


class TestWhatIsBlockedIsFolded:
    def test_it_stands_under_the_action_that_unblocks_it(self):
        blocked = [of(f"v{n}", "page", "log_dir_offline", 1, DOWN, position=n) for n in range(5)]
        look = of("look", "critical", "broker_unknown", 2, reason="find out why broker 2 does not answer")
        text = shown(*listed([*blocked, look], everything=False), width=200)
        assert text.count("move_log_dir  prod") == 1, "one row: what can be done now"
        told = "> then move_log_dir v0, move_log_dir v1, move_log_dir v2 and 2 more (now: broker 2 is not known to be"
        assert [row.strip()[: len(told)] for row in text.splitlines()[-2:]] == [
            "find out why broker 2 does not answer",
            told,
        ]

    def test_what_no_listed_action_unblocks_stands_at_the_end_with_its_reason(self):
        other = of("other", "page", "log_dir_space", 5, ("space", "/data/d3 would be too full"))
        text = shown(other, of("may", "warning", "log_dir_space", 6))
        assert text.splitlines()[-1] == "must not be done now, /data/d3 would be too full: move_log_dir other"

    def test_all_of_them_may_be_blocked(self):
        other = of("other", "page", "log_dir_space", 5, ("space", "/data/d3 would be too full"))
        assert shown(other) == "must not be done now, /data/d3 would be too full: move_log_dir other\n"


@pytest.mark.parametrize(("ids", "asked"), [(["abc", "abd"], "abc"), (["ab1", "ab", "ab2"], "ab"), (["abc"], "ab")])
def test_an_action_is_found_by_its_id_or_the_beginning_of_it(ids, asked):
    assert find(map(action, ids), asked).action_id == (asked if asked in ids else "abc")


@pytest.mark.parametrize(("asked", "why"), [("", "no action"), ("x", "no action"), ("ab", "2 actions begin with ab")])
def test_an_id_of_none_or_of_several_is_refused(asked, why):
    with pytest.raises(UserError, match=why):
        find([action("abc"), action("abd")], asked)


def test_the_effect_names_gain_time_loss_and_approval():
    assert effect(action(data_loss=True)) == ["frees 3 GiB", "in 10 min", "LOSES DATA", "needs approval"]


def test_an_effect_that_nobody_knows_is_left_out():
    assert effect(action(expected={"frees_bytes": None}, requires_approval=False)) == []


def test_a_proposal_past_its_time_says_so():
    assert standing(action(expires_at_ms=NOW_MS - 60_000), NOW_MS) == "proposed, expired 1 min ago"
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
    undo = {"commands": ["tool --cancel"], "text": "deleted records cannot be restored"}
    text = details(action(commands=commands, undo=undo), NOW_MS)
    assert "\n# do it\n" + "\n".join(commands) + "\n" in text
    assert text.endswith("# undo it\n# deleted records cannot be restored\ntool --cancel\n")
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
    assert "state of 5 s ago, inventory unknown" in text
    assert "[ok] broker 7 is alive" in text
    assert "[check] the owner agrees" in text
    assert "/data/d3 would be too full" in text
    assert "broker 7 /data/d2 takes 1 KiB" in text
