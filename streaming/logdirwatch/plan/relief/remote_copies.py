"""Directories filled by tiered topics because segments are not copied to remote storage (KIP-405).

Local retention keeps segments that wait for their copy, so no limit frees them: the connection to the remote storage
must be restored.
"""

from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.capacity.timing import place_target
from logdirwatch.plan.cluster.layout import Topic
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.commands.kafka_tools import note
from logdirwatch.plan.proposal import ProposedAction, effect
from logdirwatch.plan.retention.limits import is_copy_delayed
from logdirwatch.text.units import human_bytes
from logdirwatch.text.words import some_of

STEP = "remote_copies"
MOSTLY = 0.5
_NAMED = 3


def remote_copy_drafts(source: LogDir, snapshot: ClusterSnapshot) -> list[ProposedAction]:
    """Return the check of the copies to remote storage if most of a tiered topic waits for them; else empty.

    A topic whose copies are delayed on purpose waits without a fault (KIP-1241).
    """
    names = {replica.topic for replica in snapshot.replicas_in(source.place)}
    topics = (snapshot.topics[name] for name in names if name in snapshot.topics)
    waiting = sorted(
        (topic for topic in topics if topic.is_tiered and not is_copy_delayed(topic) and _waits(topic, snapshot)),
        key=lambda topic: (-(topic.remote_copy_lag_bytes or 0), topic.name),
    )
    if not waiting:
        return []
    waits = human_bytes(sum(topic.remote_copy_lag_bytes or 0 for topic in waiting))
    named = some_of((topic.name for topic in waiting), _NAMED)
    return [
        ProposedAction(
            kind=ActionKind.INVESTIGATE,
            target={**place_target(source), "step": STEP},
            reason=f"find out why segments in {source.path} of broker {source.broker} are not copied to remote "
            f"storage: {waits} of {named} wait for their copy, and stay there whatever the retention is",
            expected=effect(),
            commands=(
                note(
                    f"On the hosts of the leaders of {named}: the lines of RemoteLogManager in the broker's log, the "
                    "storage itself, its credentials and the way there, remote.log.manager.copy.max.bytes.per.second."
                ),
            ),
        )
    ]


def _waits(topic: Topic, snapshot: ClusterSnapshot) -> bool:
    """Tell whether most of a topic's local bytes wait for their copy; one replica of each partition counts."""
    local = sum(snapshot.layout.size_of(partition.key) or 0 for partition in topic.partitions)
    return (topic.remote_copy_lag_bytes or 0) > MOSTLY * local > 0
