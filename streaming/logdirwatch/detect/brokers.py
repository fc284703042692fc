"""Judges a broker by its answers, the controller's view, and silence."""

from logdirwatch.config.section import HOUR_MS
from logdirwatch.detect import log_dirs, predicates, unnamed_failures, upkeep
from logdirwatch.detect.alerts.context import BrokerContext, EvidenceTime
from logdirwatch.detect.alerts.lifecycle import RECOVERED, RENEWED_AFTER_MS, Holder
from logdirwatch.detect.observations import Decided, Sample
from logdirwatch.detect.rules import broker_offline, remote_copies
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.state import clocks, episodes, host_sizes, log_recovery, maintenance
from logdirwatch.detect.state.broker_state import BrokerMemory, CollectorView
from logdirwatch.model.records import ADVANCES_NOT, SILENT, MetricsRecord
from logdirwatch.model.vocabulary import BrokerStatus, LogDirStatus, MetadataMode, PollStatus, Rule

ANSWERS = "answers"
UNREGISTERED = "not registered with the controller"
FENCED = "fenced by the controller"
NOT_LISTED = "not listed by the controller"
"""With ZooKeeper no broker is fenced: one that is gone is no longer in the cluster's metadata."""
GONE_AFTER_POLLS = 3
"""One answer may come from a controller that has not caught up; this many in a row do not."""


def take_sample(context: BrokerContext, sample: Sample, now_ms: int) -> None:
    """Judge a broker and its directories by one poll; one that is not newer than what is known changes nothing."""
    memory = context.memory
    view = memory.collectors.get(sample.record.collector)
    last_ms = None if view is None else view.taken_ms
    record = clocks.in_evidence_time(memory, sample.record, sample.origin, last_ms, now_ms, context.settings)
    if record is None:
        return
    at_ms = record.timestamp_ms
    memory.heard_ms = now_ms
    memory.newest_ms = max(memory.newest_ms, at_ms)
    memory.is_silent = False
    _note_collector(memory, view, record, at_ms)
    _forget_collectors(memory)
    _note_facts(memory, record)
    moment = EvidenceTime(at_ms, str(sample.origin))
    maintenance.end_if_due(memory, at_ms)
    if record.status is not PollStatus.OK:
        log_recovery.note(memory, record, at_ms)
        episodes.note_failed_poll(memory, record, at_ms)
    given_up = _given_up(record, memory.metadata_mode, at_ms)
    _note_registration(memory, is_missing=given_up == UNREGISTERED)
    if memory.is_gone:
        _leave(context, moment)
    elif given_up:
        # Polls whose failure the controller explains do not count towards an unknown broker.
        memory.collectors[record.collector].failures = 0
        _lose(context, BrokerStatus.OFFLINE, given_up, moment)
    elif record.status is PollStatus.OK:
        memory.seen_ms, memory.collector = at_ms, record.collector
        episodes.end(memory, at_ms)
        broker_offline.forget_reason_if_over(memory, at_ms)
        remote_copies.note_lag(memory, record)
        log_dirs.take_samples(context, host_sizes.completed(memory, record, at_ms), moment)
        _answer(context, moment)
        upkeep.judge(context, record, moment)
    elif not _another_answers(memory, record.collector):
        _lose(context, BrokerStatus.UNKNOWN, _failure(record), moment, record.status)
    broker_offline.keep_to_plan(context, moment)
    context.alerts.renew(at_ms)


def take_decision(context: BrokerContext, decided: Decided) -> None:
    """Apply a decision: it lowers or raises the severity of alerts about the broker's absence."""
    memory = context.memory
    if maintenance.take(memory, decided, context.settings) and memory.maintenance is not None:
        at_ms = max(memory.newest_ms, memory.maintenance.at_ms)
        broker_offline.tell_again(context, EvidenceTime(at_ms, str(decided.origin)))


def end_maintenance(context: BrokerContext, now_ms: int) -> None:
    """End a maintenance by the clock; one that ended long ago still waits for evidence."""
    found = maintenance.running(context.memory)
    if found is None or not maintenance.end_if_due(context.memory, now_ms):
        return
    # When the timer is that late, the query itself was down, and its input may show that the broker is back.
    if now_ms - found.until_ms <= context.settings.late_timer_ms:
        broker_offline.tell_again(context, EvidenceTime(now_ms, f"timer/{context.memory.newest_ms}"))


