"""Each rule: what it lets pass, and what it says against the rest."""

import dataclasses
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from logdirwatch.autopilot.facts import Running
from logdirwatch.autopilot.judge import RULES, refusal
from logdirwatch.execute.need import Shown
from logdirwatch.execute.surroundings import touched
from logdirwatch.executions import share
from logdirwatch.model.records.executions import ENDED
from logdirwatch.model.vocabulary import (
    LOG_DIR_THROTTLE,
    REPLICATION_THROTTLES,
    ActionKind,
    ActionStatus,
    Decision,
    ExecutionState,
)
from logdirwatch.plan.cluster.assignment import Assignment, to_json
from logdirwatch.plan.commands import operations
from logdirwatch.plan.commands.kafka_tools import Tools
from logdirwatch.plan.commands.throttles import Limits
from logdirwatch.plan.content_hash import content_hash
from logdirwatch.plan.proposal import Policy
from logdirwatch.plan.recommend import recommend
from logdirwatch.plan.settings import PlanSettings, ToolSettings
from logdirwatch.text.units import human_ms
from tests.unit.autopilot.world import (
    HOUR_MS,
    MIB,
    WEEK_MS,
    accepted,
    between,
    cancel,
    clear,
    cordon,
    cut,
    election,
    execution,
    facts,
    move,
    moving,
    of,
    order,
)
from tests.unit.plan.builders import NOW_MS, action, directory, replica, slowly, space_alert, topic
from tests.unit.plan.builders import facts as cluster

ALL_RATES = Limits({1: dict.fromkeys((LOG_DIR_THROTTLE, *REPLICATION_THROTTLES), 5)})
FLOORED = PlanSettings(topics=[{"topic": "t", "min_retention_ms": 2 * HOUR_MS, "min_retention_bytes": 10 * MIB}])


def against(made, given=None, now_ms=NOW_MS):
    """The rule and the reason that stand against an action; None when it may start."""
    return refusal(made, given or facts(made), now_ms)


PROMISED = PlanSettings(cut_ratio=0.7, topics=[{"topic": "t", "min_retention_ms": 30 * HOUR_MS}])


def planned(*parts, kind=ActionKind.LOWER_RETENTION):
    """What the planner proposes for a directory that fills."""
    snapshot = cluster(directory(1, "/d1", 850 * MIB), *parts, growth=slowly(*parts))
    allowed = Policy(PROMISED, Tools(ToolSettings(), "kafka:9092"), 60_000)
    return next(one for one in recommend(space_alert(), snapshot, allowed, NOW_MS) if one.kind is kind)


def cuttable(**readers):
    """A topic of which the planner gives up history."""
    return topic("t", (1,), configs={"retention.ms": str(100 * HOUR_MS)}, **readers), replica(1, "/d1", "t")


def says(made, given, rule, text, now_ms=NOW_MS):
    found = against(made, given, now_ms)
    assert found is not None
    assert found.rule == rule, found
    assert text in found.reason


@pytest.mark.parametrize(
    "made",
    [move(), move(limits=ALL_RATES), between(), cut(), cordon(), order(), election(), cancel(), clear()],
    ids=lambda made: str(made.kind),
)
def test_what_is_accepted_and_allowed_starts(made):
    assert against(made) is None


def test_by_default_nothing_is_allowed():
    made = move()
    says(made, replace_settings(facts(made)), "kind", "autopilot.clusters.c.kinds does not name move_log_dir")


def replace_settings(given, **clusters):
    settings = given.settings.model_copy(update={"clusters": clusters})
    return dataclasses.replace(given, settings=settings)


def test_nothing_starts_before_telemetry_is_read_or_while_it_is_away():
    made = move()
    says(made, facts(made, read_at_ms=None), "telemetry", "not been read yet")
    says(made, facts(made, read_at_ms=NOW_MS - 20_000), "telemetry", "could not be read for 20 s")
    longest_ms = facts(made).settings.telemetry_max_age_ms
    assert against(made, facts(made, read_at_ms=NOW_MS - longest_ms)) is None


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"vetoes": [{"name": "v", "reason": "too late"}]}, "must not be done now: too late"),
        ({"operations": None}, "has no operations"),
        ({"content_hash": "other"}, "is not what its content_hash stands for"),
        ({"status": ActionStatus.RUNNING}, "is running"),
        ({"decision": {"decision": "accept_other_content", "by": "a", "at_ms": 1}}, "says something else"),
    ],
)
def test_a_record_that_apply_refuses_is_refused(fields, text):
    made = move()
    says(replace(made, **fields), facts(made), "record", text)


