"""Clusters declared in a repository: a change is made directly, and must be made there too."""

from dataclasses import replace

from logdirwatch.model.vocabulary import ActionKind, ClusterOwner
from logdirwatch.plan.commands.kafka_tools import note
from logdirwatch.plan.proposal import Precondition, ProposedAction

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
