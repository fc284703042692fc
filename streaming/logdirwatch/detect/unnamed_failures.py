"""Failures without a directory, waiting for one to go offline."""

from logdirwatch.detect.alerts.context import BrokerContext, EvidenceTime
from logdirwatch.detect.rules import log_dir_offline
from logdirwatch.detect.state.broker_state import BrokerMemory, PendingEvent

MOST = 1_000
"""More failures than a broker has directories."""


def wait(context: BrokerContext, identity: str, at_ms: int, deadline_ms: int) -> None:
    """Keep a fast alert until a directory of the broker goes offline or ``deadline_ms`` has passed.

    If there are too many, the first ones are resolved at once, since their directories are unknown.
    """
    _close(context, context.memory.pending[: 1 - MOST], at_ms)
    context.memory.pending.append(PendingEvent(alert_id=identity, at_ms=at_ms, deadline_ms=deadline_ms))


def meant_by(context: BrokerContext, failing: list[str]) -> str | None:
    """Return the fast alert that the directories failing now continue; those that fail together share one alert."""
    return context.memory.pending[0].alert_id if context.memory.pending and failing else None


def settle(context: BrokerContext, failed: list[str], moment: EvidenceTime) -> None:
    """Merge the failures without a directory, now that one went offline."""
    if not failed:
        return
    alerts = [
        alert.alert_id for path in failed if (alert := log_dir_offline.alert_of(context.memory, path)) is not None
    ]
    for event in context.memory.pending:
        if event.alert_id not in alerts:
            context.alerts.answer_fast(event.alert_id, event.at_ms, moment.at_ms, alerts[0])
    context.memory.pending = []


def expire(context: BrokerContext, now_ms: int) -> None:
    """Close the failures without an offline directory in time, once the broker has answered since.

    While it does not answer, a directory may be offline unnoticed.
    """
    due = [
        event for event in context.memory.pending if event.deadline_ms <= now_ms and is_answered(context.memory, event)
    ]
    _close(context, due, now_ms)


def is_answered(memory: BrokerMemory, event: PendingEvent) -> bool:
    """Tell whether the broker has reported its directories since the failure."""
    return memory.seen_ms is not None and memory.seen_ms > event.at_ms


def give_up(context: BrokerContext, at_ms: int) -> None:
    """Close all waiting failures: their broker was removed."""
    _close(context, list(context.memory.pending), at_ms)


def _close(context: BrokerContext, events: list[PendingEvent], at_ms: int) -> None:
    for event in events:
        context.memory.pending.remove(event)
        context.alerts.answer_fast(event.alert_id, event.at_ms, at_ms, None)
