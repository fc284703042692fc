"""A test message to every receiver, followed by its resolution."""

from collections.abc import Callable, Mapping

from logdirwatch.model.evidence import NO_EVIDENCE
from logdirwatch.model.identity import identity
from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import NO_CLUSTER, AlertStatus, Lane, Rule, Severity
from logdirwatch.notify.groups import Member, Message, Reason
from logdirwatch.notify.routing import GroupKey
from logdirwatch.notify.senders import Sender, SendError, hand_over


def run(channels: Mapping[str, Sender], now_ms: int, say: Callable[[str], object]) -> list[str]:
    """Send every receiver a message and its resolution; report the results and return the receivers that failed."""
    errors = {name: _tried(name, sender, now_ms) for name, sender in channels.items()}
    for name, error in errors.items():
        say(f"{name}: {error or 'accepted'}")
    return [name for name, error in errors.items() if error is not None]


def _tried(name: str, sender: Sender, now_ms: int) -> str | None:
    try:
        for message in _messages(name, now_ms):
            hand_over(sender, message)
    except SendError as error:
        return str(error)
    return None


def _messages(name: str, now_ms: int) -> tuple[Message, Message]:
    group, alert = GroupKey(name, "test"), _alert(now_ms, AlertStatus.FIRING)
    ended = _alert(now_ms, AlertStatus.RESOLVED)
    return (
        Message(group, Reason.FIRST, now_ms, (Member(alert),), (), {}, is_test=True),
        Message(group, Reason.RESOLVED, now_ms, (), (ended,), {alert.alert_id: alert.severity}, is_test=True),
    )


def _alert(now_ms: int, status: AlertStatus) -> AlertRecord:
    return AlertRecord(
        version=1,
        alert_id=identity("test", str(now_ms)),
        revision=int(status is AlertStatus.RESOLVED),
        status=status,
        rule=Rule.HEARTBEAT,
        severity=Severity.INFO,
        cluster=NO_CLUSTER,
        broker=None,
        log_dir=None,
        from_status=None,
        to_status=None,
        cause=None,
        opened_at_ms=now_ms,
        at_ms=now_ms,
        lane=Lane.STATEFUL,
        evidence=NO_EVIDENCE,
        affected={},
        summary="A test of logdirwatch notify: nothing is wrong",
        reason="test" if status is AlertStatus.RESOLVED else None,
    )
