"""``log_dir_offline``: one alert for the directories that went offline together, as long as any of them is offline.

The alert is kept with the first of them, its carrier, and keeps that path: consumers identify an alert by its place.
"""

from collections.abc import Iterable

from logdirwatch.detect import causes, predicates
from logdirwatch.detect.alerts import evidence, messages
from logdirwatch.detect.alerts.context import BrokerContext, EvidenceTime
from logdirwatch.detect.alerts.lifecycle import RECOVERED
from logdirwatch.detect.state.broker_state import BrokerMemory, LogDirMemory, OpenAlert
from logdirwatch.model.evidence import read_as
from logdirwatch.model.evidence.log_dirs import LogDirOfflineEvidence
from logdirwatch.model.vocabulary import SPACE_STATUSES, LogDirStatus, Rule

AT_ONCE_POLLS = 1.5
"""Within how many polls directories count as failing at once: two polls may see simultaneous failures."""
DEFAULT_INTERVAL_MS = 5_000

_LESSER_RULES = (
    Rule.LOG_DIR_SUSPECT,
    Rule.LOG_DIR_UNKNOWN,
    Rule.UNACCOUNTED_BYTES,
    Rule.LOG_DIR_CHANGED,
    Rule.UNCLEANABLE_PARTITIONS,
)


def alert_of(memory: BrokerMemory, path: str) -> OpenAlert | None:
    """Return the open alert that covers an offline directory: its own, or that of its carrier."""
    return memory.log_dirs[carrier_of(memory, path)].alerts.get(Rule.LOG_DIR_OFFLINE)


def is_quiet(memory: BrokerMemory) -> bool:
    """Tell whether no directory is covered by the alert of another one."""
    return all(log_dir.carrier is None for log_dir in memory.log_dirs.values())


def join(memory: BrokerMemory, path: str, peers: Iterable[str] = ()) -> None:
    """Let a directory that goes offline share the alert of those that failed at once.

    ``peers`` are those that fail with it and have no alert yet.
    """
    log_dir = memory.log_dirs[path]
    if alert_of(memory, path) is not None:
        return
    ready = set(peers)
    others = [
        other
        for other, known in sorted(memory.log_dirs.items())
        if other != path and _are_at_once(known, log_dir) and (other in ready or _is_told(memory, other))
    ]
    log_dir.carrier = carrier_of(memory, others[0]) if others else None


def judge(context: BrokerContext, path: str) -> bool:
    """Evaluate the evidence on an offline directory again; return whether the verdict changed."""
    log_dir = context.memory.log_dirs[path]
    verdict = causes.judge(context.memory, path, context.thresholds(path))
    is_news = verdict != log_dir.verdict
    causes.set_verdict(log_dir, verdict)
    return is_news


def tell(
    context: BrokerContext, path: str, before: str | None, moment: EvidenceTime, identity: str | None = None
) -> None:
    """Open or update the alert about an offline directory; its alerts about lesser states end."""
    carrier = carrier_of(context.memory, path)
    open_alert = context.memory.log_dirs[carrier].alerts.get(Rule.LOG_DIR_OFFLINE)
    away = away_with(context.memory, carrier)
    severity = predicates.offline_severity(context.memory.partitions)
    # Once other replicas lead, fewer partitions are affected, but the failure itself is no milder.
    if open_alert is not None and open_alert.severity.rank > severity.rank:
        severity = open_alert.severity
    context.alerts.raise_alert(
        Rule.LOG_DIR_OFFLINE,
        carrier,
        severity=severity,
        transition=(before if open_alert is None else open_alert.from_status, LogDirStatus.OFFLINE),
        cause=causes.common([causes.shown(context.memory.log_dirs[other]) for other in away]),
        evidence=evidence.of_offline(context, carrier, away),
        affected=evidence.affected_in(context, [context.memory.log_dirs[other] for other in away]),
        summary=messages.offline(context.memory, away, severity),
        at_ms=moment.at_ms,
        origin=moment.origin,
        identity=identity,
    )


def forget(context: BrokerContext, path: str | None, until_ms: int, moment: EvidenceTime, reason: str) -> None:
    """End what only the broker's log says of a directory that a person declared healthy."""
    if path is None or not causes.is_condemned(context.memory, log_dir := context.memory.log_dirs[path]):
        return
    if (log_dir.event_ms or 0) <= until_ms and log_dir.error_code == 0:
        log_dir.verdict = log_dir.cause = log_dir.event_detail = None
        if not is_shared(context.memory, path):
            context.alerts.resolve(Rule.LOG_DIR_OFFLINE, path, reason, moment.at_ms, to_status=log_dir.status)