def _note_collector(memory: BrokerMemory, view: CollectorView | None, record: MetricsRecord, at_ms: int) -> None:
    is_ok = record.status is PollStatus.OK
    memory.collectors[record.collector] = CollectorView(
        taken_ms=at_ms,
        interval_ms=record.interval_ms,
        status=record.status,
        ok_ms=memory.newest_ms if is_ok else (view.ok_ms if view else None),
        failures=0 if is_ok else (view.failures if view else 0) + 1,
        said_ms=memory.newest_ms,
    )


def _forget_collectors(memory: BrokerMemory) -> None:
    """Forget collectors that are gone: if every start has a new name, they would accumulate forever."""
    long_ago_ms = memory.newest_ms - HOUR_MS
    old = {name: view for name, view in memory.collectors.items() if view.said_ms < long_ago_ms}
    for name in [name for name, view in old.items() if not _is_current(view, view.said_ms, memory.newest_ms)]:
        del memory.collectors[name]
        memory.clocks.pop(name, None)
        for log_dir in memory.log_dirs.values():
            log_dir.codes.pop(name, None)
            log_dir.proposals.pop(name, None)


FACTS = (
    "host",
    "rack",
    "is_fenced",
    "kafka_version",
    "metadata_version",
    "metadata_mode",
    "not_reported",
    "controller_id",
    "partitions",
)
"""What the memory keeps of a record as it is."""


def _note_facts(memory: BrokerMemory, record: MetricsRecord) -> None:
    """Keep the values in the record; missing ones stay as they were."""
    for name in FACTS:
        value = getattr(record, name)
        if value is not None:
            setattr(memory, name, value)
    memory.configured_dirs = configured_dirs(record) or memory.configured_dirs


def configured_dirs(record: MetricsRecord) -> list[str] | None:
    """Return the directories in ``log.dirs``; None if the record does not have it."""
    configured = (record.configs or {}).get("log.dirs")
    return [path.strip() for path in configured.split(",")] if configured else None


def _note_registration(memory: BrokerMemory, *, is_missing: bool) -> None:
    """Record the registration.

    Kafka forgets a broker only when it is unregistered: a dead one stays registered, and fenced (KIP-631).
    """
    memory.unregistered_polls = memory.unregistered_polls + 1 if is_missing else 0
    memory.is_gone = is_missing and (not memory.is_judged or memory.unregistered_polls >= GONE_AFTER_POLLS)


def _leave(context: BrokerContext, moment: EvidenceTime) -> None:
    """Forget an unregistered broker and close its alerts."""
    for path in list(context.memory.log_dirs):
        context.remove_log_dir(path, UNREGISTERED, moment)
    context.alerts.resolve_all(None, UNREGISTERED, moment.at_ms)
    unnamed_failures.give_up(context, moment.at_ms)
    context.memory.word = None
    context.remove_broker(UNREGISTERED, moment)


def _given_up(record: MetricsRecord, mode: MetadataMode | None, at_ms: int) -> str | None:
    """Return why the controller considers the broker down, if its answer is not older than three polls.

    The broker is not registered, or it is fenced.
    """
    if (
        record.controller_at_ms is None
        or at_ms - record.controller_at_ms > predicates.SILENCE_POLLS * record.interval_ms
    ):
        return None
    if record.is_registered is False:
        return UNREGISTERED
    if not record.is_fenced:
        return None
    return NOT_LISTED if mode is MetadataMode.ZOOKEEPER else FENCED


def _another_answers(memory: BrokerMemory, collector: str) -> bool:
    return any(
        view.ok_ms is not None and _is_current(view, view.ok_ms, memory.newest_ms)
        for name, view in memory.collectors.items()
        if name != collector
    )


def _is_current(view: CollectorView, said_ms: int, now_ms: int) -> bool:
    return now_ms - said_ms <= predicates.SILENCE_POLLS * view.interval_ms


def _failure(record: MetricsRecord) -> str:
    if record.error and record.status is PollStatus.ERROR:
        return record.error
    return f"{record.status}: {record.error}" if record.error else str(record.status)


