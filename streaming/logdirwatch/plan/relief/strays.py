"""Strays: replicas on a broker to which the metadata does not assign them.

A cancelled or completed reassignment leaves one for a moment, or permanently (KAFKA-13972); so does a topic deleted
meanwhile. No reassignment or retention reaches them. They go when the broker deletes them or, after a restart that
renames their folders to ``-stray`` (Kafka 4.3.1 ``LogManager.loadLog``), by hand.
"""

from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.availability.fault_tolerance import complete_copies
from logdirwatch.plan.capacity.timing import place_target
from logdirwatch.plan.cluster.layout import Partition, is_number
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.commands.kafka_tools import LOG_DIRS, REASSIGN, TOPICS, note
from logdirwatch.plan.proposal import Policy, Precondition, ProposedAction, effect
from logdirwatch.text.units import human_bytes
from logdirwatch.text.words import some_of

STEP = "strays"
_NAMED = 3


def stray_bytes(directory: LogDir, snapshot: ClusterSnapshot) -> int:
    """Return the bytes of strays in a directory, which need not be moved or cut."""
    return snapshot.on_disk_bytes(directory.place, sum(snapshot.strays_in(directory.place).values()))


def propose_stray_check(directory: LogDir, snapshot: ClusterSnapshot, policy: Policy) -> list[ProposedAction]:
    """Return the check of the strays of a directory, and how to remove them; empty if they take no bytes."""
    found = {label: size for label, size in snapshot.strays_in(directory.place).items() if size}
    if not found:
        return []
    tools, broker, path = policy.tools, directory.broker, directory.path
    labels = sorted(found, key=lambda label: (-found[label], label))
    told = some_of([f"{label}, {human_bytes(found[label])}, {_whose(label, snapshot)}" for label in labels], _NAMED)
    frees = stray_bytes(directory, snapshot)
    return [
        ProposedAction(
            kind=ActionKind.INVESTIGATE,
            target={**place_target(directory), "step": STEP},
            reason=f"stray copies in {path} of broker {broker} ({told}): {human_bytes(frees)} that no move and no "
            "retention frees. Kafka deletes the remains of a move within minutes; remove those that stay after a check",
            expected=effect(
                frees_bytes=frees, on=[{"broker": broker, "log_dir": path, "bytes": frees}], strays=dict(found)
            ),
            preconditions=(_copies_elsewhere(labels, snapshot),),
            commands=(
                tools.call(REASSIGN, "--list"),
                tools.call(LOG_DIRS, "--describe", "--broker-list", str(broker)),
                *(tools.call(TOPICS, "--describe", "--topic", name) for name in _topics(labels, snapshot)[:_NAMED]),
                note(
                    f"Still listed in {path} after some minutes, and no move of them runs: restart broker {broker}, "
                    "which renames their folders to -stray, and remove these. Never remove one that it still lists."
                ),
            ),
            undo={"text": "a removed copy cannot be brought back; the assigned replicas are not touched"},
        )
    ]


def _whose(label: str, snapshot: ClusterSnapshot) -> str:
    partition = _partition(label, snapshot)
    if partition is None:
        return "of a topic that the metadata does not know"
    return f"assigned to broker {', '.join(map(str, partition.replicas))}"


def _copies_elsewhere(labels: list[str], snapshot: ClusterSnapshot) -> Precondition:
    """Say whether the assigned replicas are healthy: a stray may be the last copy of what they lost."""
    text = "each of them has its assigned replicas in sync on other brokers"
    known = [partition for label in labels if (partition := _partition(label, snapshot)) is not None]
    bad = [partition.label for partition in known if not complete_copies(partition, snapshot)]
    if bad:
        return Precondition("copies_elsewhere", f"{text}: not so for {some_of(bad)}, keep the stray", holds=False)
    return Precondition("copies_elsewhere", text, True if len(known) == len(labels) else None)


def _partition(label: str, snapshot: ClusterSnapshot) -> Partition | None:
    topic, _, number = label.rpartition("-")
    return snapshot.partitions.get((topic, int(number))) if is_number(number) else None


def _topics(labels: list[str], snapshot: ClusterSnapshot) -> list[str]:
    return list(dict.fromkeys(name for label in labels if (name := label.rpartition("-")[0]) in snapshot.topics))