RETENTION = operations.topic_config("t", "retention.ms", "7200000", now="9000000", old=None)
AWAY, AT_HOME = Assignment("t", 0, (3, 2), ("/b", "any")), Assignment("t", 0, (1, 2), ("/a", "any"))


def cancelling(*topics):
    """Return a cancellation whose moves, goals and replicas to keep are each of one topic, or of none."""
    plans = (to_json([Assignment(name, 0, (1,), ("any",))] if name else []) for name in topics)
    return of(ActionKind.CANCEL_MOVES, operations.cancel_moves(*plans, "f", again=Limits()))


FORGED = {
    "another key": cut(key="cleanup.policy", value="delete"),
    "another topic": of(ActionKind.LOWER_RETENTION, RETENTION, target={"broker": 1, "log_dir": "/a", "topic": "u"}),
    "retention in a move": of(ActionKind.MOVE_LOG_DIR, RETENTION),
    "another list of the broker": cordon(key="listeners"),
    "another broker": cordon(broker=2),
    "another directory": cordon(path="/d7"),
    "replicas in a move within the broker": moving(AWAY, AT_HOME),
    "fewer replicas": between(there=(3,)),
    "a broker twice": between(there=(3, 3)),
    "another partition than before": moving(
        Assignment("t", 1, (1,), ("/b",)), Assignment("t", 0, (1,), ("/a",)), kind=ActionKind.REASSIGN
    ),
    "no throttle of a broker": move(limits=Limits({1: {"num.io.threads": 1}})),
    "no throttle of a topic": move(limits=Limits({}, {"t": {"retention.ms": "1"}})),
    "other replicas in an order": order(there=(2, 3)),
    "a move as an order": of(ActionKind.DEMOTE_LEADERS, RETENTION),
    "an order as an election": of(ActionKind.ELECT_LEADERS, RETENTION),
    "a cut as a cancel": of(ActionKind.CANCEL_MOVES, RETENTION),
    "a cancel of moves with other goals": cancelling("t", "u", "t"),
    "a cancel of moves with other replicas to keep": cancelling("t", "t", "u"),
    "a cancel of nothing": cancelling("", "", ""),
    "another key than throttles": clear(key="num.io.threads"),
    "throttles by another kind": clear(kind=ActionKind.CORDON_LOG_DIR),
    "a throttle of a topic that stays": move(
        limits=Limits({}, {"u": {"leader.replication.throttled.replicas": "0:1"}})
    ),
}


@pytest.mark.parametrize("name", FORGED)
def test_operations_that_the_kind_must_not_have_are_refused(name):
    found = against(FORGED[name])
    assert found is not None
    assert found.rule in {"record", "fits_kind"}


@pytest.mark.parametrize("operation", [{"op": "format_disk"}, {"op": "packed", "columns": ""}])
def test_operations_of_a_later_release_and_those_of_the_journal_are_refused(operation):
    made = of(ActionKind.MOVE_LOG_DIR)
    made = replace(made, operations=[operation])
    made = replace(made, content_hash=content_hash(made))
    says(made, facts(made), "record", "does not know")


