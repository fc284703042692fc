"""Clusters that a repository declares: the change is made, and the action says that it must be made there too."""

import pytest

from logdirwatch.model.vocabulary import ActionKind, ClusterOwner
from logdirwatch.plan.owners.owner import DECLARED, declared_too
from logdirwatch.plan.proposal import ProposedAction

OWNERS = {ClusterOwner.GITOPS: "its next sync", ClusterOwner.TERRAFORM: "its next apply"}


def proposal(kind):
    return ProposedAction(kind, {"topic": "t"}, "why", {}, commands=("do it",))


@pytest.mark.parametrize(("owner", "what"), OWNERS.items())
def test_what_is_declared_is_changed_there_too(owner, what):
    found = declared_too(proposal(ActionKind.LOWER_RETENTION), owner)
    assert found.commands[0] == "do it"
    assert found.commands[1].startswith("# Make the same change in ")
    assert what in found.commands[1]
    (condition,) = found.preconditions
    assert (condition.name, condition.holds) == ("declared_too", None)
    assert what in condition.text


@pytest.mark.parametrize("kind", sorted(set(ActionKind) - DECLARED))
def test_what_no_repository_declares_stays_as_it_is(kind):
    assert declared_too(proposal(kind), ClusterOwner.GITOPS) == proposal(kind)
