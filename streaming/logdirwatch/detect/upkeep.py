"""What is judged of an answering broker beside its directories' room: balance, followers that lag, moves, throttles."""

from logdirwatch.detect.alerts.context import Desk, Moment
from logdirwatch.detect.rules import lagging_replicas, log_dir_imbalance, move_stalled, throttle_left
from logdirwatch.model.records import MetricsRecord
from logdirwatch.model.vocabulary import Rule

RULES = (
    Rule.LOG_DIR_IMBALANCE,
    Rule.MOVE_STALLED,
    Rule.THROTTLE_LEFT,
    Rule.PLACEMENT_REPORTS_STUCK,
    Rule.LOG_DIR_SUSPECT,
    Rule.PARTITION_FAILED,
    Rule.UNCLEANABLE_PARTITIONS,
)
"""The rules about a broker, but those of its absence."""


def judge(desk: Desk, record: MetricsRecord, moment: Moment) -> None:
    """Judge one answer. What moves and what lags is counted by the inventory scan, so it is looked at once a scan."""
    log_dir_imbalance.judge(desk, moment)
    # A record that does not say when its moves were counted speaks of its own time.
    counted_ms = moment.at_ms if record.moves is None else min(record.moves.at_ms, moment.at_ms)
    if counted_ms <= desk.memory.moves_at_ms:
        return
    desk.memory.moves_at_ms = counted_ms
    lagging_replicas.judge(desk, record, moment)
    move_stalled.judge(desk, record, counted_ms, moment)
    throttle_left.judge(desk, record, counted_ms, moment)


def lose_sight(desk: Desk, moment: Moment) -> None:
    """Begin anew, as the broker does not answer, with what must last a while; what fires says since when.

    A move that is seen again may have stood still meanwhile, or not.
    """
    memory = desk.memory
    memory.unequal_since_ms = memory.throttles_since_ms = None
    for log_dir in memory.log_dirs.values():
        log_dir.move = None
        lagging_replicas.lose_sight(log_dir)
    if memory.alerts:
        desk.book.mark_stale(None, moment.at_ms, only=RULES)
