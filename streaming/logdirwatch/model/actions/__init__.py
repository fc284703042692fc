"""What actions carry beside their texts: what they act on, what is expected of them, what stands against them.

An action's ``kind`` says which struct its ``expected`` has (``EXPECTED``); the other parts are the same for all kinds.
"""

from collections.abc import Mapping

from logdirwatch.model.actions import expected
from logdirwatch.model.actions.expected import Expected as Expected
from logdirwatch.model.vocabulary import ActionKind

EXPECTED: Mapping[ActionKind, type[Expected]] = {
    ActionKind.CORDON_LOG_DIR: expected.CordonExpected,
    ActionKind.UNCORDON_LOG_DIR: expected.UncordonExpected,
    ActionKind.LOWER_RETENTION: expected.LowerRetentionExpected,
    ActionKind.RESTORE_RETENTION: expected.RestoreRetentionExpected,
    ActionKind.DELETE_RECORDS: expected.DeleteRecordsExpected,
    ActionKind.THROTTLE_PRODUCERS: expected.ThrottleProducersExpected,
    ActionKind.MOVE_LOG_DIR: expected.MoveLogDirExpected,
    ActionKind.REASSIGN: expected.ReassignExpected,
    ActionKind.CANCEL_MOVES: expected.CancelMovesExpected,
    ActionKind.DEMOTE_LEADERS: expected.DemoteLeadersExpected,
    ActionKind.ELECT_LEADERS: expected.ElectLeadersExpected,
    ActionKind.CLEAR_THROTTLES: expected.ClearThrottlesExpected,
    ActionKind.RESTART_BROKER: expected.RestartBrokerExpected,
    ActionKind.REPLACE_DISK: expected.ReplaceDiskExpected,
    ActionKind.EXPAND_DISK: expected.ExpandDiskExpected,
    ActionKind.ADD_LOG_DIR: expected.AddLogDirExpected,
    ActionKind.RELEASE_RESERVE: expected.ReleaseReserveExpected,
    ActionKind.RECREATE_RESERVE: expected.RecreateReserveExpected,
    ActionKind.DELETE_TOPIC_CANDIDATE: expected.DeleteTopicExpected,
    ActionKind.GRANT_PERMISSION: expected.GrantPermissionExpected,
    ActionKind.RAISE_LIMIT: expected.RaiseLimitExpected,
    ActionKind.INVESTIGATE: expected.InvestigateExpected,
}
