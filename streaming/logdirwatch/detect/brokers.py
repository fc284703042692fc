"""How a broker is judged: answers, the controller's word, and silence."""

from typing import Any

from logdirwatch.detect import evidence, gauges, log_dirs, partitions, rules, wording
from logdirwatch.detect.alerts import RECOVERED
from logdirwatch.detect.desk import Desk, Moment
from logdirwatch.detect.memory import BrokerMemory, CollectorView
from logdirwatch.detect.observations import Sample, effective_ms
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.model.records import MetricsRecord
from logdirwatch.model.vocabulary import BrokerStatus, LogDirStatus, PollStatus, Rule, Severity

SILENT = "silent: "
"""How the reason begins of a broker that is unknown because nothing is heard of it."""


def take_sample(desk: Desk, sample: Sample) -> None:
    """Judge a broker and its directories by one poll."""
    record, memory = sample.record, desk.memory
    at_ms, corrected = effective_ms(record.timestamp_ms, sample.origin.kafka_timestamp_ms, desk.settings.clock_skew_ms)
    view = memory.collectors.get(record.collector)
    if view is not None and at_ms <= view.taken_ms:
        return
    memory.corrected_clocks += corrected
    memory.newest_ms = max(memory.newest_ms, at_ms)
    memory.is_silent = False
    _note_collector(memory, view, record, at_ms)
    _note_facts(memory, record)
    moment = Moment(at_ms, str(sample.origin))
    given_up = _given_up(record, at_ms)
    if given_up:
        _lose(desk, BrokerStatus.OFFLINE, given_up, moment)
    elif record.status is PollStatus.OK:
        memory.seen_ms, memory.collector = at_ms, record.collector
        log_dirs.take_samples(desk, record, moment)
        _answer(desk, moment)
        gauges.take_gauges(desk, record, moment)
        partitions.forget_old(desk, moment)
    elif not _another_answers(memory, record.collector, at_ms):
        _lose(desk, BrokerStatus.UNKNOWN, _failure(record), moment)


def _note_collector(memory: BrokerMemory, view: CollectorView | None, record: MetricsRecord, at_ms: int) -> None:
    is_ok = record.status is PollStatus.OK
    memory.collectors[record.collector] = CollectorView(
        taken_ms=at_ms,
        interval_ms=record.interval_ms,
        status=record.status,
        ok_ms=at_ms if is_ok else (view.ok_ms if view else None),
        failures=0 if is_ok else (view.failures if view else 0) + 1,
    )


def _note_facts(memory: BrokerMemory, record: MetricsRecord) -> None:
    """Keep what the record knows; what it leaves out stays as it was."""
    for name in ("host", "rack", "is_fenced", "kafka_version", "metadata_version", "controller_id", "partitions"):
        value = getattr(record, name)
        if value is not None:
            setattr(memory, name, value)
    configured = (record.configs or {}).get("log.dirs")
    if configured:
        memory.configured_dirs = [path.strip() for path in configured.split(",")]


def _given_up(record: MetricsRecord, at_ms: int) -> str | None:
    """Return why the controller does not count on the broker, if its word is not older than three polls."""
    if record.controller_at_ms is None or at_ms - record.controller_at_ms > rules.SILENCE_POLLS * record.interval_ms:
        return None
    if record.is_registered is False:
        return "not registered with the controller"
    return "fenced by the controller" if record.is_fenced else None


def _another_answers(memory: BrokerMemory, collector: str, at_ms: int) -> bool:
    return any(
        view.ok_ms is not None and _is_current(view, view.ok_ms, at_ms)
        for name, view in memory.collectors.items()
        if name != collector
    )


def _is_current(view: CollectorView, said_ms: int, at_ms: int) -> bool:
    return at_ms - said_ms <= rules.SILENCE_POLLS * view.interval_ms


def _failure(record: MetricsRecord) -> str:
    return f"{record.status}: {record.error}" if record.error else str(record.status)


def _answer(desk: Desk, moment: Moment) -> None:
    _set_by_directories(desk, moment)
    for rule in (Rule.BROKER_UNKNOWN, Rule.BROKER_OFFLINE):
        desk.book.resolve(rule, None, RECOVERED, moment.at_ms, to_status=desk.memory.status)


