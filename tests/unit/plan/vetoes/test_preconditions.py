"""A precondition that one of the vetoes denies does not hold, of whatever kind the action is."""

import pytest

from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.action_records import record
from logdirwatch.plan.proposal import Precondition, ProposedAction, Veto
from logdirwatch.plan.vetoes.preconditions import DENIED_BY, agreed
from tests.unit.plan.builders import NOW_MS, alert, policy

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
        (item,) = record(draft(kind, name=name, veto=veto), alert(), {}, policy(), NOW_MS).preconditions
        assert item["holds"] is False
