"""Topic configuration: the topic operator sets a topic's own values to those of its KafkaTopic."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from logdirwatch.model.actions.operations import Inverse, Operation
from logdirwatch.plan.commands.kafka_tools import note
from logdirwatch.plan.commands.operations import rendered
from logdirwatch.plan.owners.strimzi.kubectl import Kubectl, kubectl_of
from logdirwatch.plan.owners.strimzi.patches import topic_configs
from logdirwatch.plan.proposal import Policy, ProposedAction

NO_TOPIC = '"${topic:?no KafkaTopic declares the topic}"'


def patched(proposal: ProposedAction, policy: Policy) -> ProposedAction:
    """Return a change of retention as a patch of the KafkaTopic.

    It has no operations: ``apply`` and the autopilot change the topic itself, which the operator reverts.
    """
    kubectl, changes = kubectl_of(policy), proposal.operations
    back = [operation.inverse for operation in reversed(changes)]
    return replace(
        proposal,
        operations=(),
        commands=(*_patches(changes, kubectl), *_direct(rendered(changes, policy.tools))),
        undo={**proposal.undo, "commands": [*_patches(back, kubectl), *_direct(rendered(back, policy.tools))]},
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
