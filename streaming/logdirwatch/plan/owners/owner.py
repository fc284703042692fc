"""Adapt a proposal to the owner of its cluster; most need no change.

In clusters declared in a repository a change is made directly, and must be made there too. Strimzi reverts changes that
bypass its resources.
"""

from dataclasses import replace

from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ClusterOwner
from logdirwatch.plan.action_types import ACTION_TYPES
from logdirwatch.plan.commands.kafka_tools import note
from logdirwatch.plan.commands.operations import sets_declared
from logdirwatch.plan.owners.strimzi import REWRITES, of_operations
from logdirwatch.plan.proposal import Policy, Precondition, ProposedAction


def for_owner(proposal: ProposedAction, policy: Policy) -> ProposedAction:
    """Return a proposal with commands that the owner of its cluster does not revert."""
    if policy.owner is None:
        return proposal
    if policy.owner.kind is not ClusterOwner.STRIMZI:
        return declared_too(proposal, policy.owner.kind)
    rewrite = REWRITES.get(proposal.kind)
    return of_operations(proposal if rewrite is None else rewrite(proposal, policy), policy)


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