def _set_by_directories(desk: Desk, moment: Moment) -> None:
    offline = sorted(path for path, log_dir in desk.memory.log_dirs.items() if log_dir.status is LogDirStatus.OFFLINE)
    if offline:
        desk.set_broker(BrokerStatus.DEGRADED, f"offline: {', '.join(offline)}", moment)
    else:
        desk.set_broker(BrokerStatus.ONLINE, "answers", moment)


def follow_event(desk: Desk, moment: Moment) -> None:
    """After an event about a directory, an answering broker may be degraded."""
    if desk.memory.status in {BrokerStatus.ONLINE, BrokerStatus.DEGRADED}:
        _set_by_directories(desk, moment)


def _lose(desk: Desk, status: BrokerStatus, reason: str, moment: Moment) -> None:
    desk.set_broker(status, reason, moment)
    log_dirs.lose_sight(desk, f"broker {status}", moment)
    if status is BrokerStatus.OFFLINE:
        _raise_offline(desk, moment)
    else:
        _raise_unknown(desk, moment)


def _raise_unknown(desk: Desk, moment: Moment) -> None:
    memory = desk.memory
    # A collector that is gone must not vouch for the broker for ever.
    current = [view for view in memory.collectors.values() if _is_current(view, view.taken_ms, moment.at_ms)]
    failures = min((view.failures for view in current), default=0)
    if failures < desk.settings.failure_polls or memory.is_silent:
        return
    desk.book.raise_alert(
        Rule.BROKER_UNKNOWN,
        None,
        severity=Severity.CRITICAL,
        transition=(None, BrokerStatus.UNKNOWN),
        evidence=_evidence(memory),
        affected=evidence.affected_by_broker(desk),
        summary=wording.broker_unknown(memory),
        at_ms=moment.at_ms,
        origin=moment.origin,
    )


def _raise_offline(desk: Desk, moment: Moment) -> None:
    """Raise the alert once the grace is over: a planned restart is over sooner."""
    memory = desk.memory
    if moment.at_ms - memory.since_ms < desk.settings.broker_offline_grace_ms:
        return
    leaderless = memory.partitions is not None and memory.partitions.leaderless > 0
    desk.book.raise_alert(
        Rule.BROKER_OFFLINE,
        None,
        severity=Severity.PAGE if leaderless else Severity.CRITICAL,
        transition=(None, BrokerStatus.OFFLINE),
        evidence=_evidence(memory),
        affected=evidence.affected_by_broker(desk),
        summary=wording.broker_offline(memory),
        at_ms=moment.at_ms,
        origin=moment.origin,
    )
    desk.book.resolve(Rule.BROKER_UNKNOWN, None, "offline", moment.at_ms, to_status=BrokerStatus.OFFLINE)


def silence_ms(memory: BrokerMemory, settings: DetectSettings) -> int:
    """Return how long nothing may be heard of a broker before it is unknown."""
    interval_ms = max((view.interval_ms for view in memory.collectors.values()), default=0)
    return max(rules.SILENCE_POLLS * interval_ms, settings.silence_min_ms)


def judge_silence(desk: Desk, now_ms: int) -> None:
    """No record for three polls: the broker is unknown, and nobody will say so but this timer."""
    memory = desk.memory
    silent_for_ms = now_ms - memory.heard_ms - silence_ms(memory, desk.settings)
    if memory.is_silent or not memory.collectors or silent_for_ms < 0:
        return
    if silent_for_ms > desk.settings.late_timer_ms:
        # The query itself was away: its input may wait in Kafka still.
        memory.heard_ms = now_ms
        return
    memory.is_silent = True
    moment = Moment(now_ms, f"timer/{memory.newest_ms}")
    _lose(desk, BrokerStatus.UNKNOWN, f"{SILENT}no collector reports it", moment)
    # Silence is told by the query fleet: of a whole cluster it is one alert.
    desk.book.resolve(Rule.BROKER_UNKNOWN, None, "silent", now_ms, to_status=BrokerStatus.UNKNOWN)


def _evidence(memory: BrokerMemory) -> dict[str, Any]:
    return {
        "reason": memory.reason,
        "is_fenced": memory.is_fenced,
        "controller_id": memory.controller_id,
        "last_seen_ms": memory.seen_ms,
        "log_dirs": {
            path: {
                "last_status": log_dir.last_status,
                "used_ratio": rules.used_ratio(log_dir.total_bytes, log_dir.usable_bytes),
                "is_metadata_dir": log_dir.is_metadata_dir,
            }
            for path, log_dir in sorted(memory.log_dirs.items())
        },
    }
