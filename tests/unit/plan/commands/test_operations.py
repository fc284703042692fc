"""Operations and the commands that are rendered from them: both say the same, there and back."""

import msgspec
import pytest
from msgspec.structs import replace as changed

from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import LOG_DIR_THROTTLE, THROTTLED_FOLLOWERS, ActionKind
from logdirwatch.plan.action_records import record
from logdirwatch.plan.actions.replicas.cancel_moves import cancel_moves, propose_overflow_cancel
from logdirwatch.plan.actions.topics.restore_retention import carry_over_limits
from logdirwatch.plan.commands.operations import (
    broker_list,
    from_record,
    limits_of,
    plan_of,
    reassign,
    rendered,
    topic_config,
)
from logdirwatch.plan.commands.throttles import Limits, within_brokers
from logdirwatch.plan.content_hash import content_hash
from logdirwatch.plan.reassignment.running_copies import copies_to
from tests.unit.plan.actions.replicas.test_cancel_moves import BETWEEN, INSIDE, POLICY
from tests.unit.plan.actions.replicas.test_cancel_moves import HERE as HERE_ON_1
from tests.unit.plan.actions.replicas.test_clear_throttles import cleared, limits
from tests.unit.plan.actions.replicas.test_demote_leaders import PARTS as DEMOTED
from tests.unit.plan.actions.replicas.test_demote_leaders import demoted
from tests.unit.plan.actions.replicas.test_elect_leaders import PARTS as REPAIRED
from tests.unit.plan.actions.replicas.test_elect_leaders import failed
from tests.unit.plan.actions.replicas.test_move_log_dir import GROWING, KEEPS_NOTHING, moved
from tests.unit.plan.actions.topics.test_lower_retention import draft
from tests.unit.plan.answers import of_kind
from tests.unit.plan.builders import MIB, NOW_MS, facts, policy, space_alert

TOOLS = policy().tools
LIMITS = within_brokers([1], 5 * MIB)


def plan_with(*paths):
    entries = [
        {"topic": "t", "partition": number, "replicas": [1, 2], "log_dirs": [path, "any"]}
        for number, path in enumerate(paths)
    ]
    return {"version": 1, "partitions": entries}


THERE, HERE = plan_with("/d2", "/d3"), plan_with("/d1", "/d1")


def overflowing_copies():
    seen = facts(*INSIDE)
    place = seen.directories[1, "/d1"]
    (found,) = propose_overflow_cancel(place, copies_to([place.place], seen), seen, POLICY)
    return found


def cancelled():
    seen = facts(HERE_ON_1, *BETWEEN)
    return cancel_moves(1, "/d1", [seen.partitions["out", 0]], seen, policy(), "why")


def published(proposal):
    return record(proposal, space_alert(), None, policy(), NOW_MS)


class TestCommands:
    def test_a_topics_value_is_set_and_set_back(self):
        found = topic_config("t", "retention.ms", "5", now="9", old="9")
        assert rendered([found], TOOLS) == (TOOLS.set_topic_config("t", "retention.ms", "5"),)
        assert rendered([found.inverse], TOOLS) == (TOOLS.set_topic_config("t", "retention.ms", "9"),)

    def test_a_value_that_was_inherited_is_deleted_again(self):
        found = topic_config("t", "retention.ms", "5", now="9", old=None)
        assert "--delete-config retention.ms" in rendered([found.inverse], TOOLS)[0]

    def test_a_list_of_a_broker_is_set_as_a_whole(self):
        found = broker_list(3, "cordoned.log.dirs", ["/d1", "/d2"], old=[])
        assert "--entity-name=3 --add-config 'cordoned.log.dirs=[/d1,/d2]'" in rendered([found], TOOLS)[0]
        assert "--delete-config cordoned.log.dirs" in rendered([found.inverse], TOOLS)[0]

    def test_a_reassignment_in_one_part_is_what_the_tool_is_called_with(self):
        found = reassign(THERE, HERE, "plan.json", limits=LIMITS, back=Limits(), beside=True)
        assert rendered([found], TOOLS) == tuple(TOOLS.reassign(THERE, "plan.json", limits=LIMITS, beside=True))
        assert rendered([found.inverse], TOOLS) == tuple(
            TOOLS.reassign(HERE, "undo-plan.json", limits=Limits(), beside=True)
        )

    def test_waves_run_one_after_the_other_under_the_same_throttles(self):
        found = reassign(THERE, HERE, "plan.json", limits=LIMITS, back=LIMITS, waves=[[1], [0]])
        commands = rendered([found], TOOLS)
        first = TOOLS.reassign(plan_of(found.args, 0), "wave-1-plan.json", limits=Limits())
        second = TOOLS.reassign(plan_of(found.args, 1), "wave-2-plan.json", limits=Limits())
        assert plan_of(found.args, 0)["partitions"] == [THERE["partitions"][1]]
        assert commands[1:2] == tuple(TOOLS.set_limits(LIMITS, "plan.json"))
        assert commands[2:-1] == (*first, *second)
        assert commands[-1:] == tuple(TOOLS.clear_limits(LIMITS, "plan.json"))


