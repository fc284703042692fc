"""Whether a broker halts when a directory fails: the one with its metadata log, the last, or any during a migration.

KIP-112, KIP-858; Kafka 4.3.1 ``LogManager.handleLogDirFailure``; 3.9.1 ``ReplicaManager`` for the migration.
"""

from collections.abc import Sequence
from dataclasses import replace

from logdirwatch.model.capabilities import leaves_zookeeper
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.proposal import ProposedAction


def why_it_halts(directory: LogDir, snapshot: ClusterSnapshot) -> str | None:
    """Return why a directory's broker halts when it goes offline; None where it would go on, or nobody knows."""
    if directory.is_metadata_dir and not snapshot.is_zookeeper(directory.broker):
        return "it holds the metadata log"
    others = [d for d in snapshot.directories_of.get(directory.broker, ()) if d.path != directory.path]
    if not any(other.is_serving for other in others):
        return "no other log directory of it serves"
    broker = snapshot.brokers.get(directory.broker)
    known = (one.is_metadata_dir for one in (directory, *others))
    is_leaving = broker is not None and leaves_zookeeper(broker.metadata_mode, known)
    return "it migrates from ZooKeeper to KRaft" if is_leaving else None


def with_halt_notice(
    proposals: Sequence[ProposedAction], directory: LogDir, snapshot: ClusterSnapshot
) -> list[ProposedAction]:
    """Return proposals whose first one, which people read, says whether the broker halts when the directory is full."""
    why = why_it_halts(directory, snapshot)
    if why is None:
        return list(proposals)
    told = f"; broker {directory.broker} halts when {directory.path} is full: {why}"
    return [*(replace(proposal, reason=proposal.reason + told) for proposal in proposals[:1]), *proposals[1:]]
