"""Replicas past their own limit in bytes on every broker: the limit is new, or nothing deletes them.

Where siblings show that one broker alone does not delete, ``restart_for_retention`` answers.
"""

from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.capacity.timing import place_target
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.commands.configs import describe_configs
from logdirwatch.plan.commands.kafka_tools import note
from logdirwatch.plan.proposal import Policy, ProposedAction, effect
from logdirwatch.plan.retention.cut import effective_after_ms
from logdirwatch.plan.retention.overdue import overdue, past_limit_bytes
from logdirwatch.text.units import human_bytes, human_ms
from logdirwatch.text.words import some_of

STEP = "retention"
_NAMED = 3


def propose_retention_check(source: LogDir, snapshot: ClusterSnapshot, policy: Policy) -> list[ProposedAction]:
    """Return the check of the retention if replicas are past their limit, and no sibling tells why; else empty."""
    past = {replica: past_limit_bytes(replica, snapshot) for replica in snapshot.replicas_in(source.place)}
    found = sorted((one for one in past if past[one] and not overdue(one, snapshot)), key=lambda one: -past[one])
    if not found:
        return []
    broker, topic = source.broker, snapshot.topics[found[0].topic]
    held = [f"{r.topic}-{r.partition} holds {human_bytes(past[r])} more" for r in found]
    frees = human_bytes(snapshot.on_disk_bytes(source.place, sum(past[one] for one in found)))
    return [
        ProposedAction(
            kind=ActionKind.INVESTIGATE,
            target={**place_target(source), "step": STEP},
            reason=f"check whether broker {broker} deletes old segments: {some_of(held, _NAMED)} than its "
            f"retention.bytes allows. If the limit was lowered just now, {frees} come free within "
            f"{human_ms(effective_after_ms(topic, snapshot))}; if not, deletion is stuck, and a lower limit frees "
            "nothing",
            expected=effect(),
            commands=(
                describe_configs(policy.tools, "topics", topic.name, "--all"),
                note(
                    f"On broker {broker}'s host: errors of kafka-log-retention, kafka-delete-logs and LogManager in "
                    "its log."
                ),
            ),
        )
    ]
