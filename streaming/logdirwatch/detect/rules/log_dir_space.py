"""Judges a writable directory: its level by space and forecast, and what else its numbers show."""

from logdirwatch.detect import causes, predicates
from logdirwatch.detect.alerts import evidence, hints, messages, urgency
from logdirwatch.detect.alerts.context import BrokerContext, EvidenceTime
from logdirwatch.detect.alerts.lifecycle import RECOVERED
from logdirwatch.detect.rules import kernel_errors, log_dir_changed, log_dir_offline, log_dir_suspect
from logdirwatch.detect.state import forecast, host_sizes, placement, shared_volumes
from logdirwatch.detect.state.broker_state import BrokerMemory, LogDirMemory
from logdirwatch.model.evidence.log_dirs import LogDirSpaceEvidence, UnaccountedBytesEvidence
from logdirwatch.model.records import LogDirSample
from logdirwatch.model.vocabulary import SPACE_STATUSES, LogDirStatus, Rule, Severity

BY_SPACE = "space"
"""The reason of a status decided by space and forecast."""
# DescribeLogDirs has sizes since Kafka 3.3 (version 4, KIP-827).
WITHOUT_SIZE = "its broker's version of Kafka does not report its size"


def take_good_sample(context: BrokerContext, sample: LogDirSample, collector: str, moment: EvidenceTime) -> None:
    """Judge a sample without an error that has its space."""
    log_dir = context.memory.log_dirs[sample.path]
    # Proposals from before an absence say nothing about now, and a directory that comes back at 97 % must not count as
    # online for one more sample.
    decides_alone = log_dir.status not in SPACE_STATUSES or predicates.is_gap(
        log_dir, moment.at_ms, log_dir.interval_ms
    )
    log_dir_changed.note_capacity(log_dir, sample, moment)
    # Taken before the sample is remembered and the level is set, which forget why it was offline.
    outlived = kernel_errors.outlived(log_dir, sample)
    is_measured = host_sizes.is_measured_again(log_dir, sample)
    if is_measured or decides_alone:
        _grow(log_dir, sample, moment.at_ms, starts_again=decides_alone)
    remember_numbers(log_dir, sample, moment.at_ms, starts_again=decides_alone)
    if is_measured:
        urgency.note(log_dir, moment.at_ms)
    _forecast(context, sample, log_dir, moment.at_ms)
    wanted = _wanted_level(context, sample.path, log_dir, collector, moment.at_ms, decides_alone=decides_alone)
    log_dir.is_level_by_ratio = wanted is not LogDirStatus.ONLINE and predicates.is_by_ratio(
        context.thresholds(sample.path), log_dir.status, wanted, _room(log_dir, moment.at_ms)
    )
    set_level(context, sample.path, log_dir, wanted, moment)
    if outlived is not None:
        kernel_errors.suspect_again(context, sample.path, log_dir, outlived, moment)
    log_dir_changed.tell(context, sample.path, log_dir, moment)
    _tell_unaccounted(context, sample.path, log_dir, moment)


def is_quiet(memory: BrokerMemory) -> bool:
    """Tell whether every directory is online by its space, and accounts for its bytes: the columns watch both."""
    return all(
        log_dir.status is LogDirStatus.ONLINE
        and log_dir.reason == BY_SPACE
        and not log_dir.is_level_by_ratio
        and log_dir.unaccounted_since_ms is None
        for log_dir in memory.log_dirs.values()
    )


def take_sample_without_size(context: BrokerContext, sample: LogDirSample, moment: EvidenceTime) -> None:
    """Judge a sample without an error whose size is not reported: Kafka serves the directory."""
    log_dir = context.memory.log_dirs[sample.path]
    remember_numbers(log_dir, sample, moment.at_ms, starts_again=False)
    log_dir.growth_bytes_per_s = log_dir.full_at_ms = log_dir.forecast_confidence = None
    log_dir.lasting_growth_bytes_per_s = None
    log_dir.proposals = {}
    set_level(context, sample.path, log_dir, LogDirStatus.ONLINE, moment, reason=WITHOUT_SIZE)
    log_dir_changed.tell(context, sample.path, log_dir, moment)


