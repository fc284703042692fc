"""move_stalled: replicas that move to a directory of this broker make no progress.

::

    no less is left to copy, no more is copied, for ``move_stalled_after_ms`` ──▶ stands_still
    over two such spans the rest shrinks so slowly, or grows, that ``move_max_ms`` is not enough ──▶ too_slow
    less is left, and it ends in time ──▶ gets_on
    only copies that have not begun are left, while others of the broker run ──▶ queued

A queued copy waits for a thread (KIP-113): its time starts when it begins.
"""

from typing import Any

from logdirwatch.detect.alerts import evidence, messages
from logdirwatch.detect.alerts.context import BrokerContext, EvidenceTime
from logdirwatch.detect.alerts.lifecycle import RECOVERED
from logdirwatch.detect.rules import log_dir_offline
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.state.broker_state import BrokerMemory, LogDirMemory, Move, OpenAlert
from logdirwatch.model.evidence import read_as
from logdirwatch.model.evidence.brokers import MoveStalledEvidence, StalledMoves
from logdirwatch.model.records import LogDirSample, MetricsRecord, ReplicaMoves
from logdirwatch.model.vocabulary import FOLLOWER_THROTTLE, LOG_DIR_THROTTLE, LogDirStatus, Rule, Severity

RULE = Rule.MOVE_STALLED
STANDS_STILL = "stands_still"
TOO_SLOW = "too_slow"
GETS_ON = "gets_on"
QUEUED = "queued"
SLOW_SPANS = 2
"""One slow span may only mean that more moves were started."""


def judge_scan(context: BrokerContext, record: MetricsRecord, counted_ms: int, moment: EvidenceTime) -> None:
    """Follow the bytes still to be moved to each directory, as counted at ``counted_ms``."""
    told = {
        sample.path: _follow(context, sample, counted_ms, is_queued=_is_queued(sample, record.moves))
        for sample in record.log_dirs
        if _may_move(context, sample)
    }
    held_up = {path: verdict for path, verdict in told.items() if verdict in {STANDS_STILL, TOO_SLOW, QUEUED}}
    if set(held_up.values()) - {QUEUED}:
        _tell(context, record, held_up, moment)
    elif RULE in context.memory.alerts and _all_get_on(context.memory, told):
        into = _went_offline(context.memory)
        context.alerts.resolve(RULE, None, RECOVERED if into is None else "offline", moment.at_ms, into=into)


def is_quiet(memory: BrokerMemory) -> bool:
    """Tell whether nothing moves: the columns watch for what moves will add."""
    return all(log_dir.move is None for log_dir in memory.log_dirs.values())


def lose_sight(memory: BrokerMemory) -> None:
    """Start over: a move that is seen again may or may not have made progress meanwhile."""
    for log_dir in memory.log_dirs.values():
        log_dir.move = None


def _went_offline(memory: BrokerMemory) -> OpenAlert | None:
    """Return the alert of a destination directory that is offline now."""
    for path in read_as(memory.alerts[RULE].evidence, MoveStalledEvidence).moves:
        log_dir = memory.log_dirs.get(path)
        if log_dir is not None and log_dir.status is LogDirStatus.OFFLINE:
            return log_dir_offline.alert_of(memory, path)
    return None


def _all_get_on(memory: BrokerMemory, told: dict[str, str | None]) -> bool:
    """Tell whether every move ended or makes progress; a move to a directory that is not reported does not count."""
    is_seen = all(log_dir.move is None or path in told for path, log_dir in memory.log_dirs.items())
    return is_seen and all(verdict in {GETS_ON, QUEUED} for verdict in told.values())


def _may_move(context: BrokerContext, sample: LogDirSample) -> bool:
    """Tell whether something moves to a directory, or may; an offline directory has its own alert.

    One that answers again counts, even if it is not online yet.
    """
    log_dir = context.memory.log_dirs[sample.path]
    if sample.incoming_bytes == 0 or (sample.error_code and log_dir.status is LogDirStatus.OFFLINE):
        log_dir.move = None
        return False
    return True


def _is_queued(sample: LogDirSample, seen: ReplicaMoves | None) -> bool:
    """Tell whether only queued copies are left for a directory while others of the broker run."""
    if seen is None or not seen.copies_begun or not sample.incoming_bytes or sample.future_bytes:
        return False
    return sample.incoming_bytes <= (seen.waiting_bytes or {}).get(sample.path, 0)


def _follow(context: BrokerContext, sample: LogDirSample, counted_ms: int, *, is_queued: bool) -> str | None:
    """Return the verdict on the moves to a directory; None while it is undecided."""
    log_dir = context.memory.log_dirs[sample.path]
    if sample.incoming_bytes is None or log_dir.status is LogDirStatus.UNKNOWN:
        return None
    if is_queued:
        log_dir.move = _begun(sample, sample.incoming_bytes, counted_ms)
        return QUEUED
    if log_dir.move is None:
        log_dir.move = _begun(sample, sample.incoming_bytes, counted_ms)
        return None
    _note(log_dir.move, sample, sample.incoming_bytes, counted_ms, context.settings)
    return verdict(log_dir.move, counted_ms, context.settings)


