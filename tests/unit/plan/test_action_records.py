"""A planner can write into an action only what its published schema names."""

import json
from dataclasses import replace

import msgspec
import pytest

from logdirwatch.model.actions import EXPECTED
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.action_records import DENIED_BY, agreed, record
from logdirwatch.plan.proposal import Precondition, ProposedAction, Veto, effect
from tests.unit.plan.builders import NOW_MS, alert, policy

DRAFT = ProposedAction(ActionKind.REPLACE_DISK, {"broker": 1, "log_dir": "/d1"}, "why", effect(status="online"))


def recorded(**fields):
    return record(replace(DRAFT, **fields), alert(), None, policy(), NOW_MS)


@pytest.mark.parametrize(
    "fields",
    [
        {"target": {**DRAFT.target, "topics": "t"}},
        {"expected": effect(frees_byte=1)},
        {"expected": effect(on=[{"broker": 1, "log_dir": "/d1", "bytes": 1, "size": 1}])},
        {"undo": {"commandz": []}},
        {"undo": {"reassignment": {"version": 1, "partitions": [], "topics": None}}},
    ],
    ids=["target", "expected", "deep in expected", "undo", "deep in undo"],
)
def test_a_key_that_no_schema_names_is_an_error(fields):
    with pytest.raises(msgspec.ValidationError, match="has no field"):
        recorded(**fields)


@pytest.mark.parametrize("kind", list(ActionKind))
def test_what_another_kind_expects_is_an_error_too(kind):
    fields = {name for one in EXPECTED.values() for name in one.__struct_encode_fields__}
    for name in fields - set(EXPECTED[kind].__struct_encode_fields__):
        with pytest.raises(msgspec.ValidationError, match=f"has no field `{name}`"):
            recorded(kind=kind, expected=effect(**{name: None}))


def test_a_veto_names_its_brokers_where_it_is_about_some():
    told = Veto("other_broker_down", "broker 5 and 1 more is not known to be alive", (5, 7)), Veto("not_over", "so")
    first, second = recorded(vetoes=told).vetoes
    assert first == {"name": "other_broker_down", "reason": told[0].reason, "brokers": [5, 7]}
    assert second == {"name": "not_over", "reason": "so"}


def test_what_is_read_may_hold_more_and_keeps_it():
    value = json.loads(msgspec.json.encode(recorded()))
    for name in ("target", "expected", "undo"):
        value[name]["later"] = 1
    value["vetoes"] = [{"name": "later", "reason": "so", "later": 1}]
    read = msgspec.json.decode(json.dumps(value), type=ActionRecord)
    assert json.loads(msgspec.json.encode(read)) == value


def test_the_parts_of_an_action_are_json_objects():
    made = recorded(vetoes=(Veto("not_over", "so", (1,)),))
    for part in (made.target, made.expected, made.preconditions, made.vetoes, made.undo):
        assert json.loads(json.dumps(part)) == part


PAIRS = [(name, veto) for name, vetoes in DENIED_BY.items() for veto in sorted(vetoes)]


def draft(kind=ActionKind.RESTART_BROKER, *, name="writes_go_on", holds=True, veto=None):
    vetoes = () if veto is None else (Veto(veto, "so it is"),)
    return ProposedAction(
        kind, {"broker": 1}, "why", {}, preconditions=(Precondition(name, "text", holds),), vetoes=vetoes
    )


@pytest.mark.parametrize(("name", "veto"), PAIRS)
def test_a_veto_denies_its_precondition(name, veto):
    assert [item.holds for item in agreed(draft(name=name, veto=veto))] == [False]


@pytest.mark.parametrize("holds", [True, False, None])
def test_another_veto_and_none_leave_it_as_it_is(holds):
    for veto in (None, "rejected"):
        assert [item.holds for item in agreed(draft(holds=holds, veto=veto))] == [holds]


@pytest.mark.parametrize("kind", list(ActionKind))
def test_no_record_of_any_kind_contradicts_itself(kind):
    for name, veto in PAIRS:
        (item,) = record(draft(kind, name=name, veto=veto), alert(), None, policy(), NOW_MS).preconditions
        assert item["holds"] is False
