"""What to do about one of Kafka's own small files that cannot be parsed; the disk below it is sound.

Kafka parses them at each start and gives up the whole directory for one, so that a restart alone changes nothing (seen
on 4.3.1; ``CheckpointFile``, ``PartitionMetadataFile``, ``MetaPropertiesEnsemble``).
"""

import posixpath
from collections.abc import Mapping

from logdirwatch.parse.broker_log.causes import damaged_file

_ALONE = "a restart alone fails at it again"
_OF_REPLICA = "or, once another replica is in sync, move the folder that it lies in out of the log directory"
_WITHOUT_IT: Mapping[str, str] = {
    "leader-epoch-checkpoint": f"Kafka writes a new one; {_OF_REPLICA}: the replica is copied again",
    # A broker in KRaft mode refuses a folder without it (LogManager: "does not have a topic ID").
    "partition.metadata": "with its folder, once another replica is in sync: the replica is copied again; with none in "
    "sync write a new one (version: 0, topic_id: as kafka-topics.sh --describe names it)",
    "recovery-point-offset-checkpoint": "Kafka then recovers every log of the directory, which takes long",
    "replication-offset-checkpoint": "Kafka then learns the high watermarks again from the replicas",
    "log-start-offset-checkpoint": "records that were deleted by kafka-delete-records.sh may then appear again",
    "cleaner-offset-checkpoint": "the log cleaner then begins every log at its start",
    "meta.properties": "then run kafka-storage.sh format --ignore-formatted with the cluster's id, which writes it "
    "again and deletes nothing; with ZooKeeper the start writes it",
}
LOOK = "ls -la FILE; head -c 300 FILE | od -c, FILE being the one that the log names: empty, or full of zeros?"


def remedy(said: str) -> str:
    """Return what to do, by the file that a line of the broker's log names."""
    file = damaged_file(said)
    if file is None:
        return f"move the damaged file that its log names aside, then restart the broker: {_ALONE}"
    without = _WITHOUT_IT.get(posixpath.basename(file), _OF_REPLICA)
    return f"move the damaged file {file} aside, then restart the broker ({without}): {_ALONE}, and its disk is fine"
