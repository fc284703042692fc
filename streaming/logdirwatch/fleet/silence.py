"""Brokers that no collector reports: one alert each, or a single one when it is the whole cluster.

Timers of brokers run out over some seconds, so nothing is decided before ``silence_gather_ms`` have passed::

    a broker silent ──▶ gather ──┬── others are reported ──▶ an alert for the broker ──▶ it answers: resolved
                                 │                                    │ the last one falls silent, gather: merged
                                 └── all are silent ──▶ one alert for the cluster ◀──┘
                                                          │        │
                                  all of them answer: resolved ◀┘        └──▶ some do not, gather: narrowed to one each

A broker that is reported again is not necessarily healthy: its alert ends when it answers, or is merged into the alert
that ``detect`` opens when it does not. A silent broker for which ``detect`` already has such an alert keeps it and gets
no second one.

During the maintenance of a silent broker its alert is ``info``; the cluster's is if all its brokers are in maintenance.
"""

from collections.abc import Iterable
from functools import partial

import msgspec
from msgspec.structs import replace

from logdirwatch.detect.alerts.lifecycle import RENEWED_AFTER_MS
from logdirwatch.fleet import risk, rules, wording
from logdirwatch.fleet.alerts import Claim, Details
from logdirwatch.fleet.context import ClusterContext
from logdirwatch.fleet.memory import BrokerDigest, FleetAlert, FleetMemory, alert_key
from logdirwatch.fleet.settings import FleetSettings
from logdirwatch.model.evidence.base import UsedLogDir
from logdirwatch.model.evidence.clusters import BrokerSilentEvidence, ClusterSilentEvidence
from logdirwatch.model.records import ADVANCES_NOT, SILENT
from logdirwatch.model.vocabulary import BrokerStatus, Rule, Severity

RULE = Rule.BROKER_UNKNOWN
_ABOUT_CLUSTERS = (Rule.PARTITIONS_AT_RISK, Rule.FLEET_SPACE, Rule.LOG_DIR_SUSPECT)


def follow_clock(context: ClusterContext, now_ms: int) -> None:
    """Wait from now on where a silence seems to begin in the future: the clock of the stream's host was set back."""
    memory = context.memory
    for broker, digest in memory.brokers.items():
        if (digest.silent_at_ms or 0) > now_ms:
            memory.brokers[broker] = replace(digest, silent_at_ms=now_ms)
            context.tally.put(broker, memory.brokers[broker])
    if memory.regather_ms is not None:
        memory.regather_ms = min(memory.regather_ms, now_ms + context.settings.silence_gather_ms)


def follow(context: ClusterContext, broker: int, now_ms: int) -> None:
    """Apply a broker's new record: an answer ends its alert."""
    digest = context.memory.brokers[broker]
    if digest.is_silent:
        _follow_plan(context, broker, digest, now_ms)
        return
    _follow_reported(context, broker, digest, now_ms)
    if context.alerts.get(RULE) is not None:
        _gather_again(context, now_ms)


def _follow_reported(context: ClusterContext, broker: int, digest: BrokerDigest, now_ms: int) -> None:
    """End the alert of a broker that is reported again if it answers, or if ``detect`` says that it does not."""
    newest_ms = context.memory.newest_ms
    if digest.is_answering:
        context.alerts.resolve(RULE, broker, "recovered", newest_ms, to_status=digest.status)
    elif (told := _told_by_detect(digest)) is not None:
        context.alerts.resolve(RULE, broker, "merged", newest_ms, to_status=digest.status, merged_into=told)
    elif context.alerts.get(RULE, broker) is not None:
        _tell_broker(context, broker, digest, now_ms)


def _told_by_detect(digest: BrokerDigest) -> str | None:
    """Return the alert of ``detect`` about the broker's absence, the worse one first."""
    alerts = digest.absence_alerts
    return alerts.get(Rule.BROKER_OFFLINE) or alerts.get(Rule.BROKER_UNKNOWN)