class TestFloors:
    def test_retention_stays_above_the_planners_floor(self):
        made = cut("60000")
        says(made, None, "floor", "sets retention.ms of t to 1 min, below its floor of 1 h")

    def test_retention_stays_above_the_owners_floor(self):
        made = cut("3600000")
        says(made, facts(made, plan=FLOORED), "floor", "below its floor of 2 h")
        made = cut(str(MIB), key="retention.bytes")
        says(made, facts(made, plan=FLOORED), "floor", "sets retention.bytes of t to 1 MiB, below its floor")

    @pytest.mark.parametrize("key", ["retention.ms", "retention.bytes"])
    @pytest.mark.parametrize("owner", [None, 1, 10 * HOUR_MS])
    @pytest.mark.parametrize("general", [0, HOUR_MS])
    def test_every_value_below_the_higher_floor_is_refused_and_no_other(self, key, owner, general):
        owned = {"topic": "t", "min_retention_ms": owner, "min_retention_bytes": owner}
        plan = PlanSettings(min_retention_ms=general, topics=[owned])
        least = max(owner or 0, plan.min_retention_ms if key == "retention.ms" else 0)
        for value in {-1, 0, 1, least - 1, least, least + 1}:
            found = against(made := cut(str(value), key=key), facts(made, plan=plan))
            assert (found is None) == (not 0 <= value < least), value
            assert found is None or found.rule == "floor"

    @pytest.mark.parametrize(
        ("value", "key", "floor"),
        [
            ("+1000", "retention.ms", {"min_retention_ms": 7 * 24 * HOUR_MS}),
            (" 1000 ", "retention.ms", {"min_retention_ms": 7 * 24 * HOUR_MS}),
            ("\t1000\n", "retention.ms", {"min_retention_ms": 7 * 24 * HOUR_MS}),
            ("\x001000\x1f", "retention.ms", {"min_retention_ms": 7 * 24 * HOUR_MS}),
            ("9" * 5000, "retention.ms", {}),
            ("\u0661", "retention.ms", {"min_retention_ms": 7 * 24 * HOUR_MS}),
            ("1_000_000_000_000", "retention.ms", {}),
            ("1e12", "retention.ms", {}),
            (str(2**63), "retention.ms", {}),
            ("+1", "retention.bytes", {"min_retention_bytes": MIB}),
            (str(MIB), "retention.bytes", {"min_retention_ms": HOUR_MS}),
            (str(9 * HOUR_MS), "retention.ms", {"min_retention_bytes": MIB}),
        ],
    )
    def test_a_value_is_read_as_kafka_reads_it_and_held_against_what_the_owner_declared(self, value, key, floor):
        made = cut(value, key=key)
        found = against(made, facts(made, plan=PlanSettings(topics=[{"topic": "t", **floor}])))
        assert found is not None
        assert found.rule == "floor"

    def test_the_way_back_has_the_same_floors(self):
        one = operations.topic_config("t", "retention.ms", "7200000", now="9000000", old="+1000")
        made = of(ActionKind.LOWER_RETENTION, one, target={"broker": None, "log_dir": None, "topic": "t"})
        says(made, None, "floor", "sets retention.ms of t to 1 s, below its floor of 1 h")

    def test_a_topic_that_holds_no_less_than_before_needs_no_floor_of_that_kind(self):
        one = operations.topic_config("t", "retention.bytes", str(2 * MIB), now=str(MIB), old=str(MIB))
        made = of(ActionKind.RESTORE_RETENTION, one, target={"broker": None, "log_dir": None, "topic": "t"})
        only_time = PlanSettings(topics=[{"topic": "t", "min_retention_ms": HOUR_MS}])
        assert against(made, facts(made, plan=only_time)) is None

    @pytest.mark.parametrize("value", [None, "-1"])
    def test_no_limit_is_above_every_floor(self, value):
        made = cut(value)
        assert against(made, facts(made, plan=FLOORED)) is None

    def test_a_local_limit_takes_no_history(self):
        made = cut("1", key="local.retention.ms")
        assert against(made, facts(made, plan=FLOORED)) is None

    def test_what_must_not_be_touched_is_not(self):
        for made in (cut(), move()):
            says(made, facts(made, plan=PlanSettings(never_touch=["t"])), "floor", "names t, which plan.never_touch")
            plan = PlanSettings(topics=[{"topic": "t", "never_touch": True}])
            says(made, facts(made, plan=plan), "floor", "names t")
        made = cut(topic="__consumer_offsets")
        says(made, None, "floor", "an internal topic")


