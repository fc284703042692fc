"""Whether a broker halts when a directory fails: the metadata log's, the last one, or any during a migration.

KIP-112, KIP-858; Kafka 4.3.1 ``LogManager.handleLogDirFailure``; 3.9.1 ``ReplicaManager`` for the migration.
"""

from collections.abc import Sequence
from dataclasses import replace

from logdirwatch.model.capabilities import leaves_zookeeper
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.proposal import ProposedAction


def why_it_halts(directory: LogDir, snapshot: ClusterSnapshot) -> str | None:
    """Return why a broker halts when a directory goes offline; None if it does not, or that is unknown."""
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
    """Return proposals of which the first says whether the broker halts when the directory is full.

    People read the first.
    """
    why = why_it_halts(directory, snapshot)
    if why is None:
        return list(proposals)
    told = f"; broker {directory.broker} halts when {directory.path} is full: {why}"
    return [*(replace(proposal, reason=proposal.reason + told) for proposal in proposals[:1]), *proposals[1:]]
