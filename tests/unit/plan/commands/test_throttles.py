"""Limits of others stay: the commands of actions are run against tools that set and clear limits as Kafka's do."""

import json
import os
import subprocess
import sys
from dataclasses import replace as changed
from pathlib import Path

import pytest

from logdirwatch.model.vocabulary import ActionKind, Rule
from logdirwatch.plan.commands.throttles import Limits, from_data, of_plan
from logdirwatch.plan.recommend import recommend
from logdirwatch.plan.settings import ToolSettings
from tests.unit.plan.answers import of_kind
from tests.unit.plan.builders import (
    MIB,
    NOW_MS,
    alert,
    broker,
    directory,
    facts,
    moving,
    offline,
    policy,
    replica,
    space_alert,
    topic,
)

FAKE = Path(__file__).parents[3] / "support" / "fake_kafka.py"
LEADER, FOLLOWER = "leader.replication.throttled.rate", "follower.replication.throttled.rate"
WITHIN = "replica.alter.log.dirs.io.max.bytes.per.second"
LED, FOLLOWED = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"


@pytest.fixture
def paste(tmp_path):
    """Paste commands into a shell beside fake tools, with the given limits set; return what is set afterwards."""
    for name in ("kafka-configs.sh", "kafka-reassign-partitions.sh", "kafka-leader-election.sh"):
        tool = tmp_path / name
        tool.write_text(f"#!{sys.executable}\n{FAKE.read_text()}")
        tool.chmod(0o755)
    state = tmp_path / "state.json"

    def run(commands, before):
        state.write_text(json.dumps(before))
        environment = {"PATH": os.environ["PATH"], "FAKE_KAFKA": str(state)}
        script = "\n".join(["set -e", *commands])
        done = subprocess.run(
            ["sh", "-c", script], cwd=tmp_path, env=environment, check=False, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        after = json.loads(state.read_text())
        run.said, run.during, run.calls = done.stdout, after.pop("seen", None), after.pop("calls", [])
        return {name: entity for name, entity in after.items() if entity}

    run.policy = policy(tools=ToolSettings(prefix=f"{tmp_path}/"))
    return run


def move(number=1):
    return [
        directory(number, "/d1", 900 * MIB),
        directory(number, "/d2", 50 * MIB),
        *(directory(other, "/d1", 880 * MIB) for other in (2, 3, 4)),
        topic("t", (1, 2)),
        *(replica(broker, "/d1", "t", size=300 * MIB) for broker in (1, 2)),
    ]


OFFLOAD = [
    directory(1, "/d1", 900 * MIB),
    directory(2, "/d1", 880 * MIB),
    directory(3, "/d1", 20 * MIB),
    topic("t", (1, 2)),
    *(replica(broker, "/d1", "t", size=300 * MIB) for broker in (1, 2)),
]
REBUILD = [
    offline(1),
    *(directory(number, "/d1", number * 10 * MIB) for number in (2, 3)),
    topic("t", (1, 2), isr={0: (2,)}),
    *(replica(broker, "/d1", "t") for broker in (1, 2)),
]
CANCEL = [
    *(directory(number) for number in (1, 2)),
    offline(3),
    moving(topic("t", (3, 1, 2), isr={0: (1, 2)}), adding=(3,), removing=(1,)),
    replica(3, "/d1", "t", size=MIB),
]
SITUATIONS = {
    ActionKind.MOVE_LOG_DIR: (space_alert("critical"), move()),
    ActionKind.REASSIGN: (space_alert("critical"), OFFLOAD),
    "rebuild": (alert(), REBUILD),
    ActionKind.CANCEL_MOVES: (alert(number=3), CANCEL),
    ActionKind.DEMOTE_LEADERS: (
        alert(Rule.LOG_DIR_SUSPECT, to="unknown", cause=None),
        [*(directory(number) for number in (1, 2)), topic("t", (1, 2)), *(replica(b, "/d1", "t") for b in (1, 2))],
    ),
}
FOREIGN = {
    **{f"brokers {number}": {LEADER: "10000000", FOLLOWER: "20000000", WITHIN: "30000000"} for number in (1, 2, 3, 4)},
    "topics t": {LED: "0:9", FOLLOWED: "*"},
}


def action_of(situation, paste, *more, topics=None):
    an_alert, parts = SITUATIONS[situation]
    parts = [changed(p, configs=p.configs | topics) if topics and hasattr(p, "partitions") else p for p in parts]
    found = recommend(an_alert, facts(*parts, *more), paste.policy, NOW_MS)
    return of_kind(found, ActionKind.REASSIGN if situation == "rebuild" else situation)


@pytest.mark.parametrize("situation", SITUATIONS, ids=str)
class TestForeignLimits:
    """Set on every broker and on the topic, whether the plan knew of them or somebody set them since."""

    @pytest.mark.parametrize("is_known", [True, False], ids=["known", "set since"])
    def test_every_one_survives_the_commands(self, situation, is_known, paste):
        known = [broker(number, **FOREIGN[f"brokers {number}"]) for number in (1, 2, 3, 4)] if is_known else []
        action = action_of(situation, paste, *known, topics=FOREIGN["topics t"] if is_known else None)
        assert action.vetoes == []
        assert paste(action.commands, FOREIGN) == FOREIGN
        if "while_running" in action.undo:
            assert paste([*action.commands[:2], *action.undo["while_running"]], FOREIGN) == FOREIGN
        assert paste(action.undo.get("commands", ()), FOREIGN) == FOREIGN

    def test_nothing_of_its_own_is_left(self, situation, paste):
        action = action_of(situation, paste)
        assert paste(action.commands, {}) == {}

    def test_those_of_other_brokers_and_keys_do_not_hinder_its_own(self, situation, paste):
        elsewhere = {"brokers 9": FOREIGN["brokers 1"], "brokers 1": {"log.cleaner.threads": "2"}}
        action = action_of(situation, paste)
        assert paste(action.commands, elsewhere) == elsewhere
        wanted = from_data(action.expected.get("sets_limits") or {"brokers": {}, "topics": {}})
        during = paste.during or {}
        assert all(during[f"{one.entity} {one.name}"][one.key] == one.value for one in wanted)


class TestOwnLimits:
    def test_a_move_limits_its_broker_alone(self, paste):
        action = action_of(ActionKind.MOVE_LOG_DIR, paste)
        assert action.expected["sets_limits"] == {"brokers": {"1": {WITHIN: 50_000_000}}, "topics": {}}

    def test_a_move_to_another_broker_limits_both_ends_and_no_directory(self, paste):
        action = action_of(ActionKind.REASSIGN, paste)
        assert action.expected["sets_limits"] == {
            "brokers": {"1": {LEADER: 50_000_000}, "3": {FOLLOWER: 50_000_000}},
            "topics": {"t": {LED: "0:1", FOLLOWED: "0:3"}},
        }

    def test_one_that_somebody_changed_meanwhile_stays_changed(self, paste):
        write, limit, *_, clear = action_of(ActionKind.MOVE_LOG_DIR, paste).commands
        for changed_to in ("5", "500000000"):
            paste([write, limit], {})
            assert paste([clear], {"brokers 1": {WITHIN: changed_to}}) == {"brokers 1": {WITHIN: changed_to}}
        assert paste([clear], {"brokers 1": {WITHIN: "50000000"}}) == {}

    def test_the_very_same_value_of_somebody_else_stays(self, paste):
        theirs = {"brokers 1": {WITHIN: "50000000"}}
        action = action_of(ActionKind.MOVE_LOG_DIR, paste)
        assert paste(action.commands, theirs) == theirs
        assert paste([*action.commands[:2], *action.undo["while_running"]], theirs) == theirs
        assert paste(action.undo["commands"], theirs) == theirs

    def test_one_that_is_there_is_named_and_left(self, paste):
        commands = action_of(ActionKind.MOVE_LOG_DIR, paste).commands
        paste(commands, {"brokers 1": {WITHIN: "5"}})
        assert f"1: {WITHIN} is set by somebody else and stays as it is" in paste.said

    def test_without_an_answer_nothing_is_changed(self, paste, tmp_path):
        _write, limit, *_ = action_of(ActionKind.MOVE_LOG_DIR, paste).commands
        tool = tmp_path / "kafka-configs.sh"
        tool.write_text('#!/bin/sh\ncase "$*" in *--describe*) exit 1;; esac\necho changed >> changed\n')
        subprocess.run(["sh", "-c", limit], cwd=tmp_path, check=False)
        assert not (tmp_path / "changed").exists()

    def test_the_tool_never_clears_or_sets_any(self, paste):
        for situation in SITUATIONS:
            paste(action_of(situation, paste).commands, {})
            assert paste.calls
            for options in paste.calls:
                assert {"--throttle", "--replica-alter-log-dirs-throttle"}.isdisjoint(options)
                assert "--execute" in options or "--preserve-throttles" in options

    def test_waves_share_one_limit_from_the_first_to_the_last(self, paste):
        sizes = [replica(1, "/d1", "t", number, 60 * MIB) for number in range(6)]
        parts = [directory(1, "/d1", 900 * MIB), directory(1, "/d2", 50 * MIB), topic("t", *[(1,)] * 6), *sizes]
        action = of_kind(
            recommend(space_alert("critical"), facts(*parts), paste.policy, NOW_MS), ActionKind.MOVE_LOG_DIR
        )
        assert action.expected["waves"] > 1
        assert sum("--add-config" in command for command in action.commands) == 1
        assert paste(action.commands, {}) == {}


def test_what_a_plan_names_is_limited_where_nothing_else_is_known_of_it():
    plan = {"partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2], "log_dirs": ["/d1", "any"]}]}
    assert of_plan(plan, log_dir_rate=5, rate=7) == Limits(
        {1: {FOLLOWER: 7, WITHIN: 5}, 2: {FOLLOWER: 7}}, {"t": {FOLLOWED: "0:1,0:2"}}
    )
    assert not of_plan(plan, log_dir_rate=None, rate=None)


class TestUnderTheLimitOfSomebodyElse:
    def move(self, **limits):
        return action_of(ActionKind.MOVE_LOG_DIR, FakePaste, broker(1, **{"log.dirs": "/d1"} | limits))

    def test_a_move_is_planned_at_the_lower_one_and_says_so(self):
        free, slow = self.move(), self.move(**{WITHIN: "5000000"})
        assert slow.expected["needs_ms"] - 60_000 > 9 * (free.expected["needs_ms"] - 60_000)
        assert slow.expected["throttle_bytes_per_s"] == 5_000_000
        assert slow.expected["sets_limits"] == {"brokers": {}, "topics": {}}
        (said,) = [p for p in slow.preconditions if p["name"] == "throttle_free"]
        assert (said["holds"], free_of(free)) == (False, True)
        assert f"{WITHIN}=4.8 MiB/s on broker 1; that stays, and these copies run under it" in said["text"]

    def test_a_higher_one_changes_nothing_of_the_plan(self):
        assert self.move(**{WITHIN: "900000000"}).expected["needs_ms"] == self.move().expected["needs_ms"]

    def test_one_below_the_writes_stands_against_the_move(self):
        parts = [changed(move()[0], growth_bytes_per_s=6e6), *move()[1:], broker(1, **{WITHIN: "5000000"})]
        found = recommend(space_alert("critical"), facts(*parts), policy(), NOW_MS)
        (hindered,) = [action for action in found if action.kind is ActionKind.MOVE_LOG_DIR]
        assert "slower_than_writes" in [veto["name"] for veto in hindered.vetoes]
        assert hindered.commands == []

    def test_a_move_to_another_broker_too(self):
        free = action_of(ActionKind.REASSIGN, FakePaste)
        slow = action_of(ActionKind.REASSIGN, FakePaste, broker(3, **{FOLLOWER: "5000000"}))
        assert slow.expected["needs_ms"] > free.expected["needs_ms"]
        assert slow.expected["sets_limits"]["brokers"] == {"1": {LEADER: 50_000_000}}
        assert free_of(slow) is False

    def test_where_newborns_would_be_held_back_it_says_so(self):
        two = [directory(3, "/d2", 30 * MIB), broker(3, **{WITHIN: "1500000"})]
        action = action_of(ActionKind.REASSIGN, FakePaste, *two)
        (born,) = [p for p in action.preconditions if p["name"] == "born_elsewhere"]
        assert born["holds"] is False
        assert "300 MiB in /d2 of broker 3" in born["text"]


class FakePaste:
    policy = policy()


def free_of(action):
    return next(p["holds"] for p in action.preconditions if p["name"] == "throttle_free")


@pytest.mark.parametrize("name", ["t\nLOGDIRWATCH_END\ntouch taken", "t u", " ", "t\x1b[31m"])
@pytest.mark.parametrize("is_set", [True, False])
def test_a_name_or_value_that_kafka_cannot_have_ends_no_document_and_runs_nothing(paste, tmp_path, name, is_set):
    limits = Limits(
        {}, {name: {LED: "0:1"}, "good": {LED: "0:1"}, "u": {LED: f"0:1\n{name}\nLOGDIRWATCH_END\ntouch taken"}}
    )
    tools = paste.policy.tools
    before = {"topics good": {LED: "0:1"}}
    after = paste(tools.set_limits(limits) if is_set else tools.clear_limits(limits), before if not is_set else {})
    assert after == (before if is_set else {})
    assert not (tmp_path / "taken").exists()