def forget(context: ClusterContext, broker: int, now_ms: int) -> None:
    """Forget a removed broker."""
    context.alerts.resolve(RULE, broker, "removed", context.memory.newest_ms)
    if context.alerts.get(RULE) is not None and not context.memory.brokers:
        context.alerts.resolve(RULE, None, "removed", context.memory.newest_ms)
    elif context.alerts.get(RULE) is not None and not context.tally.sums.untold_brokers:
        _gather_again(context, now_ms)


def judge(context: ClusterContext, now_ms: int) -> None:
    """Decide about brokers whose gathering time is over."""
    sums, memory = context.tally.sums, context.memory
    is_told = context.alerts.get(RULE) is not None
    if sums.silent_brokers and sums.silent_brokers == sums.brokers:
        memory.regather_ms = None
        if is_told:
            _tell_cluster(context, now_ms)
        elif any(_due_ms(context, digest) <= now_ms for digest in memory.brokers.values()):
            _raise_for_cluster(context, now_ms)
    elif not is_told:
        _raise_for_brokers(context, now_ms)
    elif memory.regather_ms is not None and memory.regather_ms <= now_ms:
        memory.regather_ms = None
        memory.turns += 1
        _raise_for_brokers(context, now_ms)
        _raise_for_those_back(context, now_ms)
        context.alerts.resolve(RULE, None, "narrowed", now_ms)


def next_deadline_ms(memory: FleetMemory, settings: FleetSettings) -> int | None:
    """Return when ``judge`` has something to decide next; None when only a record can change anything."""
    silent = {broker: digest for broker, digest in memory.brokers.items() if digest.is_silent}
    if (told := memory.alerts.get(alert_key(RULE))) is not None:
        if memory.regather_ms is not None or told.severity is not Severity.INFO:
            return memory.regather_ms
        return min(_planned_ends(silent.values()), default=None)
    are_all = len(silent) == len(memory.brokers)
    opened = {broker: memory.alerts.get(alert_key(RULE, broker)) for broker in silent}
    due = [
        (digest.silent_at_ms or 0) + settings.silence_gather_ms
        for broker, digest in silent.items()
        if are_all or (opened[broker] is None and RULE not in digest.absence_alerts)
    ]
    notes = [broker for broker, alert in opened.items() if alert is not None and alert.severity is Severity.INFO]
    return min([*due, *_planned_ends(silent[broker] for broker in notes)], default=None)


def renew_unseen(context: ClusterContext, now_ms: int) -> None:
    """Renew the alerts of a cluster that no collector reports, since no record will come to renew them."""
    if _is_unseen(context.memory):
        context.alerts.renew(now_ms)


def unseen_renewal_ms(memory: FleetMemory) -> int | None:
    """Return when ``renew_unseen`` is due next."""
    if not _is_unseen(memory):
        return None
    return min((alert.said_ms + RENEWED_AFTER_MS for alert in memory.alerts.values()), default=None)


def _is_unseen(memory: FleetMemory) -> bool:
    return bool(memory.brokers) and all(digest.is_silent for digest in memory.brokers.values())


def _planned_ends(digests: Iterable[BrokerDigest]) -> list[int]:
    return [digest.maintenance_until_ms for digest in digests if digest.maintenance_until_ms is not None]


def _claim(digests: Iterable[BrokerDigest], now_ms: int) -> Claim:
    """Return the facts about silent brokers: ``info`` while all of them are in maintenance."""
    is_planned = all((digest.maintenance_until_ms or 0) > now_ms for digest in digests)
    return Claim(Severity.INFO if is_planned else Severity.CRITICAL, BrokerStatus.UNKNOWN)


def _follow_plan(context: ClusterContext, broker: int, digest: BrokerDigest, now_ms: int) -> None:
    """Revise the alert of a silent broker whose maintenance may have begun or ended."""
    if context.alerts.get(RULE, broker) is not None:
        _tell_broker(context, broker, digest, now_ms)
    elif context.alerts.get(RULE) is not None:
        _tell_cluster(context, now_ms)


def _gather_again(context: ClusterContext, now_ms: int) -> None:
    """Wait for brokers of a silent cluster to come back before the others get an alert each."""
    sums = context.tally.sums
    if not sums.untold_brokers:
        context.memory.regather_ms = None
        context.alerts.resolve(RULE, None, "narrowed" if sums.away_brokers else "recovered", context.memory.newest_ms)
    elif context.memory.regather_ms is None:
        context.memory.regather_ms = now_ms + context.settings.silence_gather_ms


