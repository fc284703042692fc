"""Failures without a directory, waiting for one to go offline."""

from logdirwatch.detect.alerts.context import Desk, Moment
from logdirwatch.detect.rules import log_dir_offline
from logdirwatch.detect.state.broker_state import BrokerMemory, PendingEvent

MOST = 1_000
"""More failures than a broker has directories."""


def wait(desk: Desk, identity: str, at_ms: int, deadline_ms: int) -> None:
    """Keep a fast alert until a directory of the broker goes offline or ``deadline_ms`` has passed.

    If there are too many, the first ones are resolved at once, since their directories are unknown.
    """
    _close(desk, desk.memory.pending[: 1 - MOST], at_ms)
    desk.memory.pending.append(PendingEvent(alert_id=identity, at_ms=at_ms, deadline_ms=deadline_ms))


def meant_by(desk: Desk, failing: list[str]) -> str | None:
    """Return the fast alert that the directories failing now continue; those that fail at once share one alert."""
    return desk.memory.pending[0].alert_id if desk.memory.pending and failing else None


def settle(desk: Desk, failed: list[str], moment: Moment) -> None:
    """Merge the failures without a directory, now that one went offline."""
    if not failed:
        return
    alerts = [alert.alert_id for path in failed if (alert := log_dir_offline.alert_of(desk.memory, path)) is not None]
    for event in desk.memory.pending:
        if event.alert_id not in alerts:
            desk.book.answer_fast(event.alert_id, event.at_ms, moment.at_ms, alerts[0])
    desk.memory.pending = []


def expire(desk: Desk, now_ms: int) -> None:
    """Close the failures without an offline directory in time, once the broker has answered since.

    While it does not answer, a directory may be offline unnoticed.
    """
    due = [event for event in desk.memory.pending if event.deadline_ms <= now_ms and is_answered(desk.memory, event)]
    _close(desk, due, now_ms)


def is_answered(memory: BrokerMemory, event: PendingEvent) -> bool:
    """Tell whether the broker has reported its directories since the failure."""
    return memory.seen_ms is not None and memory.seen_ms > event.at_ms


def give_up(desk: Desk, at_ms: int) -> None:
    """Close all waiting failures: their broker was removed."""
    _close(desk, list(desk.memory.pending), at_ms)


def _close(desk: Desk, events: list[PendingEvent], at_ms: int) -> None:
    for event in events:
        desk.memory.pending.remove(event)
        desk.book.answer_fast(event.alert_id, event.at_ms, at_ms, None)
