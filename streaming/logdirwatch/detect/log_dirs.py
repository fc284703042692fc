"""Judges the log directories of a broker that answers by its samples."""

from logdirwatch.detect import causes, unnamed_failures
from logdirwatch.detect.alerts import evidence, offline_messages
from logdirwatch.detect.alerts.context import BrokerContext, EvidenceTime
from logdirwatch.detect.rules import departed_log_dirs, log_dir_changed, log_dir_offline, log_dir_space, log_dir_suspect
from logdirwatch.detect.state import shared_volumes
from logdirwatch.detect.state.broker_state import BrokerMemory, LogDirMemory
from logdirwatch.model.evidence.log_dirs import LEFT_REPORT, NOT_CONFIGURED, LogDirUnknownEvidence
from logdirwatch.model.records import LogDirSample, MetricsRecord
from logdirwatch.model.times import GAP_POLLS
from logdirwatch.model.vocabulary import KAFKA_STORAGE_ERROR, LogDirStatus, NotReported, Rule, Severity

_OF_HOST = (Rule.LOG_DIR_SUSPECT, Rule.LOG_DIR_CHANGED)
"""What the host source goes on reporting while a broker does not answer."""


def take_samples(context: BrokerContext, record: MetricsRecord, moment: EvidenceTime) -> None:
    """Judge every directory of an answer, and those missing from it."""
    known, reported = context.memory.log_dirs, {sample.path for sample in record.log_dirs}
    departed_log_dirs.note(context.memory, reported, moment.at_ms)
    for sample in record.log_dirs:
        if (log_dir := known.get(sample.path)) is None:
            log_dir = known[sample.path] = LogDirMemory()
        log_dir.codes[record.collector] = (sample.error_code, context.memory.newest_ms)
        _note(log_dir, sample, record, moment)
        log_dir_changed.note_content(context, record, sample, log_dir, moment)
    shared_volumes.watch(context.memory, record.log_dirs)
    gone = [sample.path for sample in record.log_dirs if _is_offline(context.memory, known[sample.path])]
    _take_offline(context, gone, moment)
    for sample in record.log_dirs:
        if sample.path not in gone:
            _take_sample(context, sample, record.collector, moment)
    for path in [path for path in known if path not in reported]:
        _leave_report(context, path, moment)
    log_dir_offline.settle(context, moment)


def _note(log_dir: LogDirMemory, sample: LogDirSample, record: MetricsRecord, moment: EvidenceTime) -> None:
    log_dir.seen_ms = moment.at_ms
    log_dir.interval_ms = record.interval_ms
    if sample.is_metadata_dir is not None:
        log_dir.is_metadata_dir = sample.is_metadata_dir


def _take_sample(context: BrokerContext, sample: LogDirSample, collector: str, moment: EvidenceTime) -> None:
    log_dir = context.memory.log_dirs[sample.path]
    if sample.error_code != 0:
        _become_suspect(context, sample, log_dir, moment)
    elif log_dir.event_ms is not None and moment.at_ms <= log_dir.event_ms:
        return
    elif causes.is_condemned(context.memory, log_dir):
        _contradict(context, sample, log_dir, moment)
    elif not sample.total_bytes or sample.usable_bytes is None:
        _take_unmeasured(context, sample, log_dir, moment)
    else:
        log_dir_space.take_good_sample(context, sample, collector, moment)


def _contradict(context: BrokerContext, sample: LogDirSample, log_dir: LogDirMemory, moment: EvidenceTime) -> None:
    """Keep a directory offline that its broker's log condemned: an answer of DescribeLogDirs is no evidence of health.

    The first such answers may come before Kafka's handler has acted.
    """
    log_dir_space.remember_numbers(log_dir, sample, moment.at_ms, starts_again=True)
    log_dir.contradicted_ms = log_dir.contradicted_ms or moment.at_ms
    before = context.set_log_dir(sample.path, LogDirStatus.OFFLINE, "its broker's log says that it failed", moment)
    if causes.ignored_since_ms(context.memory, log_dir) is not None:
        log_dir_offline.tell(context, sample.path, before, moment)


def _take_unmeasured(context: BrokerContext, sample: LogDirSample, log_dir: LogDirMemory, moment: EvidenceTime) -> None:
    """Take a sample without a size: Kafka serves the directory, and some releases report no size.

    An open alert about its space does not end because the space is not measured any more.
    """
    is_of_release = NotReported.CAPACITY in (context.memory.not_reported or ())
    if is_of_release and Rule.LOG_DIR_SPACE not in log_dir.alerts:
        log_dir_space.take_sample_without_size(context, sample, moment)
    else:
        _become_unknown(context, sample.path, log_dir, "no capacity reported", moment)


def _is_offline(memory: BrokerMemory, log_dir: LogDirMemory) -> bool:
    """Tell whether a directory is offline; if two collectors disagree, offline wins for some polls of its collector."""
    for collector, (code, said_ms) in log_dir.codes.items():
        if code == KAFKA_STORAGE_ERROR:
            interval_ms = memory.collectors[collector].interval_ms
            if memory.newest_ms - said_ms <= GAP_POLLS * interval_ms:
                return True
    return False


