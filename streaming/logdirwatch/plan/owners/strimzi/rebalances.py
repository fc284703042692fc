"""KafkaRebalance resources: moves by Cruise Control, if they do the same as a reassignment."""

import json
from typing import Any

from logdirwatch.plan.commands.kafka_tools import write_file
from logdirwatch.plan.owners.strimzi.kubectl import kubectl_of
from logdirwatch.plan.proposal import Policy

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
