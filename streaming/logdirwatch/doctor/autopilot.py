"""Checks of the section ``autopilot``: its user has the permissions, and what is allowed can happen. Pure."""

from collections.abc import Iterable, Iterator

from logdirwatch.autopilot.settings import AutopilotClusterSettings
from logdirwatch.doctor.findings import Finding
from logdirwatch.model.vocabulary import ActionKind, ClusterOwner
from logdirwatch.plan.commands.kafka_tools import Tools
from logdirwatch.plan.settings import PlanSettings


def judge_rights(
    name: str, allowed: AutopilotClusterSettings, operations: Iterable[str], tools: Tools, principal: str | None
) -> Iterator[Finding]:
    """Judge whether the user of a cluster may make the changes of the allowed kinds.

    ``operations`` are its permissions.
    """
    from logdirwatch.plan.action_types import ACTION_TYPES  # noqa: PLC0415 - numpy takes a moment: Kafka is asked first

    may, needed = set(operations), {acl for kind in allowed.kinds for acl in ACTION_TYPES[kind].cluster_acls}
    known = [("Alter", "ALTER"), ("AlterConfigs", "ALTER_CONFIGS")]
    lacking = [acl for acl, operation in known if acl in needed and operation not in may]
    if lacking:
        yield Finding(
            "permissions",
            f"cluster {name}",
            f"{principal or 'its user'} lacks the ACL {', '.join(lacking)} on the cluster: what autopilot.clusters."
            f"{name}.kinds allows would be refused",
            tools.allow(lacking, ["--cluster"], principal),
        )


def judge_floors(name: str, allowed: AutopilotClusterSettings, plan: PlanSettings) -> Iterator[Finding]:
    """Judge whether unattended retention cuts can ever happen: they need a minimum declared by an owner."""
    cut = allowed.kinds.get(ActionKind.LOWER_RETENTION)
    has_floor = any(rule.min_retention_ms is not None or rule.min_retention_bytes is not None for rule in plan.topics)
    if cut is not None and cut.unattended and not has_floor:
        yield Finding(
            "configuration",
            f"cluster {name}",
            "lower_retention may start unattended, but no topic has a floor, so none ever does",
            "declare min_retention_ms or min_retention_bytes under plan.topics, or leave out unattended",
        )


def judge_owner(name: str, allowed: AutopilotClusterSettings, owner: ClusterOwner | None) -> Iterator[Finding]:
    """Judge whether allowed kinds are refused because Strimzi would revert them."""
    from logdirwatch.plan.action_types import ACTION_TYPES  # noqa: PLC0415 - numpy takes a moment: Kafka is asked first

    reverted = {kind for kind in allowed.kinds if ACTION_TYPES[kind].operator_reverts}
    refused = sorted(reverted) if owner is ClusterOwner.STRIMZI else []
    if refused:
        yield Finding(
            "configuration",
            f"cluster {name}",
            f"Strimzi reverts {', '.join(refused)}, so the autopilot never starts them",
            f"leave them out of autopilot.clusters.{name}.kinds; their commands are for a person",
        )
