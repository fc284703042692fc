"""Alerts about a broker's absence: after a grace period, and as ``info`` while it is planned."""

from typing import Any, TypeVar

from logdirwatch.detect import predicates
from logdirwatch.detect.alerts import absence_messages, evidence
from logdirwatch.detect.alerts.context import BrokerContext, EvidenceTime
from logdirwatch.detect.state import log_recovery, maintenance
from logdirwatch.detect.state.broker_state import BrokerLogFinding, BrokerMemory
from logdirwatch.detect.state.episodes import STOPPING_MS
from logdirwatch.model.broker_failures import BrokerFailureReason
from logdirwatch.model.evidence import read_as
from logdirwatch.model.evidence.brokers import (
    BrokerAwayEvidence,
    BrokerOfflineEvidence,
    BrokerUnknownEvidence,
    KnownLogDir,
)
from logdirwatch.model.records import EventRecord
from logdirwatch.model.vocabulary import BrokerStatus, Rule, Severity
from logdirwatch.text.printable import printable
from logdirwatch.text.words import shortened

Away = TypeVar("Away", bound=BrokerAwayEvidence)
AWAY = frozenset({BrokerStatus.OFFLINE, BrokerStatus.UNKNOWN})
RULES = (Rule.BROKER_OFFLINE, Rule.BROKER_UNKNOWN)
"""The rules about a broker's absence."""


SAID_CHARACTERS = 400
_CUT_SHORT = "it was stopped while it recovered its logs, which begins again at the next start: "


def raise_unknown(context: BrokerContext, failures: int, moment: EvidenceTime) -> None:
    """Raise the alert about a broker that failed to answer several polls in a row; fleet alerts about silent ones.

    One absence has one alert: that the controller gave the broker up stays told until it answers.
    """
    memory = context.memory
    if failures < context.settings.failure_polls or memory.is_silent or Rule.BROKER_OFFLINE in memory.alerts:
        return
    # A starting broker answers no request before its logs are recovered, so its silence is expected.
    if Rule.BROKER_UNKNOWN in memory.alerts or not log_recovery.is_under_way(memory, moment.at_ms, context.settings):
        _tell_unknown(context, moment)


def raise_offline(context: BrokerContext, moment: EvidenceTime) -> None:
    """Raise the alert when the grace period is over: a planned restart ends sooner, or is still recovering its logs."""
    memory = context.memory
    if Rule.BROKER_OFFLINE not in memory.alerts and _has_grace(context, moment):
        return
    _tell_offline(context, moment)
    told = context.memory.alerts[Rule.BROKER_OFFLINE]
    context.alerts.resolve(
        Rule.BROKER_UNKNOWN, None, "offline", moment.at_ms, to_status=BrokerStatus.OFFLINE, into=told
    )


def go_on_unseen(context: BrokerContext, moment: EvidenceTime) -> None:
    """Keep the alert of a broker that falls silent, marked stale: silence is no evidence of health.

    It ends when the broker answers, or ``broker_offline`` replaces it. The state record says that the broker has an
    alert already, so that ``fleet``, which alerts about silence, does not raise a second one.
    """
    alert = context.memory.alerts.get(Rule.BROKER_UNKNOWN)
    if alert is not None:
        alert.calm_since_ms = None
        alert.summary = absence_messages.broker_unseen(
            context.memory, read_as(alert.evidence, BrokerAwayEvidence).reason
        )
        context.alerts.mark_stale(None, moment.at_ms, only={Rule.BROKER_UNKNOWN})


def take_progress(context: BrokerContext, record: EventRecord, moment: EvidenceTime) -> None:
    """Apply a line of its log that counts what a starting broker has recovered; an open alert says so."""
    log_recovery.note_line(context.memory, record, moment.at_ms)
    tell_again(context, moment)


def tell_again(context: BrokerContext, moment: EvidenceTime) -> None:
    """Revise the alerts about an absence after a decision on it."""
    if context.memory.status in AWAY:
        _revise(context, [rule for rule in _TELL if rule in context.memory.alerts], moment)


def keep_to_plan(context: BrokerContext, moment: EvidenceTime) -> None:
    """Give alerts about an absence severity ``info`` exactly while it is planned, including those that fired before."""
    alerts, is_planned = context.memory.alerts, maintenance.running(context.memory) is not None
    told = [rule for rule in _TELL if rule in alerts and (alerts[rule].severity is Severity.INFO) is not is_planned]
    if told and context.memory.status in AWAY:
        _revise(context, told, moment)


def _revise(context: BrokerContext, told: list[Rule], moment: EvidenceTime) -> None:
    for rule in told:
        _TELL[rule](context, moment)
    if context.memory.is_silent:
        # A decision is no observation of the broker.
        context.alerts.mark_stale(None, moment.at_ms, only=told)


