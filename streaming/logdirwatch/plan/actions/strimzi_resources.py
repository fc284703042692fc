"""The resources of a Strimzi cluster: commands that read and change them, patches by its schemas, names of volumes."""

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from logdirwatch.config.section import GIB
from logdirwatch.plan.proposal import Owner, Policy

# Where nothing was found the shell stops here, and passes no empty name to kubectl.
POOL = '"${pool:?no node pool of the broker was found}"'
POD = '"${pod:?no pod of the broker was found}"'
WHOLE_POOL = "every broker of its node pool gets the same"
MANUAL_ROLLING_UPDATE = "strimzi.io/manual-rolling-update=true"
DELETE_POD_AND_PVC = "strimzi.io/delete-pod-and-pvc=true"
# kubectl would take the namespace of its present context, where a cluster of the same name may run.
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
        # -e, since the pattern begins with a dash.
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


TAKEN_BY_FILE_SYSTEM_RATIO = 0.05
"""The share of a volume that its file system may use itself, as ext4 does."""


def topic_configs(values: Mapping[str, str | None]) -> dict[str, Any]:
    """Return the merge patch of a KafkaTopic; null deletes a value."""
    return {"spec": {"config": {key: _number(value) for key, value in values.items()}}}


def grown_patch(volume: int | None, size_bytes: int) -> list[dict[str, Any]]:
    """Return the JSON patch of a KafkaNodePool that enlarges a volume; ``volume`` None: the pool has only one.

    A patch identifies volumes only by position. Its test operation fails if another id is at that position.
    """
    if volume is None:
        return [{"op": "replace", "path": "/spec/storage/size", "value": quantity(size_bytes)}]
    at = f"/spec/storage/volumes/{volume}"
    return [
        {"op": "test", "path": f"{at}/id", "value": volume},
        {"op": "replace", "path": f"{at}/size", "value": quantity(size_bytes)},
    ]


def added_patch(volume: int, size_bytes: int) -> list[dict[str, Any]]:
    """Return the JSON patch of a KafkaNodePool that gives its brokers one more volume."""
    # With deleteClaim: true the operator deletes the data together with the cluster, or with the entry of the volume.
    value = {"id": volume, "type": "persistent-claim", "size": quantity(size_bytes), "deleteClaim": False}
    return [
        {"op": "test", "path": "/spec/storage/type", "value": "jbod"},
        {"op": "add", "path": "/spec/storage/volumes/-", "value": value},
    ]


def quantity(size_bytes: int) -> str:
    """Return the size of a volume whose file system has at least this many bytes."""
    # With the two signs // rounds up.
    return f"{-int(-size_bytes * (1 + TAKEN_BY_FILE_SYSTEM_RATIO) // GIB)}Gi"


def _number(value: str | None) -> int | str | None:
    return int(value) if value is not None and value.removeprefix("-").isdecimal() else value


# How the operator names log directories (VolumeUtils); a pool with a single volume has no number there.
_PATH = re.compile(r"/var/lib/kafka/data(?:-(?P<volume>\d+))?/kafka-log(?P<broker>\d+)")


class Volume(NamedTuple):
    """A volume of a node pool; ``id`` is None where the pool has only one."""

    id: int | None

    def claim(self, pod: str) -> str:
        """Return the name of its PersistentVolumeClaim for a pod."""
        return f"data-{pod}" if self.id is None else f"data-{self.id}-{pod}"


def volume_of(path: object) -> Volume | None:
    """Return the volume of a log directory; None if its path is not one of Strimzi's."""
    found = _PATH.fullmatch(str(path))
    return None if found is None else Volume(None if found["volume"] is None else int(found["volume"]))
