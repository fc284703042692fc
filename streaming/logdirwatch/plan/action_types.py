"""Every kind of action, with what the planner must know of it; total, as a test proves."""

from collections.abc import Mapping

from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.actions.action_type import ActionType
from logdirwatch.plan.actions.brokers import (
    add_log_dir,
    expand_disk,
    grant_permission,
    investigate,
    raise_limit,
    recreate_reserve,
    release_reserve,
    replace_disk,
    restart_broker,
)
from logdirwatch.plan.actions.replicas import (
    cancel_moves,
    clear_throttles,
    cordon_log_dir,
    demote_leaders,
    elect_leaders,
    move_log_dir,
    reassign,
    uncordon_log_dir,
)
from logdirwatch.plan.actions.topics import (
    delete_records,
    delete_topic_candidate,
    lower_retention,
    restore_retention,
    throttle_producers,
)

ACTION_TYPES: Mapping[ActionKind, ActionType] = {
    ActionKind.CORDON_LOG_DIR: cordon_log_dir.ACTION_TYPE,
    ActionKind.UNCORDON_LOG_DIR: uncordon_log_dir.ACTION_TYPE,
    ActionKind.LOWER_RETENTION: lower_retention.ACTION_TYPE,
    ActionKind.RESTORE_RETENTION: restore_retention.ACTION_TYPE,
    ActionKind.DELETE_RECORDS: delete_records.ACTION_TYPE,
    ActionKind.THROTTLE_PRODUCERS: throttle_producers.ACTION_TYPE,
    ActionKind.MOVE_LOG_DIR: move_log_dir.ACTION_TYPE,
    ActionKind.REASSIGN: reassign.ACTION_TYPE,
    ActionKind.CANCEL_MOVES: cancel_moves.ACTION_TYPE,
    ActionKind.DEMOTE_LEADERS: demote_leaders.ACTION_TYPE,
    ActionKind.ELECT_LEADERS: elect_leaders.ACTION_TYPE,
    ActionKind.CLEAR_THROTTLES: clear_throttles.ACTION_TYPE,
    ActionKind.RESTART_BROKER: restart_broker.ACTION_TYPE,
    ActionKind.REPLACE_DISK: replace_disk.ACTION_TYPE,
    ActionKind.EXPAND_DISK: expand_disk.ACTION_TYPE,
    ActionKind.ADD_LOG_DIR: add_log_dir.ACTION_TYPE,
    ActionKind.RELEASE_RESERVE: release_reserve.ACTION_TYPE,
    ActionKind.RECREATE_RESERVE: recreate_reserve.ACTION_TYPE,
    ActionKind.DELETE_TOPIC_CANDIDATE: delete_topic_candidate.ACTION_TYPE,
    ActionKind.GRANT_PERMISSION: grant_permission.ACTION_TYPE,
    ActionKind.RAISE_LIMIT: raise_limit.ACTION_TYPE,
    ActionKind.INVESTIGATE: investigate.ACTION_TYPE,
}