class TestDecisions:
    def test_without_an_acceptance_it_waits(self):
        made = move()
        says(
            made,
            facts(made, said={}),
            "decision",
            f"waits for an acceptance: logdirwatch actions accept {made.action_id}",
        )

    def test_a_record_that_says_accepted_is_no_acceptance(self):
        made = replace(move(), status=ActionStatus.ACCEPTED, decision={"decision": "accept", "by": "a", "at_ms": 1})
        says(made, facts(made, said={}), "decision", "waits for an acceptance")

    @pytest.mark.parametrize("content_hash", [None, "other"])
    def test_an_acceptance_of_something_else_is_none(self, content_hash):
        made = move()
        said = {made.action_id: accepted(made, content_hash=content_hash)}
        says(made, facts(made, said=said), "decision", "says something else than what ann accepted")

    def test_an_acceptance_ends(self):
        made = move()
        old = {made.action_id: accepted(made, at_ms=NOW_MS - WEEK_MS)}
        says(made, facts(made, said=old), "decision", "the one by ann is too old")
        ended = {made.action_id: accepted(made, until_ms=NOW_MS)}
        says(made, facts(made, said=ended), "decision", "is too old")

    def test_a_rejection_counts_for_unattended_kinds_too(self):
        made = move()
        said = {made.action_id: accepted(made, Decision.REJECT)}
        given = facts(made, said=said, unattended=True)
        says(made, given, "decision", "was rejected by ann: because")
        assert given.acceptance(made, NOW_MS) is None

    def test_an_unattended_kind_needs_none(self):
        made = move()
        assert against(made, facts(made, said={}, unattended=True)) is None