def end_lesser(context: BrokerContext, path: str, moment: EvidenceTime) -> None:
    """End the alerts about lesser states of a directory that is offline now."""
    log_dir = context.memory.log_dirs[path]
    log_dir.suspicions, log_dir.change = {}, None
    told = alert_of(context.memory, path)
    for rule in (*_LESSER_RULES, Rule.LOG_DIR_SPACE):
        context.alerts.resolve(rule, path, "offline", moment.at_ms, to_status=LogDirStatus.OFFLINE, into=told)


def is_shared(memory: BrokerMemory, path: str) -> bool:
    """Tell whether the alert of a directory covers others as well."""
    log_dir = memory.log_dirs[path]
    return log_dir.carrier is not None or any(other.carrier == path for other in memory.log_dirs.values())


def settle(context: BrokerContext, moment: EvidenceTime) -> None:
    """Remove directories that are back from shared alerts; an alert ends when all of them are back."""
    memory = context.memory
    for path, log_dir in sorted(memory.log_dirs.items()):
        if log_dir.carrier is not None and log_dir.carrier not in memory.log_dirs:
            _find_another(context, path, moment)
    for carrier in sorted({log_dir.carrier for log_dir in memory.log_dirs.values() if log_dir.carrier is not None}):
        if Rule.LOG_DIR_OFFLINE in memory.log_dirs[carrier].alerts:
            _settle(context, carrier, moment)


def _settle(context: BrokerContext, carrier: str, moment: EvidenceTime) -> None:
    members = [path for path, log_dir in sorted(context.memory.log_dirs.items()) if log_dir.carrier == carrier]
    left = [path for path in (carrier, *members) if context.memory.log_dirs[path].status not in SPACE_STATUSES]
    alert = context.memory.log_dirs[carrier].alerts[Rule.LOG_DIR_OFFLINE]
    shown = read_as(alert.evidence, LogDirOfflineEvidence)
    if left:
        if set(shown.log_dirs or ()) != set(left):
            tell(context, carrier, None, moment)
        for path in set(members) - set(left):
            context.memory.log_dirs[path].carrier = None
        return
    is_of_log = shown.event_detail is not None or shown.decided_by == causes.BROKER_LOG
    # An event alone may be a mistake: a failure that no answer and no log line confirmed did not recover.
    was_confirmed = alert.calm_since_ms is not None or shown.error_code is not None or is_of_log
    status = context.memory.log_dirs[carrier].status
    context.alerts.resolve(
        Rule.LOG_DIR_OFFLINE, carrier, RECOVERED if was_confirmed else "unconfirmed", moment.at_ms, to_status=status
    )
    if Rule.LOG_DIR_OFFLINE not in context.memory.log_dirs[carrier].alerts:
        for path in members:
            context.memory.log_dirs[path].carrier = None


def _find_another(context: BrokerContext, path: str, moment: EvidenceTime) -> None:
    """Alert about a directory whose carrier was removed from ``log.dirs``, together with its alert."""
    log_dir = context.memory.log_dirs[path]
    log_dir.carrier = None
    if log_dir.status is LogDirStatus.OFFLINE:
        join(context.memory, path)
        tell(context, path, LogDirStatus.OFFLINE, moment)


def away_with(memory: BrokerMemory, carrier: str) -> list[str]:
    """Return the directories of an alert that are not back, the carrier first; the carrier if all are back."""
    members = [path for path, log_dir in sorted(memory.log_dirs.items()) if log_dir.carrier == carrier]
    away = [path for path in (carrier, *members) if memory.log_dirs[path].status not in SPACE_STATUSES]
    return away or [carrier]


def carrier_of(memory: BrokerMemory, path: str) -> str:
    """Return the directory whose alert covers an offline one: itself if no other does."""
    carrier = memory.log_dirs[path].carrier
    return path if carrier is None or carrier not in memory.log_dirs else carrier


def _is_told(memory: BrokerMemory, path: str) -> bool:
    return memory.log_dirs[path].status is LogDirStatus.OFFLINE and alert_of(memory, path) is not None


def _are_at_once(one: LogDirMemory, other: LogDirMemory) -> bool:
    if one.offline_ms is None or other.offline_ms is None:
        return False
    interval_ms = max(one.interval_ms, other.interval_ms) or DEFAULT_INTERVAL_MS
    return abs(one.offline_ms - other.offline_ms) <= AT_ONCE_POLLS * interval_ms
