"""Adapt a proposal to the owner of its cluster; most need no change.

In clusters declared in a repository a change is made directly, and must be made there too. Strimzi reverts changes that
bypass its resources.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from logdirwatch.model.actions.operations import Inverse, Operation
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ClusterOwner, OperationKind
from logdirwatch.plan.action_types import ACTION_TYPES
from logdirwatch.plan.actions.strimzi_resources import Kubectl, kubectl_of, topic_configs
from logdirwatch.plan.commands.kafka_tools import note
from logdirwatch.plan.commands.operations import limits_of, rendered, sets_declared
from logdirwatch.plan.proposal import Policy, Precondition, ProposedAction, Veto


def for_owner(proposal: ProposedAction, policy: Policy) -> ProposedAction:
    """Return a proposal with commands that the owner of its cluster does not revert."""
    if policy.owner is None:
        return proposal
    if policy.owner.kind is not ClusterOwner.STRIMZI:
        return declared_too(proposal, policy.owner.kind)
    rewritten = ACTION_TYPES[proposal.kind].for_strimzi(proposal, policy)
    return with_limits_known(patched(_without_lists(rewritten), policy))


_WHERE = {
    ClusterOwner.GITOPS: "the Git repository that the cluster is applied from: its next sync",
    ClusterOwner.TERRAFORM: "the cluster's Terraform configuration: its next apply",
}


def declared_too(proposal: ProposedAction, owner: ClusterOwner) -> ProposedAction:
    """Return a proposal with the note that the change must also be made where it is declared."""
    if not (ACTION_TYPES[proposal.kind].changes_declared or any(map(sets_declared, proposal.operations))):
        return proposal
    text = f"the same change is made in {_WHERE[owner]} reverts it otherwise"
    return replace(
        proposal,
        commands=(*proposal.commands, note(f"Make the same change in {_WHERE[owner]} reverts it otherwise.")),
        preconditions=(*proposal.preconditions, Precondition("declared_too", text, None)),
    )


def why_reverted(action: ActionRecord, owner: ClusterOwner | None) -> str | None:
    """Return why an action planned before Strimzi managed the cluster must not be carried out; None if it may."""
    if owner is not ClusterOwner.STRIMZI or action.owner is owner:
        return None
    if not (ACTION_TYPES[action.kind].operator_reverts or action.configs):
        return None
    return "Strimzi reverts it: it was planned before the cluster was known to be Strimzi's"


# Strimzi. Topic configuration: the topic operator sets a topic's own values to those of its KafkaTopic. Space: volumes
# are declared once for all brokers of a node pool. Restarts and new disks: the operator restarts pods and creates
# volumes; people do not stop, format or start brokers. Moves: Strimzi leaves Kafka's reassignments alone, but not the
# lists of throttled replicas of topics. Permissions: the user operator sets a user's ACLs to those of its KafkaUser.
NO_TOPIC = '"${topic:?no KafkaTopic declares the topic}"'


def _without_lists(proposal: ProposedAction) -> ProposedAction:
    """Return a proposal with a veto if it adds to a broker's own configuration, which the operator deletes."""
    lists = [one for one in proposal.operations if one.op is OperationKind.SET_BROKER_LIST]
    added = [one for one in lists if set(one.args.entries or ()) - set(one.expect_before.entries or ())]
    if not added or "owner_reverts" in {veto.name for veto in proposal.vetoes}:
        return proposal
    reason = f"Strimzi deletes a broker's own {added[0].args.key} within minutes"
    return replace(proposal, vetoes=(*proposal.vetoes, Veto("owner_reverts", reason)))


def patched(proposal: ProposedAction, policy: Policy) -> ProposedAction:
    """Return changes of topics' configuration as patches of their KafkaTopics, before what else the proposal does.

    It has no operations: ``apply`` and the autopilot change the topic itself, which the operator reverts.
    """
    changes = [one for one in proposal.operations if one.op is OperationKind.SET_TOPIC_CONFIG]
    if not changes:
        return proposal
    kubectl, rest = kubectl_of(policy), [one for one in proposal.operations if one not in changes]
    back = [operation.inverse for operation in reversed(changes)]
    undone = rendered([operation.inverse for operation in reversed(rest)], policy.tools)
    return replace(
        proposal,
        operations=(),
        commands=(
            *_patches(changes, kubectl),
            *_direct(rendered(changes, policy.tools)),
            *rendered(rest, policy.tools),
        ),
        undo={**proposal.undo, "commands": [*undone, *_patches(back, kubectl), *_direct(rendered(back, policy.tools))]},
    )


def _patches(changes: Iterable[Operation | Inverse], kubectl: Kubectl) -> list[str]:
    values: defaultdict[str, dict[str, str | None]] = defaultdict(dict)
    for change in changes:
        value = change.args.value
        values[str(change.args.topic)][str(change.args.key)] = value if isinstance(value, str) else None
    return [
        command
        for topic, wanted in values.items()
        for command in (kubectl.topic(topic), kubectl.patch("kafkatopic", NO_TOPIC, "merge", topic_configs(wanted)))
    ]


def _direct(commands: Iterable[str]) -> list[str]:
    """Return the commands for a topic without a KafkaTopic; those for configurations are one line each."""
    return [note(f"Only where no KafkaTopic declares the topic: {command}") for command in commands]


def with_limits_known(proposal: ProposedAction) -> ProposedAction:
    """Return moves with the precondition for their throttles to last.

    The topic operator deletes these lists from topics that it manages, unless Cruise Control is deployed (Strimzi 1.2
    ``BatchingTopicController``). Broker rates stay: the operator does not compare these keys.
    """
    if not any(limits_of(operation.args).topics for operation in proposal.operations):
        return proposal
    text = (
        "the throttles last: the cluster has Cruise Control, or its topics have no KafkaTopic; otherwise Strimzi "
        "deletes the lists of throttled replicas within minutes, and the copies run without a limit"
    )
    return replace(proposal, preconditions=(*proposal.preconditions, Precondition("throttles_last", text, None)))