class TestUnattended:
    @pytest.mark.parametrize(
        ("made", "setting"),
        [
            (cut(), "min_retention_ms"),
            (cut(str(20 * MIB), key="retention.bytes"), "min_retention_bytes"),
        ],
        ids=["an age", "a size"],
    )
    def test_a_cut_needs_a_floor_that_somebody_declared(self, made, setting):
        given = facts(made, said={}, unattended=True)
        says(made, given, "data_loss", f"nobody declared a floor ({setting} in plan.topics) for t")
        assert against(made, facts(made, said={}, unattended=True, plan=FLOORED)) is None
        assert against(made, facts(made)) is None

    def test_no_floor_tells_what_a_default_deletes(self):
        made = cut(None)
        says(made, facts(made, said={}, unattended=True, plan=FLOORED), "data_loss", "nobody declared a floor")

    def test_what_remote_storage_keeps_needs_no_floor(self):
        made = cut("1", key="local.retention.ms")
        assert against(made, facts(made, said={}, unattended=True)) is None

    def test_what_calls_itself_a_restoration_needs_one_too(self):
        one = operations.topic_config("t", "retention.ms", "7200000", now="9000000", old=None)
        made = of(ActionKind.RESTORE_RETENTION, one, target={"broker": None, "log_dir": None, "topic": "t"})
        says(made, facts(made, said={}, unattended=True), "data_loss", "nobody declared a floor")
        assert against(made, facts(made, said={}, unattended=True, plan=FLOORED)) is None

    def test_the_floor_is_of_the_same_key(self):
        made = cut(str(20 * MIB), key="retention.bytes")
        only_time = PlanSettings(topics=[{"topic": "t", "min_retention_ms": HOUR_MS}])
        says(made, facts(made, said={}, unattended=True, plan=only_time), "floor", "no floor, but another one")
        assert against(made, facts(made, said={}, unattended=True, plan=FLOORED)) is None

    def test_whatever_else_deletes_data_needs_an_acceptance(self):
        made = move(data_loss=True)
        says(made, facts(made, said={}, unattended=True), "data_loss", "needs an acceptance")
        assert against(made, facts(made)) is None

    def test_what_only_a_person_can_check_needs_an_acceptance(self):
        made = move(preconditions=[{"name": "strays", "text": "nothing is left", "holds": None}])
        says(made, facts(made, said={}, unattended=True), "to_check", "needs a person who checks: nothing is left")
        assert against(made, facts(made)) is None

    def test_the_way_back_from_a_cut_needs_a_floor_and_nobody(self):
        one = operations.topic_config("t", "retention.ms", "9000000", now="7200000", old=None)
        target = {"broker": None, "log_dir": None, "topic": "t"}
        asked = [{"name": "limit_known", "text": "the old limit is still what the owner wants", "holds": None}]
        made = of(ActionKind.RESTORE_RETENTION, one, target=target, preconditions=asked)
        assert against(made, facts(made, said={}, unattended=True, plan=FLOORED)) is None

    @pytest.mark.parametrize("holds", [None, False])
    def test_what_the_machine_checks_does_not(self, holds):
        made = move(preconditions=[{"name": "no_reassignment_runs", "text": "none", "holds": holds}])
        assert against(made, facts(made, said={}, unattended=True)) is None

    def test_what_comes_late_needs_an_acceptance(self):
        made = move(preconditions=[{"name": "in_time", "text": "takes 9 min; /d1 is full in 7 min", "holds": False}])
        says(made, facts(made, said={}, unattended=True), "to_check", "comes late and needs an acceptance: takes 9 min")
        assert against(made, facts(made)) is None

    def test_a_planned_cut_starts_where_the_owner_declared_a_floor(self):
        made = planned(*cuttable(unread={0: 0.0}))
        assert {one["name"] for one in made.preconditions if one["holds"] is None} >= {"owner_agrees", "timestamps"}
        assert against(made, facts(made, said={}, unattended=True, plan=PROMISED)) is None

    def test_a_planned_cut_needs_a_person_where_nobody_knows_what_consumers_have_read(self):
        for parts, why in (
            (cuttable(), "the progress of its groups is not known"),
            (cuttable(unread={}), "no consumer group"),
        ):
            made = planned(*parts)
            says(made, facts(made, said={}, unattended=True, plan=PROMISED), "to_check", why)

    def test_what_the_planner_moves_to_another_broker_starts(self):
        parts = directory(2, "/d1"), directory(2, "/d2", 90 * MIB), topic("t", (1,), unread={}), replica(1, "/d1", "t")
        made = planned(*parts, kind=ActionKind.REASSIGN)
        assert "born_elsewhere" in {one["name"] for one in made.preconditions if one["holds"] is None}
        assert against(made, facts(made, said={}, unattended=True)) is None

    @pytest.mark.parametrize("ends", [(0,), (0, 1_000), (1_000, 0)])
    @pytest.mark.parametrize("is_planned_after_ms", [-1, 0, 1])
    @pytest.mark.parametrize("early_ms", [-1, 0, 1, 2, HOUR_MS])
    def test_the_next_one_of_an_alert_is_planned_after_the_last_one_whose_effect_is_seen(
        self, ends, is_planned_after_ms, early_ms
    ):
        made, last = move(), cut()
        ended = [execution(last, state=ExecutionState.DONE, at_ms=NOW_MS + end) for end in ends]
        given = facts(made, said={}, unattended=True)
        last_ms = NOW_MS + max(ends)
        now_ms = last_ms + given.settings.settle_ms - early_ms
        alerts = dict.fromkeys((made.action_id, last.action_id), made.alert_id)
        given = dataclasses.replace(given, executions=ended, alerts=alerts, read_at_ms=now_ms)
        fresh = replace(made, at_ms=last_ms + is_planned_after_ms, expires_at_ms=now_ms)
        if early_ms > 0:
            says(fresh, given, "settled", f"waits {human_ms(early_ms)}: another action of its alert", now_ms)
        elif is_planned_after_ms <= 0:
            says(fresh, given, "settled", "waits until it is planned again", now_ms)
        else:
            assert against(fresh, given, now_ms) is None

    def test_where_the_planner_was_quicker_than_its_acceptance_it_accepts_again(self):
        made = replace(move(), decision={"decision": "accept_other_content", "by": "autopilot a", "at_ms": 1})
        unattended = facts(made, said={}, unattended=True)
        assert against(made, unattended) is None
        says(made, facts(made), "record", "look at it and accept it again")
        says(replace(made, decision={**made.decision, "by": "ann"}), unattended, "record", "look at it and accept it")

    def test_an_accepted_one_does_not_wait(self):
        made, last = move(), cut()
        given = facts(
            made,
            executions=[execution(last, state=ExecutionState.DONE)],
            alerts={made.action_id: "alert", last.action_id: "alert"},
        )
        assert against(made, given) is None


def test_a_proposal_that_was_not_renewed_is_not_taken():
    made = move(expires_at_ms=NOW_MS - 60_000)
    says(made, None, "expired", "expired 1 min ago")
    assert against(replace(made, status=ActionStatus.ACCEPTED)) is None


