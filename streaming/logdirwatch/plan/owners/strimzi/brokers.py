"""Restarts and new disks: the operator restarts pods and creates volumes.

People do not stop, format or start brokers.
"""

from dataclasses import replace

from logdirwatch.plan.actions.brokers.restart_broker import WITHOUT_DIRECTORY, after_start
from logdirwatch.plan.commands.kafka_tools import QUORUM, TOPICS, note
from logdirwatch.plan.owners.strimzi.kubectl import DELETE_POD_AND_PVC, MANUAL_ROLLING_UPDATE, Kubectl, kubectl_of
from logdirwatch.plan.owners.strimzi.volumes import Volume, volume_of
from logdirwatch.plan.proposal import Policy, ProposedAction, Veto

POD = '"${pod:?no pod of the broker was found}"'


def restarted(proposal: ProposedAction, policy: Policy) -> ProposedAction:
    """Return a restart as an annotation of the pod; a restart without a directory is impossible.

    Steps on the host while the broker is stopped stay as they are.
    """
    step = proposal.target.get("step")
    if step == WITHOUT_DIRECTORY:
        reason = "Strimzi gives every broker of a node pool the same volumes: one cannot be left out of one broker"
        return replace(proposal, vetoes=(*proposal.vetoes, Veto("owner_reverts", reason)))
    if step is not None:
        return proposal
    kubectl, broker = kubectl_of(policy), proposal.target["broker"]
    return replace(
        proposal,
        commands=(
            *_looks(policy),
            kubectl.pod(broker),
            kubectl.run("annotate", POD, MANUAL_ROLLING_UPDATE),
            note(
                "The operator restarts it with its next reconciliation, every two minutes by default; while that would "
                "take partitions under min.insync.replicas, it waits."
            ),
            *after_start(policy),
        ),
    )


def replaced(proposal: ProposedAction, policy: Policy) -> ProposedAction:
    """Return a disk replacement as a new claim for the volume."""
    kubectl, broker, volume = kubectl_of(policy), proposal.target["broker"], volume_of(proposal.target["log_dir"])
    if volume is None:
        how = [
            note("Delete the PersistentVolumeClaim of the volume and the broker's pod: the operator makes both again.")
        ]
    else:
        how = _only_claim(kubectl) if volume.id is None else _one_of_several(kubectl, volume)
    return replace(proposal, commands=(*_looks(policy), kubectl.pod(broker), *how, *after_start(policy)))


def _looks(policy: Policy) -> list[str]:
    return [
        policy.tools.call(QUORUM, "describe", "--status"),
        policy.tools.call(TOPICS, "--describe", "--at-min-isr-partitions"),
    ]


def _only_claim(kubectl: Kubectl) -> list[str]:
    return [kubectl.run("annotate", POD, DELETE_POD_AND_PVC)]


def _one_of_several(kubectl: Kubectl, volume: Volume) -> list[str]:
    """Return how to recreate one claim; the operator's annotation would delete those of healthy disks too."""
    claim = f'"{volume.claim("")}${{pod#pod/}}"'
    return [
        kubectl.run("delete", "pvc", claim, "--wait=false"),
        kubectl.run("delete", POD),
        note(
            "The claim is gone once its pod is; the operator makes both again with its next reconciliation. Do not use "
            "strimzi.io/delete-pod-and-pvc here: it deletes the broker's other volumes too."
        ),
    ]