def _wanted_level(
    context: BrokerContext, path: str, log_dir: LogDirMemory, collector: str, at_ms: int, *, decides_alone: bool
) -> LogDirStatus:
    thresholds, room = context.thresholds(path), _room(log_dir, at_ms)
    if decides_alone:
        wanted, _ = predicates.judged_level(thresholds, room)
        log_dir.proposals = {collector: [wanted]}
        return wanted
    proposals = log_dir.proposals.setdefault(collector, [])
    proposals.append(predicates.proposed_level(thresholds, log_dir.status, room))
    del proposals[: -context.settings.debounce_samples]
    return predicates.debounced_level(log_dir.status, proposals, context.settings.debounce_samples)


def _room(log_dir: LogDirMemory, at_ms: int) -> predicates.Room:
    total_bytes, usable_bytes = log_dir.total_bytes or 0, log_dir.usable_bytes or 0
    return predicates.Room(
        total_bytes=total_bytes,
        usable_bytes=usable_bytes,
        full_in_ms=None if log_dir.full_at_ms is None else max(0, log_dir.full_at_ms - at_ms),
        missing_bytes=forecast.missing_bytes(log_dir.peaks, total_bytes),
        used_inodes_ratio=log_dir.used_inodes_ratio,
        is_held_by_ratio=log_dir.is_level_by_ratio,
    )


def set_level(
    context: BrokerContext,
    path: str,
    log_dir: LogDirMemory,
    wanted: LogDirStatus,
    moment: EvidenceTime,
    reason: str = BY_SPACE,
) -> None:
    """Give a writable directory a level; its alerts follow."""
    if wanted is log_dir.status is LogDirStatus.ONLINE and log_dir.reason == reason and not log_dir.alerts:
        return
    alert = log_dir.alerts.get(Rule.LOG_DIR_OFFLINE)
    is_held = alert is not None and alert.calm_since_ms is not None
    was_confirmed = is_held or log_dir.decided_by is not None or causes.is_of_log(log_dir)
    before = context.set_log_dir(path, wanted, reason, moment)
    log_dir.cause = log_dir.offline_ms = log_dir.decided_by = log_dir.last_status = log_dir.event_detail = None
    log_dir.verdict = log_dir.contradicted_ms = None
    if not log_dir_offline.is_shared(context.memory, path):
        ended = RECOVERED if was_confirmed else "unconfirmed"
        context.alerts.resolve(Rule.LOG_DIR_OFFLINE, path, ended, moment.at_ms, to_status=wanted)
    context.alerts.resolve(Rule.LOG_DIR_UNKNOWN, path, RECOVERED, moment.at_ms, to_status=wanted)
    log_dir_suspect.clear(context, path, log_dir_suspect.ERROR_CODE, moment)
    _tell_space(context, path, log_dir, before, moment)


