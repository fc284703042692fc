"""``grant_permission``: file permissions for Kafka's user, or ACLs for the collector."""

import shlex
from dataclasses import replace

from logdirwatch.model.evidence import read_as
from logdirwatch.model.evidence.brokers import BrokerAwayEvidence
from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.actions.action_type import ActionType, frees_as_much
from logdirwatch.plan.actions.parts import host_notes
from logdirwatch.plan.actions.progress import not_seen
from logdirwatch.plan.availability.offline_log_dirs import OfflineLogDirs, log_line
from logdirwatch.plan.capacity.timing import place_target
from logdirwatch.plan.cluster.snapshot import LogDir
from logdirwatch.plan.commands.kafka_tools import note
from logdirwatch.plan.proposal import Policy, Precondition, ProposedAction, effect


def grant_write(away: OfflineLogDirs, directory: LogDir) -> ProposedAction:
    """Return how to let the broker's user write to a directory again."""
    path = shlex.quote(directory.path)
    steps = (
        f"namei -l {path}; ls -ldZ -- {path} (owner, mode, SELinux context of every folder on the path).",
        f"give it back to the broker's user: chown -R, chmod u+rwX, restorecon -R -- {path}; in Kubernetes fsGroup.",
    )
    return ProposedAction(
        kind=ActionKind.GRANT_PERMISSION,
        target=place_target(directory),
        reason=f"let broker {away.broker}'s user write in {directory.path} again: its disk is fine"
        f"{log_line(away.proofs[directory.path])}",
        expected=effect(),
        commands=host_notes(away.broker, *steps),
    )


def grant_collector(alert: AlertRecord, policy: Policy) -> ProposedAction:
    """Return the ACLs that the collector needs on a broker that refuses it."""
    return ProposedAction(
        kind=ActionKind.GRANT_PERMISSION,
        target={"broker": alert.broker, "log_dir": None},
        reason=f"broker {alert.broker} denies access to its log directories: grant the collector Describe and "
        "DescribeConfigs on the cluster and its topics, if its credentials are right "
        f"({read_as(alert.evidence, BrokerAwayEvidence).reason})",
        expected=effect(status="online"),
        preconditions=(
            Precondition("credentials_right", "the collector's credentials are the ones that were meant", None),
            Precondition("may_alter", "the --command-config of the tools may alter ACLs", None),
        ),
        commands=tuple(policy.tools.allow_collector()),
        undo={"commands": policy.tools.allow_collector(allowed=False), "text": "takes the permission away again"},
    )


def for_strimzi(proposal: ProposedAction, _policy: Policy) -> ProposedAction:
    """Return the collector's permissions as those of its KafkaUser; file ownership on disk is not Strimzi's."""
    # With a directory the action is about the owner of files, without one about ACLs.
    if proposal.target["log_dir"] is not None:
        return proposal
    first = note(
        "Give the KafkaUser of the collector the acls of conf/strimzi/monitored.yaml: the user operator deletes "
        "others. The commands are for a user without a KafkaUser."
    )
    return replace(proposal, commands=(first, *proposal.commands))


ACTION_TYPE = ActionType(
    kind=ActionKind.GRANT_PERMISSION,
    progress=not_seen,
    covers=frees_as_much,
    needs_inventory=False,
    is_done_when_back=True,
    for_strimzi=for_strimzi,
)
