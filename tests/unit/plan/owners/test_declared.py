"""Clusters that a repository declares: the change is made, and the action says that it must be made there too."""

import pytest

from logdirwatch.model.vocabulary import ActionKind, ClusterOwner, OperationKind
from logdirwatch.plan.action_types import ACTION_TYPES
from logdirwatch.plan.commands.operations import broker_list, elect_leaders, sets_declared, topic_config
from logdirwatch.plan.owners.owner import declared_too, why_reverted
from logdirwatch.plan.proposal import ProposedAction
from tests.unit.report.builders import action

OWNERS = {ClusterOwner.GITOPS: "its next sync", ClusterOwner.TERRAFORM: "its next apply"}
CONFIG = topic_config("t", "retention.ms", "5", now="9", old="9")
LIST = broker_list(3, "cordoned.log.dirs", ["/d"], old=[])
ELECTION = elect_leaders({"partitions": [{"topic": "t", "partition": 0}]}, "election.json")
DECLARED = {kind for kind, found in ACTION_TYPES.items() if found.changes_declared}


def proposal(kind, *operations):
    return ProposedAction(kind, {"topic": "t"}, "why", {}, commands=("do it",), operations=operations)


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
    for unchanged in (proposal(kind), proposal(kind, ELECTION)):
        assert declared_too(unchanged, ClusterOwner.GITOPS) == unchanged


@pytest.mark.parametrize("operations", [(CONFIG,), (LIST,), (ELECTION, CONFIG)])
@pytest.mark.parametrize("kind", ActionKind)
def test_what_sets_a_configuration_is_declared_whatever_its_kind(kind, operations):
    found = declared_too(proposal(kind, *operations), ClusterOwner.GITOPS)
    assert [condition.name for condition in found.preconditions] == ["declared_too"]


@pytest.mark.parametrize("kind", OperationKind)
def test_every_operation_is_known_to_set_a_configuration_or_not(kind):
    made = {CONFIG.op: CONFIG, LIST.op: LIST}.get(kind)
    assert sets_declared(made or ELECTION) is (made is not None)


def test_the_kinds_that_change_nothing_declared_are_those_that_say_so():
    assert sorted(set(ActionKind) - DECLARED) == [
        "cancel_moves",
        "clear_throttles",
        "delete_records",
        "delete_topic_candidate",
        "demote_leaders",
        "elect_leaders",
        "investigate",
        "move_log_dir",
        "reassign",
        "recreate_reserve",
        "release_reserve",
        "replace_disk",
        "restart_broker",
    ]


@pytest.mark.parametrize("kind", ActionKind)
@pytest.mark.parametrize("configs", [None, {"t": {"retention.ms": {"from": "9", "to": "5"}}}])
def test_what_was_planned_before_strimzi_is_refused_if_it_sets_a_topic_or_its_kind_is_reverted(kind, configs):
    old = action(kind=kind, configs=configs)
    is_reverted = configs is not None or ACTION_TYPES[kind].operator_reverts
    assert (why_reverted(old, ClusterOwner.STRIMZI) is not None) is is_reverted
    assert why_reverted(old, ClusterOwner.GITOPS) is None
