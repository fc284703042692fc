"""The topics of the telemetry cluster: names, partitions and settings."""

from dataclasses import dataclass, field

DAY_MS = 24 * 3_600_000

METRICS = "logdir.metrics"
EVENTS = "logdir.events"
INVENTORY = "logdir.inventory"
STATE = "logdir.state"
ALERTS = "logdir.alerts"
ACTIONS = "logdir.actions"
DECISIONS = "logdir.decisions"
NOTIFICATIONS = "logdir.notifications"
EXECUTIONS = "logdir.executions"


@dataclass(frozen=True)
class Topic:
    """One topic as ``logdirwatch topics create`` creates it, and what its records are about."""

    name: str
    carries: str
    partitions: int
    configs: dict[str, str] = field(default_factory=dict)


def _kept_for(days: int) -> dict[str, str]:
    """Return the settings of a topic that is read in the order of arrival, by the leaders' clocks."""
    return {"cleanup.policy": "delete", "retention.ms": str(days * DAY_MS), "message.timestamp.type": "LogAppendTime"}


# A revision must be readable for a week before compaction may remove it, and for 30 days after the last one.
_LATEST_BY_KEY = {
    "cleanup.policy": "compact,delete",
    "min.compaction.lag.ms": str(7 * DAY_MS),
    "retention.ms": str(30 * DAY_MS),
}

TOPICS = (
    Topic(
        METRICS,
        "one record per broker and poll, whatever the answer; heartbeats; and the progress of each query",
        6,
        _kept_for(7),
    ),
    Topic(
        EVENTS, "what happened to a directory, from the collector or from brokers in KIP-112's form", 3, _kept_for(7)
    ),
    Topic(
        INVENTORY, "the location of every replica, and every topic; also the JSON of `kafka-log-dirs`", 6, _kept_for(7)
    ),
    Topic(STATE, "the state of each broker and its directories according to `detect`", 3, _LATEST_BY_KEY),
    Topic(ALERTS, "revisions of alerts, and heartbeats that passed the pipeline", 3, _LATEST_BY_KEY),
    Topic(ACTIONS, "revisions of actions", 1, _LATEST_BY_KEY),
    Topic(DECISIONS, "decisions about alerts, actions and brokers", 1, _kept_for(30)),
    Topic(
        NOTIFICATIONS,
        "the notifications sent to each receiver, group by group",
        1,
        {**_LATEST_BY_KEY, "min.compaction.lag.ms": "0"},
    ),
    # Without an end: an execution that nobody went on with must be found after months, too.
    Topic(
        EXECUTIONS,
        "the journal of `apply` and `autopilot`: every state of an execution, before the call",
        1,
        {"cleanup.policy": "compact", "min.compaction.lag.ms": str(7 * DAY_MS)},
    ),
)

STREAMED = tuple(topic.name for topic in TOPICS if topic.name != NOTIFICATIONS)
"""The topics without which the stream cannot run."""
