"""How a reassignment is run with Kafka's tool: the name of its file, what must hold, and the way back."""

from collections.abc import Mapping
from typing import Any

from logdirwatch.model.identity import identity
from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.cluster.layout import LogDirId
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.commands.kafka_tools import ADDITIONAL
from logdirwatch.plan.commands.throttles import Limits
from logdirwatch.plan.proposal import Policy, Precondition
from logdirwatch.text.words import some_of

_NAMED = 3


def file_name(kind: ActionKind, place: LogDirId) -> str:
    """Return the name of a reassignment's file: the same for the same action, in the working directory."""
    return f"logdirwatch-{kind}-{identity(str(place[0]), place[1])[:8]}.json"


def others_run(snapshot: ClusterSnapshot) -> tuple[str, ...]:
    """Return the partitions that are seen to be reassigned: Kafka's tool begins another one only when it is told so."""
    return snapshot.layout.reassigned


def nothing_runs(snapshot: ClusterSnapshot) -> Precondition:
    """Kafka's tool refuses a second reassignment that is not said to be in addition."""
    running = others_run(snapshot)
    if running:
        text = f"{some_of(running, _NAMED)} is being reassigned: this is carried out in addition ({ADDITIONAL})"
        return Precondition("no_reassignment_runs", text, True)
    return Precondition("no_reassignment_runs", "no other reassignment is running; the tool refuses otherwise", None)


def no_retention_cut() -> Precondition:
    """Retention of a moving replica stands still until it has moved."""
    return Precondition("no_retention_cut", "no retention cut of a moved topic is waiting for its effect", None)


def undo_of_reassignment(
    before: Mapping[str, Any],
    name: str,
    policy: Policy,
    limits: Limits,
    back: Limits,
    *,
    beside: bool,
) -> dict[str, Any]:
    """Return the undo of a reassignment: stop it while it runs, or put the replicas back where they were.

    ``limits`` are those that the reassignment set; they end with it. ``back`` are those of the way back. ``beside``:
    others run, beside which Kafka's tool begins one only when it is told so.
    """
    tools = policy.tools
    return {
        "while_running": [tools.cancel(name), *tools.clear_limits(limits, name)],
        "commands": tools.reassign(before, f"undo-{name}", limits=back, beside=beside),
        "reassignment": before,
    }