def _tell_space(
    context: BrokerContext, path: str, log_dir: LogDirMemory, before: str | None, moment: EvidenceTime
) -> None:
    wanted = log_dir.status
    if wanted is LogDirStatus.ONLINE:
        is_told = Rule.LOG_DIR_SPACE in log_dir.alerts
        # Free space on a wrong volume is no recovery: the alert goes on as that about the volume.
        into = log_dir_changed.told_elsewhere(context, path, log_dir, moment) if is_told else None
        reason = RECOVERED if into is None else "another volume answers at its path"
        context.alerts.resolve(Rule.LOG_DIR_SPACE, path, reason, moment.at_ms, to_status=wanted, into=into)
        return
    sharing = [other for other in shared_volumes.sharing(context.memory, path) if other != path]
    if (speaker := _speaker(context, path, log_dir, sharing)) is not None:
        into = context.memory.log_dirs[speaker].alerts[Rule.LOG_DIR_SPACE]
        reason = f"one volume with {speaker}"
        context.alerts.resolve(Rule.LOG_DIR_SPACE, path, reason, moment.at_ms, to_status=wanted, into=into)
        return
    _, decided_by = predicates.judged_level(
        context.thresholds(path), _room(log_dir, moment.at_ms), on_the_way_back=True
    )
    halts, next_dirs = predicates.halts_broker(context.memory, path), placement.next_log_dirs(context.memory.log_dirs)
    takes_new = None if next_dirs is None else path in next_dirs
    severity, can_wait = _urgency(context, path, log_dir)
    context.alerts.raise_alert(
        Rule.LOG_DIR_SPACE,
        path,
        severity=severity,
        transition=(before, wanted),
        evidence=LogDirSpaceEvidence(
            **evidence.last_sample(log_dir),
            decided_by=decided_by,
            used_inodes_ratio=log_dir.used_inodes_ratio,
            time_to_full_ms=urgency.time_left_ms(log_dir),
            can_wait=can_wait,
            shares_volume_with=sharing,
            halts_broker=halts,
            takes_new_replicas=takes_new,
            dead_cleaner_threads=context.memory.dead_cleaner_threads,
            uncleanable_bytes=log_dir.uncleanable_bytes,
            strays=log_dir.strays,
            remote_copy_lag_bytes=context.memory.remote_copy_lag_bytes,
            keeps_growing=hints.kinds_of_growth(context.memory, log_dir) or None,
        ),
        affected=evidence.affected(context, log_dir),
        summary=messages.space(
            context.memory, path, log_dir, decided_by, halts, takes_new=takes_new, severity=severity
        ),
        at_ms=moment.at_ms,
        origin=moment.origin,
    )


def _urgency(context: BrokerContext, path: str, log_dir: LogDirMemory) -> tuple[Severity, bool]:
    """Return the severity of a filling directory's alert, and whether it can wait until morning."""
    told, left_ms = log_dir.alerts.get(Rule.LOG_DIR_SPACE), urgency.time_left_ms(log_dir)
    severity = urgency.severity(
        context.thresholds(path), log_dir.status, left_ms, None if told is None else told.severity
    )
    can_wait, _ = urgency.waits(log_dir, severity)
    return severity, can_wait


def _speaker(context: BrokerContext, path: str, log_dir: LogDirMemory, sharing: list[str]) -> str | None:
    """Return the directory on the same volume whose alert covers this one: a worse one, or of equal ones the first."""
    for other in sharing:
        known = context.memory.log_dirs[other]
        is_before = Rule.LOG_DIR_SPACE not in log_dir.alerts or other < path
        is_worse = known.status.rank > log_dir.status.rank
        if Rule.LOG_DIR_SPACE in known.alerts and (is_worse or (known.status is log_dir.status and is_before)):
            return other
    return None


def _grow(log_dir: LogDirMemory, sample: LogDirSample, at_ms: int, *, starts_again: bool) -> None:
    total_bytes, usable_bytes = sample.total_bytes or 0, sample.usable_bytes or 0
    # What moves bring ends with them: as growth it would make a rebalance look like a directory that fills.
    moving = forecast.Moving(sample.future_bytes, sample.incoming_bytes)
    grown = forecast.note(log_dir.peaks, at_ms, total_bytes, total_bytes - usable_bytes, moving)
    if starts_again:
        log_dir.growth_bytes_per_s = None
    elif grown is not None:
        log_dir.growth_bytes_per_s = predicates.growth(log_dir.growth_bytes_per_s, grown, log_dir.interval_ms)


def remember_numbers(log_dir: LogDirMemory, sample: LogDirSample, at_ms: int, *, starts_again: bool) -> None:
    """Keep the numbers of a sample that Kafka serves."""
    has_grown = None not in (sample.replica_bytes, log_dir.replica_bytes) and (
        (sample.replica_bytes or 0) > (log_dir.replica_bytes or 0)
    )
    # Replicas that grew between two samples were written: a broker in use proves by itself that its disk takes writes.
    if has_grown and not starts_again:
        log_dir.proof_ms = at_ms
    # The clock of another collector may be ahead of this one's.
    log_dir.sample_at_ms = max(at_ms, log_dir.sample_at_ms or 0)
    log_dir.error_code = sample.error_code
    log_dir.total_bytes, log_dir.usable_bytes = sample.total_bytes, sample.usable_bytes
    log_dir.replica_count, log_dir.replica_bytes = sample.replica_count, sample.replica_bytes
    log_dir.future_bytes = sample.future_bytes
    log_dir.incoming_bytes, log_dir.outgoing_bytes = sample.incoming_bytes, sample.outgoing_bytes
    log_dir.strays = sample.strays or None
    log_dir.is_cordoned = sample.is_cordoned
    log_dir.capacity_source = sample.capacity_source