def _answer(context: BrokerContext, moment: EvidenceTime) -> None:
    context.memory.recovery = None
    _set_by_directories(context, moment)
    for rule in (Rule.BROKER_UNKNOWN, Rule.BROKER_OFFLINE):
        context.alerts.resolve(rule, None, RECOVERED, moment.at_ms, to_status=context.memory.status)


def _set_by_directories(context: BrokerContext, moment: EvidenceTime) -> None:
    offline = sorted(
        path for path, log_dir in context.memory.log_dirs.items() if log_dir.status is LogDirStatus.OFFLINE
    )
    if offline:
        context.set_broker(BrokerStatus.DEGRADED, f"offline: {', '.join(offline)}", moment)
    else:
        context.set_broker(BrokerStatus.ONLINE, ANSWERS, moment)


def follow_event(context: BrokerContext, moment: EvidenceTime) -> None:
    """Judge the broker after an event about a directory: one that answers may be degraded."""
    if context.memory.status in {BrokerStatus.ONLINE, BrokerStatus.DEGRADED}:
        _set_by_directories(context, moment)


def _lose(
    context: BrokerContext,
    status: BrokerStatus,
    reason: str,
    moment: EvidenceTime,
    poll_status: PollStatus | None = None,
) -> None:
    context.memory.flush_ms = context.memory.remote_copy_lag_bytes = None
    context.memory.poll_status = poll_status
    episodes.begin(context.memory, moment.at_ms, is_fenced=status is BrokerStatus.OFFLINE)
    context.set_broker(status, reason, moment)
    log_dirs.lose_sight(context, f"broker {status}", moment)
    upkeep.lose_sight(context, moment)
    if status is BrokerStatus.OFFLINE:
        broker_offline.raise_offline(context, moment)
    else:
        context.alerts.mark_stale(None, moment.at_ms, only={Rule.BROKER_OFFLINE})
        broker_offline.raise_unknown(context, _failures(context.memory), moment)


def _failures(memory: BrokerMemory) -> int:
    """Return how many polls in a row failed; an old answer of a collector that is gone does not count forever."""
    current = [view for view in memory.collectors.values() if _is_current(view, view.said_ms, memory.newest_ms)]
    return min((view.failures for view in current), default=0)


def renew_unseen(context: BrokerContext, now_ms: int) -> None:
    """Renew the alerts of a silent broker, since no record will come to renew them."""
    if context.memory.is_silent:
        context.alerts.renew(now_ms)


def unseen_renewal_ms(memory: BrokerMemory) -> int | None:
    """Return when ``renew_unseen`` is due next."""
    if not memory.is_silent:
        return None
    holders: list[Holder] = [memory, *memory.log_dirs.values()]
    said_ms = (alert.said_ms for holder in holders for alert in holder.alerts.values())
    return min((told_ms + RENEWED_AFTER_MS for told_ms in said_ms), default=None)


def silence_ms(memory: BrokerMemory, settings: DetectSettings) -> int:
    """Return how long a broker may be silent before it is unknown."""
    return silent_after_ms(max((view.interval_ms for view in memory.collectors.values()), default=0), settings)


def silent_after_ms(interval_ms: int, settings: DetectSettings) -> int:
    """Return how long a broker that is polled each ``interval_ms`` may be silent."""
    return max(predicates.SILENCE_POLLS * interval_ms, settings.silence_min_ms)


def judge_silence(context: BrokerContext, now_ms: int) -> None:
    """Set the broker to unknown if no record arrived for three polls, which only this timer detects."""
    memory = context.memory
    silent_for_ms = now_ms - memory.heard_ms - silence_ms(memory, context.settings)
    if memory.is_silent or not memory.collectors or silent_for_ms < 0:
        return
    if silent_for_ms > context.settings.late_timer_ms:
        # The query itself was down: its input may still wait in Kafka.
        memory.heard_ms = now_ms
        return
    memory.is_silent = True
    moment = EvidenceTime(now_ms, f"timer/{memory.newest_ms}")
    _lose(context, BrokerStatus.UNKNOWN, f"{SILENT}{_why_silent(memory)}", moment)
    broker_offline.go_on_unseen(context, moment)
    broker_offline.keep_to_plan(context, moment)


def _why_silent(memory: BrokerMemory) -> str:
    if not (writers := clocks.stalled(memory)):
        return "no collector reports it"
    return f"samples of {', '.join(writers)} arrive, but {ADVANCES_NOT}: check the clock of its host"
