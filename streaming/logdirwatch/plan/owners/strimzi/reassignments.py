"""Moves: Strimzi leaves Kafka's reassignments alone, but not the topics' lists of throttled replicas."""

from dataclasses import replace

from logdirwatch.plan.commands.operations import limits_of
from logdirwatch.plan.proposal import Policy, Precondition, ProposedAction


def with_limits_known(proposal: ProposedAction, _policy: Policy) -> ProposedAction:
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