class TestRepetition:
    def test_an_acceptance_starts_one_execution(self):
        made = move()
        done = execution(made, state=ExecutionState.DONE)
        says(made, facts(made, executions=[done]), "repeated", "was carried out (done): accept it again")
        again = {made.action_id: accepted(made, at_ms=NOW_MS + 1)}
        assert against(made, facts(made, executions=[done], said=again)) is None

    @pytest.mark.parametrize("state", ExecutionState)
    @pytest.mark.parametrize("unattended", [False, True])
    @pytest.mark.parametrize("later_ms", [0, 2 * HOUR_MS])
    def test_only_what_has_ended_starts_again_by_itself_and_only_later(self, state, unattended, later_ms):
        made = move(at_ms=NOW_MS + later_ms, expires_at_ms=NOW_MS + later_ms)
        last = execution(made, "a person", state=state)
        given = facts(made, executions=[last], unattended=unattended, read_at_ms=made.at_ms, alerts={})
        found = against(made, given, made.at_ms)
        is_ended = state in ENDED
        assert (found is None) == (unattended and later_ms > 0 and is_ended), found

    def test_what_is_stuck_waits_for_a_person(self):
        made = move()
        stuck = execution(made, state=ExecutionState.STUCK, reason="the disk is full")
        later = NOW_MS + HOUR_MS
        for unattended in (False, True):
            given = facts(made, executions=[stuck], unattended=unattended, read_at_ms=later)
            for at_ms in (NOW_MS, later):
                again = replace(made, at_ms=at_ms, expires_at_ms=later)
                says(again, given, "repeated", "is stuck (the disk is full): logdirwatch apply --resume", later)

    def test_the_execution_counts_that_began_last(self):
        made = move()
        stuck = execution(made, state=ExecutionState.STUCK)
        done = execution(made, state=ExecutionState.DONE, started_at_ms=NOW_MS + 1)
        for known in ([stuck, done], [done, stuck]):
            says(made, facts(made, executions=known), "repeated", "was carried out (done)")

    def test_an_unattended_one_is_repeated_when_it_is_proposed_anew_after_a_while(self):
        made, later = move(), NOW_MS + HOUR_MS
        done = execution(made, state=ExecutionState.DONE)
        fresh = replace(made, at_ms=later, expires_at_ms=later + 1)
        given = facts(made, executions=[done], said={}, unattended=True, read_at_ms=later, alerts={})
        assert against(fresh, given, later) is None
        for at_ms in (NOW_MS, done.at_ms + given.settings.settle_ms):
            says(replace(fresh, at_ms=at_ms), given, "repeated", "was carried out", now_ms=later)
        assert against(replace(fresh, at_ms=at_ms + 1), given, later) is None


def test_a_pause_of_a_person_or_of_the_configuration_holds():
    made = move()
    pause = accepted(made, Decision.PAUSE)
    says(made, facts(made, pause=pause), "paused", "waits: ann paused it: because")
    says(made, facts(made, allowed={"paused": True}), "paused", "autopilot.clusters.c.paused is set")
    says(made, facts(made, general={"paused": True}), "paused", "autopilot.paused is set")


def test_nothing_starts_on_a_broker_on_which_somebody_works():
    made = move()
    broker = next(int(name.partition(" ")[2]) for name in touched(made.operations) if name.startswith("brokers "))
    works = replace(accepted(made, Decision.MAINTENANCE), cluster="c", broker=broker, reason="new disk")
    waits = f"waits: broker {broker} is in maintenance, by ann: new disk"
    said = accepted(made)
    for at_ms in (said.at_ms, said.at_ms + 1):
        given = facts(made, said={}, unattended=True, maintenance=[replace(works, at_ms=at_ms)])
        says(made, given, "maintenance", waits)
    says(made, facts(made, maintenance=[replace(works, at_ms=said.at_ms + 1)]), "maintenance", waits)
    assert against(made, facts(made, maintenance=[replace(works, at_ms=said.at_ms)])) is None
    assert against(made, facts(made, maintenance=[replace(works, broker=broker + 100)])) is None


def test_actions_start_in_their_windows():
    made = move()
    window = {"days": ["mon"], "opens": "01:00", "closes": "02:00"}
    says(made, facts(made, allowed={"windows": [window]}), "window", "waits for a window: mon 01:00-02:00 UTC")


