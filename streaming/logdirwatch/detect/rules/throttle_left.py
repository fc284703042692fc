"""``throttle_left``: throttles that stay set when nothing moves.

They slow down replicas that fell behind, and the next move. kafka-reassign-partitions removes them only when its
--verify is run after the end.
"""

from logdirwatch.detect.alerts import evidence, messages
from logdirwatch.detect.alerts.context import BrokerContext, EvidenceTime
from logdirwatch.detect.alerts.lifecycle import RECOVERED
from logdirwatch.detect.state.broker_state import BrokerMemory
from logdirwatch.model.evidence.brokers import ThrottleLeftEvidence
from logdirwatch.model.records import MetricsRecord, ReplicaMoves
from logdirwatch.model.vocabulary import LOG_DIR_THROTTLE, REPLICATION_THROTTLES, Rule, Severity

RULE = Rule.THROTTLE_LEFT
LISTS = "throttled_replicas"
"""The name of the topics' lists of throttled replicas in evidence and settings."""


def judge_scan(context: BrokerContext, record: MetricsRecord, counted_ms: int, moment: EvidenceTime) -> None:
    """Judge the throttles of one broker, as seen at ``counted_ms``."""
    seen, memory = record.moves, context.memory
    if seen is None or seen.throttles is None:
        return
    left = left_over(seen, context.settings.kept_throttles)
    if left:
        since_ms = memory.throttles_since_ms = memory.throttles_since_ms or counted_ms
        if RULE in memory.alerts or counted_ms - since_ms >= context.settings.throttle_left_after_ms:
            _tell(context, left, moment)
    elif left is not None:
        memory.throttles_since_ms = None
        # The limits are still set, but a move has begun that they may be meant for.
        ended = "in use again" if seen.throttles else RECOVERED
        context.alerts.resolve(RULE, None, ended, moment.at_ms)


def is_quiet(memory: BrokerMemory) -> bool:
    """Tell whether no throttle was left: the columns watch for new ones."""
    return memory.throttles_since_ms is None


def lose_sight(memory: BrokerMemory) -> None:
    """Restart the time for which they must be left."""
    memory.throttles_since_ms = None


def left_over(seen: ReplicaMoves, kept: tuple[str, ...]) -> dict[str, int] | None:
    """Return the throttles that no running move needs, by key; None if that is unknown.

    A throttle between brokers is needed as long as any partition of the cluster is reassigned: the leader that a move
    copies from need not be part of it.
    """
    limits = {key: value for key, value in (seen.throttles or {}).items() if key not in kept}
    between = {key: limits[key] for key in REPLICATION_THROTTLES if key in limits}
    if seen.throttled_replicas and LISTS not in kept:
        between[LISTS] = seen.throttled_replicas
    # replica.alter.log.dirs.io.max.bytes.per.second holds inside one broker, so only its own copies need it (KIP-113).
    within = {key: limits[key] for key in (LOG_DIR_THROTTLE,) if key in limits}
    found = {**({} if seen.reassignments else between), **({} if seen.copies else within)}
    is_unknown = (between and seen.reassignments is None) or (within and seen.copies is None)
    return None if is_unknown else found


def _tell(context: BrokerContext, left: dict[str, int], moment: EvidenceTime) -> None:
    limits = {key: value for key, value in left.items() if key != LISTS}
    context.alerts.raise_alert(
        RULE,
        None,
        severity=Severity.WARNING,
        transition=(None, None),
        evidence=ThrottleLeftEvidence(
            why=sorted(left),
            throttles=limits,
            throttled_replicas=left.get(LISTS, 0),
            since_ms=context.memory.throttles_since_ms,
        ),
        affected=evidence.affected_by_broker(context),
        summary=messages.throttles_left(context.memory, limits, left.get(LISTS, 0)),
        at_ms=moment.at_ms,
        origin=moment.origin,
    )