def _due_ms(context: ClusterContext, digest: BrokerDigest) -> int:
    return (digest.silent_at_ms or 0) + context.settings.silence_gather_ms


def _raise_for_brokers(context: ClusterContext, now_ms: int) -> None:
    for broker, digest in sorted(context.memory.brokers.items()):
        if digest.is_silent and _due_ms(context, digest) <= now_ms and RULE not in digest.absence_alerts:
            _tell_broker(context, broker, digest, now_ms)


def _raise_for_those_back(context: ClusterContext, now_ms: int) -> None:
    """Open an alert for each broker that is reported again, does not answer, and has none yet."""
    for broker, digest in sorted(context.memory.brokers.items()):
        if digest.is_untold and not digest.is_silent:
            _tell_broker(context, broker, digest, now_ms)


def _tell_broker(context: ClusterContext, broker: int, digest: BrokerDigest, now_ms: int) -> None:
    claim = _claim([digest], now_ms)._replace(to_status=digest.status, figures=(int(digest.is_silent),))
    origin = f"silence/{digest.at_ms}/{digest.sequence}/{context.memory.turns}"
    context.alerts.fire(
        RULE, broker, claim, partial(_of_broker, context, broker, digest, claim.severity), now_ms, origin
    )


def _tell_cluster(context: ClusterContext, now_ms: int) -> FleetAlert:
    claim = _claim((digest for digest in context.memory.brokers.values() if digest.is_silent), now_ms)
    origin = f"silence/{context.memory.newest_ms}/{context.memory.turns}"
    return context.alerts.fire(RULE, None, claim, partial(_of_cluster, context, claim.severity), now_ms, origin)


def _raise_for_cluster(context: ClusterContext, now_ms: int) -> None:
    newest_ms = context.memory.newest_ms
    context.memory.turns += 1
    alert = _tell_cluster(context, now_ms)
    for broker in sorted(context.memory.brokers):
        context.alerts.resolve(
            RULE, broker, "merged", now_ms, to_status=BrokerStatus.UNKNOWN, merged_into=alert.alert_id
        )
    for rule in _ABOUT_CLUSTERS:
        context.alerts.mark_stale(rule, newest_ms, now_ms)


def _of_broker(context: ClusterContext, broker: int, digest: BrokerDigest, severity: Severity) -> Details:
    fullest = max(
        (disk for disk in context.tally.disks_of(broker, digest) if disk.used_ratio is not None),
        key=lambda disk: disk.used_ratio or 0.0,
        default=None,
    )
    evidence = BrokerSilentEvidence(
        host=digest.host or None,
        reason=digest.reason,
        last_seen_ms=digest.last_seen_ms,
        brokers=context.tally.sums.brokers,
        silent_brokers=context.tally.sums.silent_brokers,
        maintenance_until_ms=digest.maintenance_until_ms,
        fullest=None if fullest is None else UsedLogDir(log_dir=fullest.paths[0], used_ratio=fullest.used_ratio),
    )
    affected = {} if digest.partitions is None else msgspec.to_builtins(digest.partitions)
    say = wording.broker_silent if digest.is_silent else wording.broker_not_answering
    summary = say(broker, evidence, is_planned=severity is Severity.INFO)
    return Details(evidence, affected, summary)


def _of_cluster(context: ClusterContext, severity: Severity) -> Details:
    away = [broker for broker, digest in sorted(context.memory.brokers.items()) if digest.absence_alerts]
    evidence = ClusterSilentEvidence(
        reason=next(
            (told for digest in context.memory.brokers.values() if ADVANCES_NOT in (told := digest.reason or "")),
            f"{SILENT}no collector reports any broker",
        ),
        last_seen_ms=context.memory.newest_ms,
        brokers=context.tally.sums.brokers,
        silent_brokers=context.tally.sums.silent_brokers,
        away_before=away[: rules.EXAMPLES],
    )
    summary = wording.cluster_silent(context.memory.cluster, evidence, is_planned=severity is Severity.INFO)
    return Details(evidence, risk.affected(context), summary)
