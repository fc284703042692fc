"""Adapt a proposal to the owner of its cluster; most need no change.

In clusters declared in a repository a change is made directly, and must be made there too. Strimzi reverts changes that
bypass its resources.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from logdirwatch.model.actions.operations import Inverse, Operation
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind, ClusterOwner, OperationKind
from logdirwatch.plan.action_types import ACTION_TYPES
from logdirwatch.plan.actions.brokers.restart_broker import WITHOUT_DIRECTORY, after_start
from logdirwatch.plan.commands.kafka_tools import QUORUM, TOPICS, note, write_file
from logdirwatch.plan.commands.operations import limits_of, rendered, sets_declared
from logdirwatch.plan.owners.strimzi_resources import (
    DELETE_POD_AND_PVC,
    MANUAL_ROLLING_UPDATE,
    Kubectl,
    Volume,
    added_patch,
    grown_patch,
    kubectl_of,
    topic_configs,
    volume_of,
)
from logdirwatch.plan.proposal import Policy, Precondition, ProposedAction, Veto


def for_owner(proposal: ProposedAction, policy: Policy) -> ProposedAction:
    """Return a proposal with commands that the owner of its cluster does not revert."""
    if policy.owner is None:
        return proposal
    if policy.owner.kind is not ClusterOwner.STRIMZI:
        return declared_too(proposal, policy.owner.kind)
    rewrite = REWRITES.get(proposal.kind)
    rewritten = proposal if rewrite is None else rewrite(proposal, policy)
    return with_limits_known(patched(_without_lists(rewritten), policy))


_WHERE = {
    ClusterOwner.GITOPS: "the Git repository that the cluster is applied from: its next sync",
    ClusterOwner.TERRAFORM: "the cluster's Terraform configuration: its next apply",
}


def declared_too(proposal: ProposedAction, owner: ClusterOwner) -> ProposedAction:
    """Return a proposal with the note that the change must also be made where it is declared."""
    if not (ACTION_TYPES[proposal.kind].changes_declared or any(map(sets_declared, proposal.operations))):
        return proposal
    text = f"the same change is made in {_WHERE[owner]} reverts it otherwise"
    return replace(
        proposal,
        commands=(*proposal.commands, note(f"Make the same change in {_WHERE[owner]} reverts it otherwise.")),
        preconditions=(*proposal.preconditions, Precondition("declared_too", text, None)),
    )


def why_reverted(action: ActionRecord, owner: ClusterOwner | None) -> str | None:
    """Return why an action planned before Strimzi managed the cluster must not be carried out; None if it may."""
    if owner is not ClusterOwner.STRIMZI or action.owner is owner:
        return None
    if not (ACTION_TYPES[action.kind].operator_reverts or action.configs):
        return None
    return "Strimzi reverts it: it was planned before the cluster was known to be Strimzi's"


# Strimzi. Topic configuration: the topic operator sets a topic's own values to those of its KafkaTopic. Space: volumes
# are declared once for all brokers of a node pool. Restarts and new disks: the operator restarts pods and creates
# volumes; people do not stop, format or start brokers. Moves: Strimzi leaves Kafka's reassignments alone, but not the
# lists of throttled replicas of topics. Permissions: the user operator sets a user's ACLs to those of its KafkaUser.
NO_TOPIC = '"${topic:?no KafkaTopic declares the topic}"'


def _without_lists(proposal: ProposedAction) -> ProposedAction:
    """Return a proposal with a veto if it adds to a broker's own configuration, which the operator deletes."""
    lists = [one for one in proposal.operations if one.op is OperationKind.SET_BROKER_LIST]
    added = [one for one in lists if set(one.args.entries or ()) - set(one.expect_before.entries or ())]
    if not added or "owner_reverts" in {veto.name for veto in proposal.vetoes}:
        return proposal
    reason = f"Strimzi deletes a broker's own {added[0].args.key} within minutes"
    return replace(proposal, vetoes=(*proposal.vetoes, Veto("owner_reverts", reason)))


def patched(proposal: ProposedAction, policy: Policy) -> ProposedAction:
    """Return changes of topics' configuration as patches of their KafkaTopics, before what else the proposal does.

    It has no operations: ``apply`` and the autopilot change the topic itself, which the operator reverts.
    """
    changes = [one for one in proposal.operations if one.op is OperationKind.SET_TOPIC_CONFIG]
    if not changes:
        return proposal
    kubectl, rest = kubectl_of(policy), [one for one in proposal.operations if one not in changes]
    back = [operation.inverse for operation in reversed(changes)]
    undone = rendered([operation.inverse for operation in reversed(rest)], policy.tools)
    return replace(
        proposal,
        operations=(),
        commands=(
            *_patches(changes, kubectl),
            *_direct(rendered(changes, policy.tools)),
            *rendered(rest, policy.tools),
        ),
        undo={**proposal.undo, "commands": [*undone, *_patches(back, kubectl), *_direct(rendered(back, policy.tools))]},
    )


