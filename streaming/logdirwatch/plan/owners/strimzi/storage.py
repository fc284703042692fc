"""More space: volumes are declared once for all brokers of a node pool."""

from dataclasses import replace

from logdirwatch.plan.commands.kafka_tools import note
from logdirwatch.plan.owners.strimzi import patches
from logdirwatch.plan.owners.strimzi.kubectl import kubectl_of
from logdirwatch.plan.owners.strimzi.rebalances import remove_disks
from logdirwatch.plan.owners.strimzi.volumes import volume_of
from logdirwatch.plan.proposal import Policy, Precondition, ProposedAction

POOL = '"${pool:?no node pool of the broker was found}"'
_ALL = "every broker of its node pool gets the same"


def expanded(proposal: ProposedAction, policy: Policy) -> ProposedAction:
    """Return a larger volume as a larger size in the KafkaNodePool."""
    broker, volume = proposal.target["broker"], volume_of(proposal.target["log_dir"])
    if volume is None:
        return replace(proposal, commands=(note("Set the size of the volume in its KafkaNodePool."),))
    kubectl = kubectl_of(policy)
    change = patches.grown(volume.id, proposal.expected["total_bytes"])
    return replace(
        proposal,
        reason=f"{proposal.reason}; {_ALL}",
        commands=(kubectl.pool(broker), kubectl.patch("kafkanodepool", POOL, "json", change)),
        preconditions=(
            *proposal.preconditions,
            Precondition("storage_class_expands", "the volume's storage class has allowVolumeExpansion: true", None),
        ),
    )


def added(proposal: ProposedAction, policy: Policy) -> ProposedAction:
    """Return one more log directory as one more volume in the KafkaNodePool; the operator restarts its brokers."""
    broker = proposal.target["broker"]
    known = [volume_of(path) for path in proposal.expected["log_dirs_before"]]
    ids = [volume.id for volume in known if volume is not None and volume.id is not None]
    if not ids:
        how = note("Add a volume to the storage of its KafkaNodePool, which must be of type jbod.")
        return replace(proposal, commands=(how,))
    kubectl, new = kubectl_of(policy), max(ids) + 1
    return replace(
        proposal,
        reason=f"{proposal.reason}; {_ALL}, and Strimzi restarts them one after the other",
        commands=(
            kubectl.pool(broker),
            kubectl.patch("kafkanodepool", POOL, "json", patches.added(new, proposal.expected["least_bytes"])),
        ),
        undo={
            "text": f"empty volume {new} of every broker of the pool, with Cruise Control by a KafkaRebalance like "
            "this one, then take it out of the KafkaNodePool",
            "commands": remove_disks(broker, new, policy),
        },
    )
