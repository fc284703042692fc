"""Adapt a proposal to the owner of its cluster; most need no change.

In clusters declared in a repository a change is made directly, and must be made there too. Strimzi reverts changes that
bypass its resources.
"""

from dataclasses import replace

from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind, ClusterOwner
from logdirwatch.plan.commands.kafka_tools import note
from logdirwatch.plan.owners.strimzi import REWRITES
from logdirwatch.plan.proposal import Policy, Precondition, ProposedAction


def for_owner(proposal: ProposedAction, policy: Policy) -> ProposedAction:
    """Return a proposal with commands that the owner of its cluster does not revert."""
    if policy.owner is None:
        return proposal
    if policy.owner.kind is not ClusterOwner.STRIMZI:
        return declared_too(proposal, policy.owner.kind)
    rewrite = REWRITES.get(proposal.kind)
    return proposal if rewrite is None else rewrite(proposal, policy)


DECLARED = frozenset(
    {
        ActionKind.CORDON_LOG_DIR,
        ActionKind.UNCORDON_LOG_DIR,
        ActionKind.LOWER_RETENTION,
        ActionKind.RESTORE_RETENTION,
        ActionKind.THROTTLE_PRODUCERS,
        ActionKind.EXPAND_DISK,
        ActionKind.ADD_LOG_DIR,
        ActionKind.GRANT_PERMISSION,
        ActionKind.RAISE_LIMIT,
    }
)
"""The kinds that change what a repository may declare: configurations, quotas, topics, volumes, permissions, limits."""

_WHERE = {
    ClusterOwner.GITOPS: "the Git repository that the cluster is applied from: its next sync",
    ClusterOwner.TERRAFORM: "the cluster's Terraform configuration: its next apply",
}


def declared_too(proposal: ProposedAction, owner: ClusterOwner) -> ProposedAction:
    """Return a proposal with the note that the change must also be made where it is declared."""
    if proposal.kind not in DECLARED:
        return proposal
    text = f"the same change is made in {_WHERE[owner]} reverts it otherwise"
    return replace(
        proposal,
        commands=(*proposal.commands, note(f"Make the same change in {_WHERE[owner]} reverts it otherwise.")),
        preconditions=(*proposal.preconditions, Precondition("declared_too", text, None)),
    )


REVERTED = frozenset({ActionKind.LOWER_RETENTION, ActionKind.RESTORE_RETENTION, ActionKind.CORDON_LOG_DIR})
"""The kinds whose direct change an operator reverts."""


def why_reverted(action: ActionRecord, owner: ClusterOwner | None) -> str | None:
    """Return why an action planned before Strimzi managed the cluster must not be carried out; None if it may."""
    if owner is not ClusterOwner.STRIMZI or action.owner is owner or action.kind not in REVERTED:
        return None
    return "Strimzi reverts it: it was planned before the cluster was known to be Strimzi's"
