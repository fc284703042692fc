"""Moves: Kafka's own calls, which Strimzi leaves alone; not so the lists of throttled replicas of topics."""

from dataclasses import replace

from logdirwatch.plan.commands.operations import limits_of
from logdirwatch.plan.proposal import Policy, Precondition, ProposedAction


def with_limits_known(proposal: ProposedAction, policy: Policy) -> ProposedAction:
    """Return moves with what must hold for their throttles to last.

    The topic operator deletes these lists from topics that it manages, unless Cruise Control is deployed (Strimzi 1.2
    ``BatchingTopicController``). Rates of brokers stay: they are none of the keys that the operator compares.
    """
    del policy
    if not any(limits_of(operation.args).topics for operation in proposal.operations):
        return proposal
    text = (
        "the throttles last: the cluster has Cruise Control, or its topics have no KafkaTopic; otherwise Strimzi "
        "deletes the lists of throttled replicas within minutes, and the copies run without a limit"
    )
    return replace(proposal, preconditions=(*proposal.preconditions, Precondition("throttles_last", text, None)))
