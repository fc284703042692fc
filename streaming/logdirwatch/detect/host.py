"""Judges the host's observations of its disks: successful writes, volumes, inodes, read-only mounts, slowness."""

import statistics

from logdirwatch.detect.alerts.context import BrokerContext, EvidenceTime
from logdirwatch.detect.observations import HostView
from logdirwatch.detect.rules import (
    host_findings,
    kernel_errors,
    log_dir_changed,
    log_dir_offline,
    log_dir_suspect,
    remote_copies,
)
from logdirwatch.detect.state import clocks, episodes, host_sizes
from logdirwatch.detect.state.broker_state import LogDirMemory
from logdirwatch.model.records import HostLogDir, HostRecord
from logdirwatch.model.vocabulary import LogDirStatus
from logdirwatch.text.units import human_ms

CONFIG_ERRORS = frozenset({"look: No such file or directory", "look: Permission denied"})
"""Errors of older host sources about a path that they could not check; Kafka's own answer is enough for those."""
OTHERS_MIN = 2
"""With a single other disk it is unclear which of the two is the slow one."""


def take_host_view(context: BrokerContext, view: HostView, now_ms: int) -> None:
    """Apply one observation of the host source about directories that the broker reports; it decides no status."""
    memory = context.memory
    last_ms = max((log_dir.host_ms for log_dir in memory.log_dirs.values() if log_dir.host_ms), default=None)
    record = clocks.in_evidence_time(memory, view.record, view.origin, last_ms, now_ms, context.settings)
    if record is None:
        return
    at_ms = record.timestamp_ms
    moment = EvidenceTime(at_ms, str(view.origin))
    if record.log_entries is not None:
        remote_copies.note_log_read(memory, at_ms)
    if record.broker_started_ms is not None:
        episodes.note_start(memory, record.broker_started_ms)
    for seen in record.log_dirs:
        log_dir = memory.log_dirs.get(seen.path)
        if log_dir is not None and (log_dir.host_ms is None or at_ms > log_dir.host_ms):
            _take(context, kernel_errors.in_present_form(seen), log_dir, record, moment)
    kernel_errors.judge_broker(context, record, moment)


def _take(
    context: BrokerContext, seen: HostLogDir, log_dir: LogDirMemory, record: HostRecord, moment: EvidenceTime
) -> None:
    log_dir.host_ms, log_dir.host_interval_ms = moment.at_ms, record.interval_ms
    log_dir.used_inodes_ratio = host_findings.used_inodes_ratio(seen)
    host_sizes.note(context.memory, log_dir, seen)
    kernel_errors.note(log_dir, seen, moment.at_ms)
    host_findings.note(log_dir, seen, moment.at_ms)
    if log_dir.known_status is LogDirStatus.OFFLINE:
        _explain(context, seen.path, log_dir, moment)
        return
    if seen.volume is not None:
        log_dir_changed.note_volume(log_dir, seen, moment)
        log_dir_changed.note_reserve(log_dir, seen, moment)
        log_dir_changed.tell(context, seen.path, log_dir, moment)
    if seen.is_read_only:
        log_dir_suspect.suspect(
            context, seen.path, log_dir_suspect.READ_ONLY, "its file system is mounted read-only", moment
        )
    elif seen.is_read_only is False:
        log_dir_suspect.clear(context, seen.path, log_dir_suspect.READ_ONLY, moment)
    _judge_probe(context, seen, log_dir, moment)
    kernel_errors.judge(context, seen, log_dir, moment)


def _judge_probe(context: BrokerContext, seen: HostLogDir, log_dir: LogDirMemory, moment: EvidenceTime) -> None:
    if seen.config_error is not None or seen.probe_error in CONFIG_ERRORS:
        return  # nothing was checked, so nothing is known: neither good nor bad
    if host_findings.has_no_directory(seen):
        text = f"there is no directory at its path ({seen.probe_error})"
        log_dir_suspect.suspect(context, seen.path, log_dir_suspect.NO_DIRECTORY, text, moment)
        return
    if seen.probe_error is not None:
        log_dir_suspect.suspect(
            context, seen.path, log_dir_suspect.PROBE, f"the probe failed: {seen.probe_error}", moment
        )
    elif seen.probe_ms is not None:
        log_dir.proof_ms = moment.at_ms
        log_dir_suspect.clear(context, seen.path, log_dir_suspect.PROBE, moment)
        log_dir_suspect.judge_pace(
            context, seen.path, log_dir_suspect.SLOW_PROBE, log_dir.probe, seen.probe_ms, "writing 4 KiB", moment
        )
        _compare_with_others(context, seen.path, moment)
    log_dir_suspect.clear(context, seen.path, log_dir_suspect.NO_DIRECTORY, moment)


def _explain(context: BrokerContext, path: str, log_dir: LogDirMemory, moment: EvidenceTime) -> None:
    """Correct the cause of an open alert by the host's observation."""
    if log_dir_offline.alert_of(context.memory, path) is not None and log_dir_offline.judge(context, path):
        log_dir_offline.tell(context, path, log_dir.status, moment)


def _compare_with_others(context: BrokerContext, path: str, moment: EvidenceTime) -> None:
    """Find a disk that was always slow: its own past does not show it, but the broker's other disks do."""
    learned = {
        other: known.probe.usual_ms
        for other, known in context.memory.log_dirs.items()
        if known.probe.samples >= log_dir_suspect.LEARNING
    }
    usual_ms = learned.pop(path, None)
    if usual_ms is None or len(learned) < OTHERS_MIN:
        return
    theirs_ms, settings = statistics.median(learned.values()), context.settings
    kind = log_dir_suspect.SLOWER_THAN_OTHERS
    if usual_ms < settings.slow_min_ms or usual_ms <= settings.slow_factor * theirs_ms:
        log_dir_suspect.clear(context, path, kind, moment)
    elif not log_dir_suspect.is_told(context, path, kind):
        others = f"in the broker's other directories {human_ms(theirs_ms)}"
        text = f"writing 4 KiB usually takes {human_ms(usual_ms)}, {others}"
        log_dir_suspect.suspect(context, path, kind, text, moment)
