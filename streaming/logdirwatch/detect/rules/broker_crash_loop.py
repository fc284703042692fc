"""``broker_crash_loop``: a broker that is away and comes back again and again, each time within its grace period.

A controlled restart counts less: a broker is restarted once or twice by hand, but a supervisor may stop it forever. An
announced one does not count. It ends once the broker has answered for longer than it ever did in between.
"""

from itertools import pairwise

from logdirwatch.config.section import HOUR_MS
from logdirwatch.detect.alerts import absence_messages, evidence
from logdirwatch.detect.alerts.context import BrokerContext, EvidenceTime
from logdirwatch.detect.alerts.lifecycle import RECOVERED
from logdirwatch.detect.rules.broker_offline import away_evidence
from logdirwatch.detect.state.broker_state import BrokerMemory, Episode
from logdirwatch.model.broker_failures import BrokerFailureReason
from logdirwatch.model.evidence.brokers import BrokerCrashLoopEvidence
from logdirwatch.model.records import MetricsRecord
from logdirwatch.model.vocabulary import Rule, Severity

WINDOW_MS = HOUR_MS
RESTARTS = 3
CONTROLLED = 2
"""So many controlled restarts count as one crash."""
UP_MS = 600_000
UP_RATIO = 2
"""It has ended after so many times the longest run in between, and at least ``UP_MS``."""


def judge_answer(context: BrokerContext, record: MetricsRecord, moment: EvidenceTime) -> None:  # noqa: ARG001 - as its kin
    """Raise the alert with the absence that makes it a loop, and end it once the broker stays."""
    memory = context.memory
    if not memory.episodes:
        return
    back_ms = memory.episodes[-1].until_ms or moment.at_ms
    recent = [episode for episode in memory.episodes if back_ms - episode.since_ms <= WINDOW_MS]
    up_ms = moment.at_ms - max(back_ms, memory.since_ms)
    if back_ms == moment.at_ms and (is_looping(memory) or _is_loop(recent)):
        _tell(context, recent, moment)
    elif is_looping(memory) and up_ms >= max(UP_MS, UP_RATIO * longest_run_ms(recent)):
        context.alerts.resolve(Rule.BROKER_CRASH_LOOP, None, RECOVERED, moment.at_ms, to_status=memory.status)


def _is_loop(recent: list[Episode]) -> bool:
    controlled = sum(episode.reason == BrokerFailureReason.STOPPED for episode in recent)
    return len(recent) - controlled + controlled // CONTROLLED >= RESTARTS


def longest_run_ms(episodes: list[Episode]) -> int:
    """Return the longest time between two absences."""
    runs = (after.since_ms - (before.until_ms or before.since_ms) for before, after in pairwise(episodes))
    return max(runs, default=0)


def _tell(context: BrokerContext, recent: list[Episode], moment: EvidenceTime) -> None:
    memory = context.memory
    # Not every crash leaves a line in the log: the newest one that did explains the loop.
    said = next((episode for episode in reversed(recent) if episode.reason is not None), Episode(since_ms=0))
    told = [alert.severity for rule, alert in memory.alerts.items() if rule is Rule.BROKER_CRASH_LOOP]
    context.alerts.raise_alert(
        Rule.BROKER_CRASH_LOOP,
        None,
        # A crash leaves the window before the loop ends: the alert must not become milder by that.
        severity=max([_severity(recent), *told], key=lambda severity: severity.rank),
        transition=(memory.status, memory.status),
        evidence=away_evidence(
            BrokerCrashLoopEvidence,
            memory,
            restarts=len(recent),
            at_least=_at_least(len(recent)),
            since_ms=recent[0].since_ms,
            longest_run_ms=longest_run_ms(recent),
            log_says=said.text,
            log_reason=said.reason,
        ),
        affected=evidence.affected_by_broker(context),
        summary=absence_messages.crash_loop(memory, len(recent), moment.at_ms - recent[0].since_ms, said),
        at_ms=moment.at_ms,
        origin=moment.origin,
    )


def _severity(recent: list[Episode]) -> Severity:
    is_stopped = all(episode.reason == BrokerFailureReason.STOPPED for episode in recent)
    return Severity.WARNING if is_stopped else Severity.CRITICAL


def _at_least(restarts: int) -> int:
    """Return the number that is news: twice as many restarts are, one more is not."""
    reached = RESTARTS
    while reached * 2 <= restarts:
        reached *= 2
    return reached


def is_quiet(memory: BrokerMemory) -> bool:
    """Tell whether it waits for nothing: only an absence begins it, and only an open alert has an end."""
    return not is_looping(memory)


def is_looping(memory: BrokerMemory) -> bool:
    """Tell whether the broker is in a crash loop: its restarts are not those of a rolling restart."""
    return Rule.BROKER_CRASH_LOOP in memory.alerts
