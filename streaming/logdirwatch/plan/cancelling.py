"""How moves that run are cancelled, and what becomes of their limits."""

from collections.abc import Sequence

from logdirwatch.plan.assignment import Assignment, to_json
from logdirwatch.plan.commands import reassignment_lines, write_file
from logdirwatch.plan.config_commands import cancel
from logdirwatch.plan.draft import Policy
from logdirwatch.plan.facts import Facts
from logdirwatch.plan.throttles import clear_commands, limits_on


def cancel_commands(
    moves: Sequence[Assignment], name: str, facts: Facts, policy: Policy, *, others_run: bool
) -> tuple[str, ...]:
    """Return the commands that take moves back, with their limits unless other moves need these.

    The tool takes away the limits of all brokers that it is told of, after the moves, and fails on one that is away:
    only a broker itself changes its configuration (Kafka 4.3.1 ``KafkaAdminClient``, KAFKA-13392). Then the limits that
    are known of the living ones go by themselves.
    """
    all_answer = all(facts.is_alive(broker) for move in moves for broker in move.replicas)
    write = write_file(name, reassignment_lines(to_json(moves)))
    run = cancel(policy.tools, name, keeps_throttles=others_run or not all_answer)
    if others_run or all_answer:
        return write, run
    living = {broker for move in moves for broker in facts.partitions[move.key].replicas if facts.is_alive(broker)}
    topics = [facts.topics[topic] for topic in sorted({move.topic for move in moves})]
    return write, run, *clear_commands(limits_on(living, topics, facts), policy.tools)
