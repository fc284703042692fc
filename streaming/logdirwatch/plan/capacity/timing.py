"""What actions of several kinds are made of: times, preconditions, the way back of a reassignment."""

from collections.abc import Mapping
from typing import Any

from logdirwatch.model.identity import identity
from logdirwatch.model.vocabulary import COPY_THREADS, ActionKind
from logdirwatch.plan.cluster.snapshot import Directory, Facts, Place
from logdirwatch.plan.commands.kafka_tools import ADDITIONAL
from logdirwatch.plan.commands.throttles import Limits
from logdirwatch.plan.proposal import Policy, Precondition
from logdirwatch.report.units import human_ms
from logdirwatch.report.words import some_of

DELETE_DELAY_MS = 60_000
"""Kafka's default of ``log.segment.delete.delay.ms`` (``ServerLogConfigs``), used where nobody could read the value."""

_NAMED = 3
HINDERING = frozenset({"log_dir_offline", "log_dir_unknown", "slower_than_writes", "retention_waits"})
"""The vetoes of a move that are worth saying, as a move is what people try first."""


def place_target(directory: Directory) -> dict[str, Any]:
    """Return the target of an action that is about one directory."""
    return {"broker": directory.broker, "log_dir": directory.path}


def file_name(kind: ActionKind, place: Place) -> str:
    """Return the name of a reassignment's file: the same for the same action, in the working directory."""
    return f"logdirwatch-{kind}-{identity(str(place[0]), place[1])[:8]}.json"


def time_to_full_ms(directory: Directory, freed_bytes: int = 0) -> int | None:
    """Return how long the directory lasts at its present growth once ``freed_bytes`` are there.

    What steps under way free before it is full counts for it, what copies under way still bring counts against it.
    """
    growth = directory.growth_bytes_per_s
    if growth is None or growth <= 0 or directory.usable_bytes is None:
        return None
    lasting = directory.usable_bytes - (directory.incoming_bytes or 0) + directory.relief_bytes + freed_bytes
    return max(0, int(lasting / growth * 1000))


def delete_delay_ms(broker: int, facts: Facts) -> int:
    """Return how long a broker keeps deleted files."""
    found = facts.brokers[broker].configs.get("log.segment.delete.delay.ms") if broker in facts.brokers else None
    return DELETE_DELAY_MS if found is None else int(found)


def copies_at_once(broker: int, facts: Facts) -> int:
    """Return how many copies between its directories a broker runs at once; Kafka's default is one a directory."""
    configured = facts.brokers[broker].configs.get(COPY_THREADS) if broker in facts.brokers else None
    if configured is not None and configured.isdigit():
        return max(1, int(configured))
    return max(1, len(facts.directories_of.get(broker, ())))


def in_time(source: Directory, needs_ms: int) -> Precondition:
    """Whether the action takes effect before the directory is full."""
    left = time_to_full_ms(source)
    left_text = "an unknown time" if left is None else human_ms(left)
    text = f"takes effect in {human_ms(needs_ms)}; {source.path} is full in {left_text}"
    return Precondition("in_time", text, None if left is None else left > needs_ms)


def others_run(facts: Facts) -> tuple[str, ...]:
    """Return the partitions that are seen to be reassigned: Kafka's tool begins another one only when it is told so."""
    return facts.layout.reassigned


def nothing_runs(facts: Facts) -> Precondition:
    """Kafka's tool refuses a second reassignment that is not said to be in addition."""
    running = others_run(facts)
    if running:
        text = f"{some_of(running, _NAMED)} is being reassigned: this is carried out in addition ({ADDITIONAL})"
        return Precondition("no_reassignment_runs", text, True)
    return Precondition("no_reassignment_runs", "no other reassignment is running; the tool refuses otherwise", None)


def no_retention_cut() -> Precondition:
    """Retention of a moving replica stands still until it has moved."""
    return Precondition("no_retention_cut", "no retention cut of a moved topic is waiting for its effect", None)


def way_back(
    before: Mapping[str, Any],
    name: str,
    policy: Policy,
    limits: Limits,
    back: Limits,
) -> dict[str, Any]:
    """Return the undo of a reassignment: stop it while it runs, or put the replicas back where they were.

    ``limits`` are those that the reassignment set; they end with it. ``back`` are those of the way back.
    """
    tools = policy.tools
    return {
        "while_running": [tools.cancel(name), *tools.clear_limits(limits, name)],
        "commands": tools.reassign(before, f"undo-{name}", limits=back),
        "reassignment": before,
    }


def owner_of(topic: str, policy: Policy) -> str:
    """Return whom to ask about a topic, as a text."""
    owner = policy.limits.topic_rule(topic).owner
    return f"the owner of {topic}" if owner is None else f"{owner}, the owner of {topic},"