def _patches(changes: Iterable[Operation | Inverse], kubectl: Kubectl) -> list[str]:
    values: defaultdict[str, dict[str, str | None]] = defaultdict(dict)
    for change in changes:
        value = change.args.value
        values[str(change.args.topic)][str(change.args.key)] = value if isinstance(value, str) else None
    return [
        command
        for topic, wanted in values.items()
        for command in (kubectl.topic(topic), kubectl.patch("kafkatopic", NO_TOPIC, "merge", topic_configs(wanted)))
    ]


def _direct(commands: Iterable[str]) -> list[str]:
    """Return the commands for a topic without a KafkaTopic; those for configurations are one line each."""
    return [note(f"Only where no KafkaTopic declares the topic: {command}") for command in commands]


POOL = '"${pool:?no node pool of the broker was found}"'
_ALL = "every broker of its node pool gets the same"


def expanded(proposal: ProposedAction, policy: Policy) -> ProposedAction:
    """Return a larger volume as a larger size in the KafkaNodePool."""
    broker, volume = proposal.target["broker"], volume_of(proposal.target["log_dir"])
    if volume is None:
        return replace(proposal, commands=(note("Set the size of the volume in its KafkaNodePool."),))
    kubectl = kubectl_of(policy)
    change = grown_patch(volume.id, proposal.expected["total_bytes"])
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
            kubectl.patch("kafkanodepool", POOL, "json", added_patch(new, proposal.expected["least_bytes"])),
        ),
        undo={
            "text": f"empty volume {new} of every broker of the pool, with Cruise Control by a KafkaRebalance like "
            "this one, then take it out of the KafkaNodePool",
            "commands": remove_disks(broker, new, policy),
        },
    )


API_VERSION = "kafka.strimzi.io/v1"


def rebalance(name: str, cluster: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Return a KafkaRebalance."""
    return {
        "apiVersion": API_VERSION,
        "kind": "KafkaRebalance",
        "metadata": {"name": name, "labels": {"strimzi.io/cluster": cluster}},
        "spec": spec,
    }


def remove_disks(broker: int, volume: int, policy: Policy) -> list[str]:
    """Return the commands that move everything off a volume to the broker's other ones, after somebody's approval."""
    assert policy.owner is not None
    kubectl, name = kubectl_of(policy), f"empty-volume-{volume}-of-{broker}"
    spec = {"mode": "remove-disks", "moveReplicasOffVolumes": [{"brokerId": broker, "volumeIds": [volume]}]}
    found = rebalance(name, policy.owner.name, spec)
    return [
        write_file(f"{name}.json", json.dumps(found, indent=1).splitlines()),
        kubectl.run("create", "--filename", f"{name}.json"),
        kubectl.run("wait", "kafkarebalance", name, "--for=condition=ProposalReady", "--timeout=10m"),
        kubectl.run("annotate", "kafkarebalance", name, "strimzi.io/rebalance=approve"),
    ]


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
        alone = [kubectl.run("annotate", POD, DELETE_POD_AND_PVC)]
        how = alone if volume.id is None else _one_of_several(kubectl, volume)
    return replace(proposal, commands=(*_looks(policy), kubectl.pod(broker), *how, *after_start(policy)))


def _looks(policy: Policy) -> list[str]:
    return [
        policy.tools.call(QUORUM, "describe", "--status"),
        policy.tools.call(TOPICS, "--describe", "--at-min-isr-partitions"),
    ]


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


def with_limits_known(proposal: ProposedAction) -> ProposedAction:
    """Return moves with the precondition for their throttles to last.

    The topic operator deletes these lists from topics that it manages, unless Cruise Control is deployed (Strimzi 1.2
    ``BatchingTopicController``). Broker rates stay: the operator does not compare these keys.
    """
    if not any(limits_of(operation.args).topics for operation in proposal.operations):
        return proposal
    text = (
        "the throttles last: the cluster has Cruise Control, or its topics have no KafkaTopic; otherwise Strimzi "
        "deletes the lists of throttled replicas within minutes, and the copies run without a limit"
    )
    return replace(proposal, preconditions=(*proposal.preconditions, Precondition("throttles_last", text, None)))


def granted(proposal: ProposedAction, _policy: Policy) -> ProposedAction:
    """Return the collector's permissions as those of its KafkaUser; file ownership on disk is not Strimzi's."""
    if proposal.target["log_dir"] is not None:
        return proposal
    first = note(
        "Give the KafkaUser of the collector the acls of conf/strimzi/monitored.yaml: the user operator deletes "
        "others. The commands are for a user without a KafkaUser."
    )
    return replace(proposal, commands=(first, *proposal.commands))


REWRITES: Mapping[ActionKind, Callable[[ProposedAction, Policy], ProposedAction]] = {
    ActionKind.EXPAND_DISK: expanded,
    ActionKind.ADD_LOG_DIR: added,
    ActionKind.RESTART_BROKER: restarted,
    ActionKind.REPLACE_DISK: replaced,
    ActionKind.GRANT_PERMISSION: granted,
}
