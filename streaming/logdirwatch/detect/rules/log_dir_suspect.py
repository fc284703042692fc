"""``log_dir_suspect``: a disk or broker is suspect although Kafka reports it healthy; one alert for all suspicions.

Kafka does not detect slow and failing disks (KIP-112), and failed reads for consumers never mark a directory offline.
"""

from collections.abc import Mapping
from typing import Any

from logdirwatch.detect.alerts import evidence, messages
from logdirwatch.detect.alerts.context import BrokerContext, EvidenceTime
from logdirwatch.detect.alerts.lifecycle import RECOVERED, Holder
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.state.broker_state import BrokerMemory, LogDirMemory, Pace
from logdirwatch.model.evidence.brokers import BrokerSuspectEvidence
from logdirwatch.model.evidence.log_dirs import LogDirSuspectEvidence
from logdirwatch.model.records import MetricsRecord
from logdirwatch.model.vocabulary import KernelTrouble, Rule, Severity
from logdirwatch.text.units import human_ms

ERROR_CODE = "error_code"
PROBE = "probe"
NO_DIRECTORY = "no_directory"
READ_ONLY = "read_only"
SLOW_PROBE = "slow_probe"
SLOWER_THAN_OTHERS = "slower_than_others"
LAGGING = "lagging"
SLOW_FLUSH = "slow_flush"
OFFLINE_COUNT = "offline_count"
_KINDS = frozenset(BrokerSuspectEvidence.__struct_fields__)
LEARNING = 20
LEARNED = 0.05


def suspect(
    context: BrokerContext, path: str | None, kind: str, text: str, moment: EvidenceTime, *, before: str | None = None
) -> None:
    """Add a suspicion about a directory, or the broker (None)."""
    hold(context, path, {kind: text}, moment, before=before)


def hold(
    context: BrokerContext,
    path: str | None,
    texts: Mapping[str, str],
    moment: EvidenceTime,
    *,
    before: str | None = None,
) -> None:
    """Add several suspicions about a directory, or the broker (None), by kind."""
    holder = context.alerts.holder(path)
    holder.suspicions.update(texts)
    status = str(holder.status)
    log_dir = None if path is None else context.memory.log_dirs[path]
    refused = 0 if log_dir is None else log_dir.refused_partitions
    severity = _severity(holder.suspicions, refused)
    context.alerts.raise_alert(
        Rule.LOG_DIR_SUSPECT,
        path,
        severity=severity,
        transition=(before or status, status),
        evidence=_evidence(holder, log_dir),
        affected=evidence.affected(context, log_dir) if log_dir else evidence.affected_by_broker(context),
        summary=messages.suspect(
            context.memory,
            path,
            {kind: holder.suspicions[kind] for kind in sorted(holder.suspicions)},
            severity,
            refused,
        ),
        at_ms=moment.at_ms,
        origin=moment.origin,
    )


def _evidence(holder: Holder, log_dir: LogDirMemory | None) -> BrokerSuspectEvidence:
    why, device = sorted(holder.suspicions), devices_of(holder)
    texts: dict[str, Any] = {kind: text for kind, text in holder.suspicions.items() if kind in _KINDS}
    if log_dir is None:
        return BrokerSuspectEvidence(why=why, device=device, **texts)
    return LogDirSuspectEvidence(
        why=why,
        device=device,
        refused_partitions=log_dir.refused_partitions or None,
        **texts,
        **evidence.last_sample(log_dir),
    )


def _severity(suspicions: Mapping[str, str], refused_partitions: int) -> Severity:
    """Return the severity: critical if the next write fails or some are refused; kernel errors may be worse."""
    told = [KernelTrouble(kind).severity for kind in suspicions if kind in set(KernelTrouble)]
    is_urgent = refused_partitions or any(messages.fails_next_write(*one) for one in suspicions.items())
    least = Severity.CRITICAL if is_urgent else Severity.WARNING
    return max([least, *told], key=lambda severity: severity.rank)


def devices_of(holder: Holder) -> str | None:
    """Return the devices named by the kernel, None if there are none."""
    named = {trouble.device for trouble in holder.troubles.values() if trouble.device}
    return ", ".join(sorted(named)) or None


def clear(
    context: BrokerContext, path: str | None, kind: str, moment: EvidenceTime, *, reason: str = RECOVERED
) -> None:
    """Remove a suspicion: the alert is revised, and ends with the last one."""
    holder = context.alerts.holder(path)
    was_held, alert = holder.suspicions.pop(kind, None) is not None, holder.alerts.get(Rule.LOG_DIR_SUSPECT)
    # A stale alert is about a broker that is away: nothing that it says can be revised before the broker answers.
    if was_held and holder.suspicions and alert is not None and alert.stale_since_ms is None:
        hold(context, path, {}, moment)
    if not holder.suspicions:
        context.alerts.resolve(Rule.LOG_DIR_SUSPECT, path, reason, moment.at_ms, to_status=str(holder.status))


def judge_answer(context: BrokerContext, _: MetricsRecord, moment: EvidenceTime) -> None:
    """End an alert that flapping held open after the last suspicion was removed."""
    for path, holder in context.alerts.holders():
        if Rule.LOG_DIR_SUSPECT in holder.alerts and not holder.suspicions:
            context.alerts.resolve(Rule.LOG_DIR_SUSPECT, path, RECOVERED, moment.at_ms, to_status=str(holder.status))


def is_quiet(memory: BrokerMemory) -> bool:
    """Tell whether nothing is suspected."""
    return not memory.suspicions and not any(log_dir.suspicions for log_dir in memory.log_dirs.values())


def is_told(context: BrokerContext, path: str | None, kind: str) -> bool:
    """Tell whether the alert already has this suspicion; one that was stale while its broker was away is revised."""
    alert = context.alerts.holder(path).alerts.get(Rule.LOG_DIR_SUSPECT)
    return kind in context.alerts.holder(path).suspicions and (alert is None or alert.stale_since_ms is None)


def judge_pace(
    context: BrokerContext, path: str | None, kind: str, pace: Pace, took_ms: float, what: str, moment: EvidenceTime
) -> None:
    """Compare the duration of something with the usual one there; slow samples do not change the usual duration."""
    if not _is_slow(pace, took_ms, context.settings):
        pace.slow_samples = 0
        _learn(pace, took_ms)
        clear(context, path, kind, moment)
        return
    pace.slow_samples += 1
    if pace.slow_samples >= context.settings.slow_samples:
        text = f"{what} took {human_ms(took_ms)}, usually {human_ms(pace.usual_ms)}"
        if not is_told(context, path, kind):
            suspect(context, path, kind, text, moment)


def _is_slow(pace: Pace, took_ms: float, settings: DetectSettings) -> bool:
    # A factor alone would suspect a fast disk that takes 5 ms instead of 1.
    is_known = pace.samples >= LEARNING
    return is_known and took_ms >= settings.slow_min_ms and took_ms > settings.slow_factor * pace.usual_ms


def _learn(pace: Pace, took_ms: float) -> None:
    pace.samples = min(pace.samples + 1, LEARNING)
    # The plain mean of the first samples, then an exponential one: its weight is that of the last plain one, so nothing
    # jumps.
    weight = max(LEARNED, 1 / pace.samples) if pace.samples < LEARNING else LEARNED
    pace.usual_ms += weight * (took_ms - pace.usual_ms)
