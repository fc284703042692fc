"""Every rule has its response: actions, or the reason why there are none, and a runbook."""

from pathlib import Path

import pytest

from logdirwatch.model.vocabulary import Rule
from logdirwatch.plan import responses
from logdirwatch.plan.actions.brokers.investigate import PLANNED
from logdirwatch.plan.responses import without_actions
from logdirwatch.plan.responses.response import Response
from logdirwatch.plan.rule_responses import RESPONSES, RUNBOOKS

FOLDER = Path(responses.__file__).parent


def test_every_rule_has_a_response():
    assert list(RESPONSES) == list(Rule)


@pytest.mark.parametrize("rule", Rule)
def test_a_rule_without_actions_says_why(rule):
    response = RESPONSES[rule]
    assert (response.propose is None) == (response.nothing_to_propose is not None)


def test_every_module_answers_a_rule():
    modules = {path.stem for path in FOLDER.rglob("*.py")} - {"__init__", "response", "without_actions"}
    assert modules == {str(rule) for rule in set(Rule) - set(without_actions.RESPONSES)}


@pytest.mark.parametrize("rule", Rule)
def test_of_every_rule_it_is_known_what_ends_its_alerts(rule):
    assert RESPONSES[rule].ends_when


def test_every_rule_has_a_runbook():
    assert set(RUNBOOKS) == set(Rule)


def test_a_response_proposes_or_says_why_not_and_never_both():
    for both in ({"propose": None}, {"propose": lambda _: [], "nothing_to_propose": "why"}):
        with pytest.raises(ValueError, match="proposes actions, or says why"):
            Response(runbook=PLANNED, ends_when="it is over", **both)