def _take_offline(context: BrokerContext, gone: list[str], moment: EvidenceTime) -> None:
    """Judge the directories that DescribeLogDirs reports offline.

    Find those that failed together, judge each, then alert.
    """
    known = context.memory.log_dirs
    failing = [path for path in gone if known[path].status is not LogDirStatus.OFFLINE]
    for path in gone:
        known[path].error_code = KAFKA_STORAGE_ERROR
        if known[path].offline_ms is None:
            known[path].offline_ms = moment.at_ms
            known[path].verdict = known[path].event_detail = None
    for number, path in enumerate(failing):
        log_dir_offline.join(context.memory, path, failing[:number])
    meant, before = (
        unnamed_failures.meant_by(context, failing),
        {path: _confirm(context, path, moment) for path in gone},
    )
    for path in {log_dir_offline.carrier_of(context.memory, path): path for path in reversed(gone)}.values():
        log_dir_offline.tell(context, path, before[path], moment, meant)
    for path in gone:
        log_dir_offline.end_lesser(context, path, moment)
    unnamed_failures.settle(context, failing, moment)


def _confirm(context: BrokerContext, path: str, moment: EvidenceTime) -> str | None:
    """Judge an offline directory again, since evidence may have arrived; return its previous status."""
    log_dir = context.memory.log_dirs[path]
    log_dir_offline.judge(context, path)
    log_dir.decided_by, log_dir.contradicted_ms = causes.shown(log_dir).decided_by, None
    return context.set_log_dir(path, LogDirStatus.OFFLINE, f"error {KAFKA_STORAGE_ERROR}", moment)


def _become_suspect(context: BrokerContext, sample: LogDirSample, log_dir: LogDirMemory, moment: EvidenceTime) -> None:
    """Make a directory suspect for an error other than 56: Kafka reports it online, but cannot read its file system."""
    log_dir.error_code = sample.error_code
    _remember_last(log_dir)
    before = context.set_log_dir(sample.path, LogDirStatus.UNKNOWN, f"error {sample.error_code}", moment)
    context.alerts.mark_stale(sample.path, moment.at_ms, fresh=(Rule.LOG_DIR_SUSPECT,))
    if Rule.LOG_DIR_OFFLINE in log_dir.alerts:
        return  # Kafka keeps a directory offline until the broker starts again, whatever it answers meanwhile.
    text = f"cannot be asked (error {sample.error_code}), though Kafka does not call it offline"
    log_dir_suspect.suspect(context, sample.path, log_dir_suspect.ERROR_CODE, text, moment, before=before)


def _become_unknown(
    context: BrokerContext,
    path: str,
    log_dir: LogDirMemory,
    reason: str,
    moment: EvidenceTime,
    severity: Severity = Severity.WARNING,
) -> None:
    _remember_last(log_dir)
    before = context.set_log_dir(path, LogDirStatus.UNKNOWN, reason, moment)
    context.alerts.mark_stale(path, moment.at_ms, fresh=(Rule.LOG_DIR_UNKNOWN,))
    context.alerts.raise_alert(
        Rule.LOG_DIR_UNKNOWN,
        path,
        severity=severity,
        transition=(before, LogDirStatus.UNKNOWN),
        evidence=LogDirUnknownEvidence(reason=reason, **evidence.last_sample(log_dir)),
        affected=evidence.affected(context, log_dir),
        summary=offline_messages.unknown(context.memory, path),
        at_ms=moment.at_ms,
        origin=moment.origin,
    )


def _leave_report(context: BrokerContext, path: str, moment: EvidenceTime) -> None:
    configured, log_dir = context.memory.configured_dirs, context.memory.log_dirs[path]
    if configured is None or path in configured:
        _become_unknown(context, path, log_dir, LEFT_REPORT, moment)
    elif why := departed_log_dirs.why_forgotten(context.memory, log_dir):
        context.remove_log_dir(path, why, moment)
    else:
        _become_unknown(context, path, log_dir, NOT_CONFIGURED, moment, Severity.CRITICAL)


def lose_sight(context: BrokerContext, reason: str, moment: EvidenceTime) -> None:
    """Set all directories to unknown when their broker does not answer; their alerts keep firing as stale."""
    for path, log_dir in context.memory.log_dirs.items():
        _remember_last(log_dir)
        before = context.set_log_dir(path, LogDirStatus.UNKNOWN, reason, moment)
        is_news = before is not LogDirStatus.UNKNOWN
        context.alerts.mark_stale(path, moment.at_ms, fresh=() if is_news else _OF_HOST)


def _remember_last(log_dir: LogDirMemory) -> None:
    if log_dir.status is not LogDirStatus.UNKNOWN:
        log_dir.last_status = log_dir.status
