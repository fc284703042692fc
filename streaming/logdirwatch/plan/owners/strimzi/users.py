"""Permissions: the user operator sets the ACLs of a user to those of its KafkaUser."""

from dataclasses import replace

from logdirwatch.plan.commands.kafka_tools import note
from logdirwatch.plan.proposal import Policy, ProposedAction


def granted(proposal: ProposedAction, _policy: Policy) -> ProposedAction:
    """Return the collector's permissions as those of its KafkaUser; file ownership on disk is not Strimzi's."""
    if proposal.target["log_dir"] is not None:
        return proposal
    first = note(
        "Give the KafkaUser of the collector the acls of conf/strimzi/monitored.yaml: the user operator deletes "
        "others. The commands are for a user without a KafkaUser."
    )
    return replace(proposal, commands=(first, *proposal.commands))
