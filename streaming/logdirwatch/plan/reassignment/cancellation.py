"""How moves that run are cancelled; the limits that somebody set for them stay until who set them takes them away."""

from collections.abc import Sequence

from logdirwatch.plan.cluster.assignment import Assignment, to_json
from logdirwatch.plan.commands.kafka_tools import reassignment_lines, write_file
from logdirwatch.plan.proposal import Policy

LIMITS_STAY = "limits that were set for them stay: throttle_left names them once nothing moves any more"


def cancel_commands(moves: Sequence[Assignment], name: str, policy: Policy) -> tuple[str, ...]:
    """Return the commands that take moves back.

    Whose limits there are nobody can tell: without ``--preserve-throttles`` the tool takes away those of every broker
    (Kafka 4.3.1 ``ReassignPartitionsCommand.cancelAssignment``), and fails on one that is away (KAFKA-13392).
    """
    return write_file(name, reassignment_lines(to_json(moves))), policy.tools.cancel(name)
