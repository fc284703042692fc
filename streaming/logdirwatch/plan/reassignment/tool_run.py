"""Running a reassignment with Kafka's tool: its file name, preconditions, and undo."""

from collections.abc import Iterable, Mapping
from typing import Any

from logdirwatch.model.identity import identity
from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.cluster.assignment import Assignment, from_json
from logdirwatch.plan.cluster.cordons import CORDON, KEY, at_least, others_cordoned
from logdirwatch.plan.cluster.layout import LogDirId
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.commands.kafka_tools import ADDITIONAL, REASSIGN, note, set_broker_list
from logdirwatch.plan.commands.throttles import Limits
from logdirwatch.plan.proposal import NAMED, Policy, Precondition
from logdirwatch.text.words import some_of


def file_name(kind: ActionKind, place: LogDirId) -> str:
    """Return the file name of a reassignment, in the working directory; the same action always gets the same name."""
    return f"logdirwatch-{kind}-{identity(str(place[0]), place[1])[:8]}.json"


def nothing_runs(snapshot: ClusterSnapshot) -> Precondition:
    """Return the precondition for it: Kafka's tool refuses a second reassignment without ``--additional``."""
    running = snapshot.layout.reassigned
    if running:
        text = f"{some_of(running, NAMED)} is being reassigned: this is carried out in addition ({ADDITIONAL})"
        return Precondition("no_reassignment_runs", text, True)
    return Precondition("no_reassignment_runs", "no other reassignment is running; the tool refuses otherwise", None)


def refused_by_tool(plan: Iterable[Assignment], snapshot: ClusterSnapshot) -> tuple[str, ...]:
    """Return the step instead of commands that Kafka's tool refuses; empty if it takes the plan.

    The tool refuses every plan that names a broker which is not alive (4.3.1 ``verifyBrokerIds``), also where Kafka
    itself needs that broker for nothing, and ``apply`` does not name it.
    """
    away = sorted({broker for one in plan for broker in one.replicas if not snapshot.is_alive(broker)})
    if not away:
        return ()
    named = some_of((f"broker {broker}" for broker in away), NAMED)
    return (note(f"Carry it out with `logdirwatch apply`: {REASSIGN} refuses to name {named}, not known to be alive."),)


def destinations_stay(brokers: Iterable[int], snapshot: ClusterSnapshot) -> tuple[Precondition, ...]:
    """Say which brokers that get replicas are about to be stopped: their copies would stand still meanwhile."""
    leaving = sorted(broker for broker in set(brokers) if snapshot.is_leaving(broker))
    if not leaving:
        return ()
    text = (
        f"broker {some_of(leaving)} stays up until the copies end: not so, another action or its planned maintenance "
        "stops it; begin once it is back"
    )
    return (Precondition("destinations_stay", text, holds=False),)


def no_retention_cut() -> Precondition:
    """Return the precondition that no retention cut is pending: retention does not run on a moving replica."""
    return Precondition("no_retention_cut", "no retention cut of a moved topic is waiting for its effect", None)


def undo_of_reassignment(
    before: Mapping[str, Any],
    name: str,
    policy: Policy,
    limits: Limits,
    back: Limits,
    snapshot: ClusterSnapshot,
) -> dict[str, Any]:
    """Return the undo of a reassignment: cancel it while it runs, or move the replicas back.

    ``limits`` are the throttles that the reassignment set, which end with it; ``back`` are those of the undo.
    """
    tools, beside = policy.tools, bool(snapshot.layout.reassigned)
    if refused := refused_by_tool(from_json(before), snapshot):
        return {"while_running": list(refused), "commands": list(refused), "reassignment": before}
    return {
        "while_running": [tools.cancel(name), *tools.clear_limits(limits, name)],
        "commands": [
            *_let_in(before, snapshot, policy),
            *tools.reassign(before, f"undo-{name}", limits=back, beside=beside),
        ],
        "reassignment": before,
    }


def _let_in(before: Mapping[str, Any], snapshot: ClusterSnapshot, policy: Policy) -> list[str]:
    """Return how to let replicas back into the directories that they came from.

    Kafka refuses a move into a cordoned directory (4.3.1 ``ReplicaManager.alterReplicaLogDirs``), and a filling one is
    cordoned together with the move that empties it.
    """
    if at_least(snapshot.metadata_version, CORDON) is False:
        return []
    places = sorted({place for assignment in from_json(before) for place in assignment.chosen})
    lines = []
    for broker, path in places:
        directory = snapshot.directories.get((broker, path))
        if directory is not None and directory.is_cordoned:
            lines.append(set_broker_list(policy.tools, broker, KEY, others_cordoned(directory, snapshot)))
        elif directory is not None:
            lines.append(
                note(
                    f"If {path} of broker {broker} is cordoned by then, uncordon it first: Kafka moves nothing into it."
                )
            )
    return lines