class TestAlone:
    @pytest.mark.parametrize("by", ["autopilot b", "a person at the terminal"])
    def test_one_execution_runs_on_a_cluster(self, by):
        made = move()
        running = execution(cut(), by, state=ExecutionState.COPYING)
        says(made, facts(made, executions=[running]), "alone", f"{running.action_id} by {by} on c is copying")
        elsewhere = replace(running, cluster="other")
        assert against(made, facts(made, executions=[elsewhere])) is None

    def test_what_has_stopped_holds_the_cluster_and_says_how_to_end_that(self):
        made, stuck = move(), execution(cut(), state=ExecutionState.STUCK, reason="t-0 was changed")
        says(made, facts(made, executions=[stuck]), "alone", "is stuck (t-0 was changed); go on with it or end it: ")
        assert against(made, facts(made, executions=[replace(stuck, cause_is_seen=True)])) is None, "the worker looks"

    def test_few_clusters_at_once(self):
        made = move()
        says(made, facts(made, running=Running(1)), "alone", "autopilot.clusters_at_once")


class TestBudgets:
    def test_partitions(self):
        there, here = (to_json([Assignment("t", n, (1,), (path,)) for n in (0, 1)]) for path in ("/b", "/a"))
        one = operations.reassign(there, here, "f", limits=Limits(), back=Limits())
        made = of(ActionKind.MOVE_LOG_DIR, one)
        says(
            made,
            facts(made, allowed={"max_partitions": 1}),
            "budget",
            "moves 2 partitions, more than max_partitions (1)",
        )
        assert against(made, facts(made, allowed={"max_partitions": 2})) is None

    def test_actions_of_the_autopilot_within_an_hour(self):
        made = move()
        allowed = {"max_actions_per_hour": 1}
        done = execution(cut(), state=ExecutionState.DONE)
        says(made, facts(made, allowed=allowed, executions=[done]), "budget", "1 actions started within the last hour")
        assert against(made, facts(made, allowed={"max_actions_per_hour": 2}, executions=[done])) is None
        just = replace(done, started_at_ms=NOW_MS - HOUR_MS + 1)
        says(made, facts(made, allowed=allowed, executions=[just]), "budget", "1 actions started")
        for other in (
            replace(done, by="a person at the terminal"),
            replace(done, started_at_ms=NOW_MS - HOUR_MS),
            replace(done, cluster="other"),
        ):
            assert against(made, facts(made, allowed=allowed, executions=[other])) is None

    def test_bytes(self):
        made, allowed = move(), {"max_bytes_per_hour": MIB}
        assert against(made, facts(made, allowed=allowed)) is None
        spent = execution(cut(), state=ExecutionState.DONE, bytes=1)
        says(made, facts(made, allowed=allowed, executions=[spent]), "budget", "waits: 1 B were begun")
        assert against(made, facts(made, allowed=allowed, executions=[replace(spent, bytes=None)])) is None
        says(made, facts(made, allowed={"max_bytes_per_hour": 1}), "budget", "copies 1 MiB, more than")
        unknown = move(expected={"frees_bytes": None, "on": [], "needs_ms": None})
        says(unknown, facts(unknown, allowed=allowed), "budget", "an unknown number of bytes")
        assert against(cut(), facts(cut(), allowed={"max_bytes_per_hour": 1})) is None

    def test_bytes_between_brokers_are_those_that_are_copied(self):
        made = between(expected={"copies_bytes": 2 * MIB, "frees_bytes": 1, "on": [], "needs_ms": 1})
        says(made, facts(made, allowed={"max_bytes_per_hour": MIB}), "budget", "copies 2 MiB")


def test_every_rule_answers_for_itself_whatever_the_others_refuse():
    for made in (move(operations=None), cut(operations=None)):
        for given_facts in (facts(made), facts(made, said={}), replace_settings(facts(made))):
            found = [RULES[name](made, given_facts, NOW_MS) for name in RULES]
            assert all(reason is None or reason for reason in found)


def test_every_rule_is_tested_by_its_name():
    text = Path(__file__).read_text(encoding="utf-8")
    assert [name for name in RULES if f'"{name}"' not in text] == []


