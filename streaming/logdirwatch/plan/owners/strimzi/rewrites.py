"""The rewrite of each kind of action for clusters managed by Strimzi; other kinds stay as they are."""

from collections.abc import Callable, Mapping

from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.owners.strimzi import brokers, reassignments, storage, topics, users
from logdirwatch.plan.proposal import Policy, ProposedAction

REWRITES: Mapping[ActionKind, Callable[[ProposedAction, Policy], ProposedAction]] = {
    ActionKind.LOWER_RETENTION: topics.patched,
    ActionKind.RESTORE_RETENTION: topics.patched,
    ActionKind.EXPAND_DISK: storage.expanded,
    ActionKind.ADD_LOG_DIR: storage.added,
    ActionKind.RESTART_BROKER: brokers.restarted,
    ActionKind.REPLACE_DISK: brokers.replaced,
    ActionKind.MOVE_LOG_DIR: reassignments.with_limits_known,
    ActionKind.REASSIGN: reassignments.with_limits_known,
    ActionKind.GRANT_PERMISSION: users.granted,
}