def _has_grace(context: BrokerContext, moment: EvidenceTime) -> bool:
    memory, settings = context.memory, context.settings
    # An absence begins once, however often it changes between offline and unknown; memories of 0.2.0 have no beginning.
    away_since_ms = memory.away_since_ms
    began_ms = memory.since_ms if away_since_ms is None else min(memory.since_ms, away_since_ms)
    is_short = moment.at_ms - began_ms < settings.broker_offline_grace_ms
    return is_short or log_recovery.is_under_way(memory, moment.at_ms, settings)


def _tell_unknown(context: BrokerContext, moment: EvidenceTime) -> None:
    context.alerts.raise_alert(
        Rule.BROKER_UNKNOWN,
        None,
        severity=_severity(context.memory, Severity.CRITICAL),
        transition=(None, BrokerStatus.UNKNOWN),
        evidence=away_evidence(BrokerUnknownEvidence, context.memory),
        affected=evidence.affected_by_broker(context),
        summary=absence_messages.broker_unknown(context.memory),
        at_ms=moment.at_ms,
        origin=moment.origin,
    )


def _tell_offline(context: BrokerContext, moment: EvidenceTime) -> None:
    partitions = context.memory.partitions
    leaderless = partitions is not None and partitions.leaderless > 0
    context.alerts.raise_alert(
        Rule.BROKER_OFFLINE,
        None,
        severity=_severity(context.memory, Severity.PAGE if leaderless else Severity.CRITICAL),
        transition=(None, BrokerStatus.OFFLINE),
        evidence=away_evidence(BrokerOfflineEvidence, context.memory),
        affected=evidence.affected_by_broker(context),
        summary=absence_messages.broker_offline(context.memory),
        at_ms=moment.at_ms,
        origin=moment.origin,
    )


_TELL = {Rule.BROKER_OFFLINE: _tell_offline, Rule.BROKER_UNKNOWN: _tell_unknown}


def _severity(memory: BrokerMemory, otherwise: Severity) -> Severity:
    return otherwise if maintenance.running(memory) is None else Severity.INFO


def away_evidence(kind: type[Away], memory: BrokerMemory, **more: Any) -> Away:
    """Return evidence about a broker's absence; ``more`` are the fields of its kind."""
    return kind(
        reason=memory.reason,
        poll_status=memory.poll_status,
        is_fenced=memory.is_fenced,
        controller_id=memory.controller_id,
        last_seen_ms=memory.seen_ms,
        hangs=absence_messages.hangs(memory) or None,
        recovering_logs=log_recovery.logs_left(memory),
        # A broker halts when its metadata directory, or the last of its directories, fails: their last known use may
        # tell why it is away (LogManager.handleLogDirFailure).
        log_dirs={
            path: KnownLogDir(
                last_status=log_dir.known_status,
                used_ratio=predicates.used_ratio(log_dir.total_bytes, log_dir.usable_bytes),
                is_metadata_dir=log_dir.is_metadata_dir,
            )
            for path, log_dir in sorted(memory.log_dirs.items())
        },
        **{**_said(memory), **maintenance.evidence(memory), **more},
    )


def _said(memory: BrokerMemory) -> dict[str, Any]:
    """Return the reason for the absence from the broker's own log, if it gave one."""
    word = memory.word
    return {} if word is None else {"log_says": word.text, "log_reason": word.reason, "log_says_ms": word.at_ms}


def take_reason(context: BrokerContext, record: EventRecord, moment: EvidenceTime) -> None:
    """Record why a broker says that it stops, and revise an open alert with it.

    If the broker has answered since then for longer than a shutdown takes, the reason is not about its present absence.
    """
    memory, known = context.memory, context.memory.word
    if memory.seen_ms is not None and memory.seen_ms - moment.at_ms > STOPPING_MS:
        return
    # Lines may be read out of order: what was logged last counts.
    if known is not None and moment.at_ms < known.at_ms:
        return
    reason = record.reason or BrokerFailureReason.OTHER.value
    text = printable(shortened(record.detail or reason, SAID_CHARACTERS))
    if reason == BrokerFailureReason.STOPPED and log_recovery.is_cut_short(memory, moment.at_ms):
        # Whoever stops a broker then gives it too little time to start, and may do so again.
        reason, text = BrokerFailureReason.KILLED.value, f"{_CUT_SHORT}{text}"
    memory.word = BrokerLogFinding(at_ms=moment.at_ms, reason=reason, text=text)
    tell_again(context, moment)


def forget_reason_if_over(memory: BrokerMemory, at_ms: int) -> None:
    """Forget the reason of a broker that answers: after an absence, or for longer than a shutdown takes."""
    word = memory.word
    if word is None or at_ms <= word.at_ms:
        return
    if memory.status in AWAY or at_ms - word.at_ms > STOPPING_MS:
        memory.word = None