def _begun(sample: LogDirSample, remaining_bytes: int, at_ms: int) -> Move:
    return Move(
        since_ms=at_ms,
        progress_ms=at_ms,
        remaining_bytes=remaining_bytes,
        copied_bytes=sample.future_bytes or 0,
        span_ms=at_ms,
        span_bytes=remaining_bytes,
    )


def _note(move: Move, sample: LogDirSample, remaining_bytes: int, at_ms: int, settings: DetectSettings) -> None:
    copied_bytes = sample.future_bytes or 0
    # A replica that is written while it is copied may grow faster than its copy: then only the copied bytes show
    # progress.
    if remaining_bytes < move.remaining_bytes or copied_bytes > move.copied_bytes:
        move.progress_ms = at_ms
    move.remaining_bytes, move.copied_bytes = remaining_bytes, copied_bytes
    if at_ms - move.span_ms < max(1, settings.move_stalled_after_ms):
        return
    move.bytes_per_s = (move.span_bytes - remaining_bytes) * 1000 / (at_ms - move.span_ms)
    ends_in_ms = _ends_in_ms(move)
    move.slow_spans = 0 if ends_in_ms is not None and ends_in_ms <= settings.move_max_ms else move.slow_spans + 1
    move.span_ms, move.span_bytes = at_ms, remaining_bytes


def verdict(move: Move, at_ms: int, settings: DetectSettings) -> str | None:
    """Return the verdict on a move; None while it is undecided."""
    if at_ms - move.progress_ms >= settings.move_stalled_after_ms:
        return STANDS_STILL
    if move.slow_spans >= SLOW_SPANS:
        return TOO_SLOW
    return GETS_ON if move.progress_ms > move.since_ms and not move.slow_spans else None


def _ends_in_ms(move: Move) -> int | None:
    """Return the time left at the rate of the last span; None if it never ends."""
    # Producers write faster than the move copies.
    if move.bytes_per_s is None or move.bytes_per_s <= 0:
        return None
    return int(move.remaining_bytes / move.bytes_per_s * 1000)


def _tell(context: BrokerContext, record: MetricsRecord, held_up: dict[str, str], moment: EvidenceTime) -> None:
    throttles = (record.moves.throttles if record.moves is not None else None) or {}
    found = {
        path: _told(context.memory.log_dirs[path], verdict, throttles) for path, verdict in sorted(held_up.items())
    }
    context.alerts.raise_alert(
        RULE,
        None,
        severity=Severity.WARNING,
        transition=(None, None),
        evidence=MoveStalledEvidence(
            why=[f"{path}: {verdict}" for path, verdict in sorted(held_up.items())],
            moves=found,
            throttles=throttles,
            **_threads(record, held_up),
        ),
        affected=evidence.affected_by_broker(context),
        summary=messages.moves_held_up(context.memory, found, moment.at_ms),
        at_ms=moment.at_ms,
        origin=moment.origin,
    )


def _threads(record: MetricsRecord, held_up: dict[str, str]) -> dict[str, Any]:
    """Return what queued copies wait for; Kafka's default is one thread per directory."""
    if record.moves is None or QUEUED not in held_up.values():
        return {}
    threads = record.moves.copy_threads
    return {
        "copies_begun": record.moves.copies_begun,
        "copy_threads": len(record.log_dirs) if threads is None else threads,
        "is_copy_threads_default": threads is None,
    }


def _told(log_dir: LogDirMemory, verdict: str, throttles: dict[str, int]) -> StalledMoves:
    """Return the numbers of one directory's moves, and the throttle that slows them, as far as this broker shows it."""
    move = log_dir.move
    assert move is not None
    # Only copies within the broker have a future replica; what other brokers send is under the follower's throttle
    # (KIP-113, KIP-73).
    key = LOG_DIR_THROTTLE if move.copied_bytes else FOLLOWER_THROTTLE
    grows = move.bytes_per_s is not None and move.bytes_per_s < 0
    return StalledMoves(
        verdict=verdict,
        remaining_bytes=move.remaining_bytes,
        since_ms=move.since_ms,
        progress_ms=move.progress_ms,
        bytes_per_s=move.bytes_per_s,
        ends_in_ms=_ends_in_ms(move),
        throttle=key if key in throttles else None,
        throttle_bytes_per_s=throttles.get(key),
        # More is written to the moving replicas than the throttle allows to copy: the move never ends.
        is_throttled_below_writes=key in throttles and grows,
    )