@pytest.mark.parametrize("kind", [ActionKind.ELECT_LEADERS, ActionKind.EXPAND_DISK])
def test_another_kind_never_fits(kind):
    made = of(kind, RETENTION)
    assert action(kind).kind is made.kind
    assert RULES["fits_kind"](made, facts(move()), NOW_MS)


@pytest.mark.parametrize("made", [cut(), cut(value="4", key="retention.bytes")], ids=["an age", "a size"])
def test_history_is_deleted_only_while_the_alert_fires_and_samples_pass(made):
    says(made, facts(made, shown=Shown()), "need", "waits: nothing shows that room is needed")
    later = NOW_MS + 600_000
    says(made, facts(made, read_at_ms=later), "need", "the last sample of c passed the stream 10 min ago", later)
    assert against(move(), facts(move(), shown=Shown())) is None


def test_one_cut_among_several_changes_needs_the_alert():
    raised = operations.topic_config("t", "retention.bytes", str(2 * MIB), now=str(MIB), old=str(MIB))
    target = {"broker": None, "log_dir": None, "topic": "t"}
    made = of(ActionKind.LOWER_RETENTION, raised, RETENTION, target=target)
    says(made, facts(made, shown=Shown()), "need", "nothing shows that room is needed")
    only_raises = of(ActionKind.RESTORE_RETENTION, raised, target=target)
    assert against(only_raises, facts(only_raises, shown=Shown())) is None


def moved(number, source, target, topic):
    there, here = (Assignment(topic, 0, (one,), ("any",)) for one in (target, source))
    return moving(there, here, Limits(), ActionKind.REASSIGN, action_id=str(number))


class TestSeveralAtOnce:
    @given(
        st.integers(1, 4),
        st.lists(
            st.tuples(
                st.builds(moved, st.integers(0, 99), *[st.integers(1, 9)] * 2, st.sampled_from("abcdef")),
                st.sampled_from([None, ExecutionState.DONE, ExecutionState.STUCK]),
            ),
            max_size=12,
            unique_by=lambda one: one[0].action_id,
        ),
    )
    def test_two_that_run_share_no_broker_and_no_topic_and_after_a_stop_none_begins(self, at_once, story):
        """Each story begins what it may, and then ends the one that has run longest, or stops it."""
        journal, begun = {}, []
        for made, end in story:
            running = [one for one in journal.values() if one.state is ExecutionState.COPYING]
            given_facts = facts(
                made,
                executions=list(journal.values()),
                running=Running(0, frozenset(one.action_id for one in running)),
                allowed={"executions_at_once": at_once, "max_actions_per_hour": 99},
            )
            if against(made, given_facts) is None:
                assert all(one.state is not ExecutionState.STUCK for one in journal.values())
                record = execution(made, state=ExecutionState.COPYING, touches=touched(made.operations))
                journal[record.execution_id] = record
                begun.append(record)
            running = [one for one in journal.values() if one.state is ExecutionState.COPYING]
            assert len(running) <= at_once
            for one, other in combinations(running, 2):
                assert not share(one.touches, other.touches)
            if end is not None and running:
                journal[running[0].execution_id] = replace(running[0], state=end)
        assert bool(begun) == bool(story)

    def test_beside_what_may_touch_the_whole_cluster_none_begins(self):
        made, running = move(), execution(cut(topic="u"), state=ExecutionState.COPYING)
        here = Running(0, frozenset({running.action_id}))
        says(made, facts(made, executions=[running], running=here), "alone", "is copying and unfinished")
        apart = replace(running, touches=["brokers 9", "topics u"])
        assert against(made, facts(made, executions=[apart], running=here)) is None
        says(made, facts(made, executions=[apart]), "alone", "is copying and unfinished")
        stuck = replace(apart, state=ExecutionState.STUCK)
        says(made, facts(made, executions=[stuck], running=here), "alone", "is stuck")
        taken = replace(apart, by="a person at the terminal")
        says(made, facts(made, executions=[taken], running=here), "alone", "by a person at the terminal on c is")
        says(made, facts(made, executions=[apart], running=here, touches=["brokers 9"]), "alone", "is copying")
        full = facts(made, executions=[apart], running=here, allowed={"executions_at_once": 1})
        says(made, full, "alone", "waits: as many actions run on its cluster as may be (executions_at_once)")
