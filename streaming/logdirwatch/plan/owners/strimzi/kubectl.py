"""Commands that read and change the resources of a Strimzi cluster."""

import json
import shlex
from dataclasses import dataclass
from typing import Any

from logdirwatch.plan.proposal import Owner, Policy

MANUAL_ROLLING_UPDATE = "strimzi.io/manual-rolling-update=true"
DELETE_POD_AND_PVC = "strimzi.io/delete-pod-and-pvc=true"
_UNKNOWN_NAMESPACE = '"${KAFKA_NAMESPACE:?set it to the namespace of the Kafka resource}"'
_POOLS = (
    r'jsonpath={range .items[*]}{.metadata.name}{" "}{.metadata.labels.strimzi\.io/pool-name}{"\n"}{end}'  # kubectl's
)


@dataclass(frozen=True)
class Kubectl:
    """``kubectl`` in the namespace of one cluster."""

    owner: Owner

    def run(self, *words: str) -> str:
        """Return a command; its words are already quoted."""
        namespace = self.owner.strimzi.namespace
        where = _UNKNOWN_NAMESPACE if namespace is None else shlex.quote(namespace)
        return " ".join([self.owner.strimzi.kubectl, "--namespace", where, *words])

    def topic(self, name: str) -> str:
        """Return the command that sets ``topic`` to the name of a topic's KafkaTopic; empty if it has none."""
        found = f"jsonpath={{.items[?(@.status.topicName=={json.dumps(name)})].metadata.name}}"
        return f"topic=$({self.run('get', 'kafkatopics', *self._selected(), '--output', shlex.quote(found))})"

    def pod(self, broker: int) -> str:
        """Return the command that sets ``pod`` to ``pod/NAME`` of a broker: its name ends with the broker's id."""
        listed = self.run("get", "pods", *self._selected("strimzi.io/broker-role=true"), "--output", "name")
        return f"pod=$({listed} | grep -e '-{broker}$')"

    def pool(self, broker: int) -> str:
        """Return the command that sets ``pool`` to the name of a broker's KafkaNodePool."""
        selected = self._selected("strimzi.io/broker-role=true")
        listed = self.run("get", "pods", *selected, "--output", shlex.quote(_POOLS))
        return f"pool=$({listed} | sed -n 's/^[^ ]*-{broker} //p')"

    def patch(self, resource: str, name: str, kind: str, patch: Any) -> str:
        """Return the command that patches a resource; ``kind`` is merge or json, ``name`` a shell word."""
        text = shlex.quote(json.dumps(patch, separators=(",", ":")))
        return self.run("patch", resource, name, "--type", kind, "--patch", text)

    def _selected(self, *labels: str) -> list[str]:
        return ["--selector", shlex.quote(",".join([f"strimzi.io/cluster={self.owner.name}", *labels]))]


def kubectl_of(policy: Policy) -> Kubectl:
    """Return the commands for the cluster of a policy whose owner is Strimzi."""
    assert policy.owner is not None
    return Kubectl(policy.owner)