class TestActions:
    @pytest.mark.parametrize(
        "proposal",
        [
            moved(),
            moved(60 * MIB, 60 * MIB, source=GROWING, parts=[KEEPS_NOTHING]),
            draft(),
            overflowing_copies(),
            cancelled(),
            cleared(limits({1: {LOG_DIR_THROTTLE: 100}}, {"t": {THROTTLED_FOLLOWERS: "0:1"}})),
        ],
    )
    def test_the_record_has_the_operations_that_its_commands_carry_out(self, proposal):
        action = msgspec.json.decode(msgspec.json.encode(published(proposal)), type=ActionRecord)
        assert rendered(from_record(action.operations), TOOLS) == tuple(action.commands)

    @pytest.mark.parametrize(
        ("made", "kind"),
        [(demoted(*DEMOTED), ActionKind.DEMOTE_LEADERS), (failed(*REPAIRED), ActionKind.ELECT_LEADERS)],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_so_have_those_that_change_leaders(self, made, kind):
        action = of_kind(made, kind)
        assert rendered(from_record(action.operations), TOOLS) == tuple(action.commands) != ()

    def test_a_cancel_names_where_moves_lead_and_what_partitions_keep(self):
        (found,) = from_record(published(cancelled()).operations)
        (goal,), (kept,) = found.expect_before.reassignment.partitions, found.expect_after.reassignment.partitions
        assert (goal.replicas, kept.replicas) == ([1, 2], [2, 3])
        assert found.inverse.args.reassignment.partitions == [goal]

    def test_a_copy_within_a_broker_is_named_by_its_directory(self):
        (found,) = from_record(published(overflowing_copies()).operations)
        (one,) = found.args.reassignment.partitions
        assert (one.replicas, one.log_dirs) == ([1, 2], ["/d1", "any"])
        assert found.expect_after.reassignment.partitions[0].replicas == [1, 2]

    def test_a_move_names_places_and_throttles_as_fields(self):
        (operation,) = from_record(published(moved()).operations)
        assert plan_of(operation.args) == moved().reassignment
        assert limits_of(operation.args).brokers == {1: {LOG_DIR_THROTTLE: 10 * MIB}}
        assert msgspec.to_builtins(operation.expect_before.reassignment) == moved().undo["reassignment"]
        assert plan_of(operation.inverse.args) == moved().undo["reassignment"]

    def test_a_cut_names_the_value_before_and_after(self):
        (operation,) = from_record(published(draft()).operations)
        assert (operation.expect_before.value, operation.expect_after.value) == ("-1", str(200 * MIB))
        assert operation.inverse.args.value is None, "it was not the topic's own"

    def test_what_must_not_be_done_has_no_operations(self):
        assert published(draft(rate=200 * MIB / 3599)).operations == []

    def test_an_older_record_is_read_and_keeps_its_hash(self):
        action = published(draft())
        older = {k: v for k, v in msgspec.to_builtins(action).items() if k != "operations"}
        read = msgspec.convert(older, ActionRecord)
        assert read.operations is None
        assert content_hash(read) == content_hash(changed(action, operations=None)) != content_hash(action)

    def test_other_arguments_make_another_content_and_so_does_another_value_to_overwrite(self):
        action = published(draft())
        (operation,) = action.operations
        other = {**operation, "args": {**operation["args"], "value": "1"}}
        seen = {**operation, "expect_before": {"value": "7"}}
        assert content_hash(changed(action, operations=[other])) != content_hash(action)
        assert content_hash(changed(action, operations=[seen])) != content_hash(action)

    def test_a_deeper_cut_is_undone_to_the_value_before_the_first(self):
        first = changed(published(draft()), observed={"is_set": True})
        first = changed(first, undo={**first.undo, "configs": {"t": {"retention.bytes": "77"}}})
        deeper = carry_over_limits(first, published(draft(100 * MIB)))
        (operation,) = from_record(deeper.operations)
        assert deeper.kind is ActionKind.LOWER_RETENTION
        assert operation.args.value == str(100 * MIB)
        assert operation.inverse.args.value == "77"
