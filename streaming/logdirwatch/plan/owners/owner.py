"""Adapt a proposal to the owner of its cluster; most need no change."""

from logdirwatch.model.vocabulary import ClusterOwner
from logdirwatch.plan.owners.declared import declared_too
from logdirwatch.plan.owners.strimzi.rewrites import REWRITES
from logdirwatch.plan.proposal import Policy, ProposedAction


def for_owner(proposal: ProposedAction, policy: Policy) -> ProposedAction:
    """Return a proposal with commands that the owner of its cluster does not revert."""
    if policy.owner is None:
        return proposal
    if policy.owner.kind is not ClusterOwner.STRIMZI:
        return declared_too(proposal, policy.owner.kind)
    rewrite = REWRITES.get(proposal.kind)
    return proposal if rewrite is None else rewrite(proposal, policy)