def _forecast(context: BrokerContext, sample: LogDirSample, log_dir: LogDirMemory, at_ms: int) -> None:
    if not forecast.is_due(sample.path, log_dir.forecast_at_ms, at_ms, context.seed):
        return
    log_dir.forecast_at_ms = at_ms
    found = forecast.outlook(log_dir.peaks, sample.usable_bytes or 0)
    end = None if found is None else found.end
    log_dir.lasting_growth_bytes_per_s = None if found is None else found.growth_bytes_per_s
    log_dir.full_at_ms = None if end is None else at_ms + end.full_in_ms
    log_dir.forecast_confidence = None if end is None else end.confidence


def _is_told_by_another(context: BrokerContext, path: str, moment: EvidenceTime) -> bool:
    """Tell whether the alert of another directory covers the same volume; this one's is merged into it."""
    for other in shared_volumes.sharing(context.memory, path):
        into = context.memory.log_dirs[other].alerts.get(Rule.UNACCOUNTED_BYTES)
        if other < path and into is not None:
            reason, status = f"one volume with {other}", context.memory.log_dirs[path].status
            context.alerts.resolve(Rule.UNACCOUNTED_BYTES, path, reason, moment.at_ms, to_status=status, into=into)
            return True
    return False


def _tell_unaccounted(context: BrokerContext, path: str, log_dir: LogDirMemory, moment: EvidenceTime) -> None:
    """Alert about bytes that no replica accounts for: files that are not Kafka's, stray or deleted replicas."""
    settings, total_bytes = context.settings, log_dir.total_bytes or 0
    at_least = settings.unaccounted_ratio * total_bytes
    if _explains_itself(log_dir, at_least) and Rule.UNACCOUNTED_BYTES not in log_dir.alerts:
        log_dir.unaccounted_since_ms = None
        return
    unaccounted = shared_volumes.unaccounted_bytes(context.memory, path)
    if unaccounted is None or unaccounted < at_least:
        log_dir.unaccounted_since_ms = None
        if log_dir.alerts and unaccounted is not None:
            context.alerts.resolve(Rule.UNACCOUNTED_BYTES, path, RECOVERED, moment.at_ms, to_status=log_dir.status)
        return
    # On a shared volume the same bytes are unaccounted for in each of its directories.
    if Rule.UNACCOUNTED_BYTES not in log_dir.alerts and path != shared_volumes.first_serving(context.memory, path):
        log_dir.unaccounted_since_ms = None
        return
    if _is_told_by_another(context, path, moment):
        return
    log_dir.unaccounted_since_ms = log_dir.unaccounted_since_ms or moment.at_ms
    if moment.at_ms - log_dir.unaccounted_since_ms < settings.unaccounted_after_ms:
        return
    context.alerts.raise_alert(
        Rule.UNACCOUNTED_BYTES,
        path,
        severity=Severity.WARNING,
        transition=(log_dir.status, log_dir.status),
        evidence=UnaccountedBytesEvidence(unaccounted_bytes=unaccounted, **evidence.last_sample(log_dir)),
        affected=evidence.affected(context, log_dir),
        summary=messages.unaccounted(context.memory, path, unaccounted, total_bytes),
        at_ms=moment.at_ms,
        origin=moment.origin,
    )


def _explains_itself(log_dir: LogDirMemory, at_least: float) -> bool:
    """Tell whether a directory's own replicas account for enough; usually they do, and no other directory matters."""
    if log_dir.replica_bytes is None or log_dir.total_bytes is None or log_dir.usable_bytes is None:
        return False
    return log_dir.total_bytes - log_dir.usable_bytes - log_dir.replica_bytes < at_least
