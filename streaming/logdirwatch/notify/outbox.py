"""All notification groups: the alerts in each, the messages due, the messages sent. Pure; time is an argument."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain

from logdirwatch.model.records import AlertRecord, NotificationRecord
from logdirwatch.model.vocabulary import AlertStatus
from logdirwatch.notify.groups import Group, Member, Message
from logdirwatch.notify.routing import GroupKey, Router

MemberOf = Callable[[AlertRecord], Member]
"""Returns how an alert is handled now: acknowledged, silenced or neither."""


class Outbox:
    """The messages that receivers got, and those that are due.

    An alert stays in the group in which it was first sent, even when its severity changes: that group sends its end.
    """

    def __init__(self, router: Router, receivers: Iterable[str]) -> None:
        self._router = router
        self._receivers = frozenset(receivers)
        self._groups: dict[GroupKey, Group] = {}
        self._without_memory_since_ms: int | None = None
        self._routed: dict[str, tuple[AlertRecord, tuple[GroupKey, ...]]] = {}

    def has_no_memory(self, since_ms: int) -> None:
        """Record that nothing is known of what was sent before ``since_ms``."""
        self._without_memory_since_ms = since_ms

    def remember(self, records: Iterable[NotificationRecord]) -> None:
        """Load what was sent before the last restart, except to receivers that are no longer configured."""
        for record in records:
            if record.receiver not in self._receivers:
                continue
            group = self._group(GroupKey(record.receiver, record.route, tuple(record.group.items())))
            group.told.update(record.told)
            group.log_dirs.update({name: frozenset(paths) for name, paths in record.log_dirs.items()})
            group.owed.update({name: frozenset(record.unsure.get(name, ())) for name in record.owed})
            group.quiet.update(record.quiet)
            group.sent_at_ms = max(filter(None, (group.sent_at_ms, record.sent_at_ms)), default=None)

    def due(self, alerts: Iterable[AlertRecord], member_of: MemberOf, now_ms: int, busy: set[str]) -> list[Message]:
        """Return the messages due now, at most one for each receiver that is not busy, urgent ones first."""
        members = self._members(alerts, member_of)
        found: dict[str, Message] = {}
        for key, group in list(self._groups.items()):
            of_group = members.get(key, {})
            if not of_group and group.is_empty:
                del self._groups[key]
            elif key.receiver not in busy:
                message = group.due(of_group, self._router.timing(key), now_ms)
                if message is not None and _comes_first(message, found.get(key.receiver)):
                    found[key.receiver] = message
        return [message._replace(may_repeat=self._may_repeat(message)) for message in found.values()]

    def _may_repeat(self, message: Message) -> bool:
        since_ms = self._without_memory_since_ms
        return since_ms is not None and any(
            member.alert.opened_at_ms < since_ms for member in message.firing if message.is_new(member)
        )

    def delivered(self, message: Message) -> NotificationRecord:
        """Record that a message was delivered; return what must survive a restart."""
        group = self._group(message.group)
        group.delivered(message)
        return record_of(group)

    def begun(self, message: Message) -> NotificationRecord | None:
        """Record that a message is about to be sent; return what must survive a restart, if that changed."""
        group = self._group(message.group)
        return record_of(group) if group.begun(message) else None

    def records(self) -> list[tuple[GroupKey, NotificationRecord]]:
        """Return everything that must survive a restart."""
        return [(group.key, record_of(group)) for group in self._groups.values() if not group.is_empty]

    def known(self) -> set[str]:
        """Return the alerts that some receiver takes for firing, or still has to be sent."""
        return {name for group in self._groups.values() for name in chain(group.told, group.owed)}

    def _members(self, alerts: Iterable[AlertRecord], member_of: MemberOf) -> dict[GroupKey, dict[str, Member]]:
        placed = self._placed()
        self._routed = routed = {one.alert_id: self._routes(one, self._routed.get(one.alert_id)) for one in alerts}
        members: dict[GroupKey, dict[str, Member]] = {}
        for name, (alert, routes) in routed.items():
            # Most of those that ended long ago are in no group.
            if found := tuple(_groups_of(routes, placed.get(name, {}))):
                member = member_of(alert)
                for key in found:
                    members.setdefault(key, {})[name] = member
        for key in members:
            self._group(key)
        return members

    def _placed(self) -> dict[str, dict[str, GroupKey]]:
        """Return the groups that contain an alert, by alert and receiver."""
        placed: dict[str, dict[str, GroupKey]] = {}
        for key, group in self._groups.items():
            for name in chain(group.told, group.owed):
                placed.setdefault(name, {})[key.receiver] = key
        return placed

    def _routes(
        self, alert: AlertRecord, known: tuple[AlertRecord, tuple[GroupKey, ...]] | None
    ) -> tuple[AlertRecord, tuple[GroupKey, ...]]:
        """Return the groups of an alert, cached while its record is the same, as most are on every pass."""
        if known is not None and known[0] is alert:
            return known
        return alert, tuple(self._router.groups(alert)) if alert.status is AlertStatus.FIRING else ()

    def _group(self, key: GroupKey) -> Group:
        return self._groups.setdefault(key, Group(key))


def _groups_of(routes: Iterable[GroupKey], placed: Mapping[str, GroupKey]) -> Iterator[GroupKey]:
    yield from placed.values()
    yield from (key for key in routes if key.receiver not in placed)


def _comes_first(message: Message, other: Message | None) -> bool:
    return other is None or _loudness(message) > _loudness(other)


def _loudness(message: Message) -> int:
    return max((member.alert.severity.rank for member in message.firing), default=-1)


def record_of(group: Group) -> NotificationRecord:
    """Return a group's record for the topic."""
    return NotificationRecord(
        version=1,
        receiver=group.key.receiver,
        route=group.key.route,
        group=dict(group.key.values),
        told=dict(group.told),
        log_dirs={name: sorted(paths) for name, paths in group.log_dirs.items()},
        owed=sorted(group.owed),
        unsure={name: sorted(severities) for name, severities in group.owed.items() if severities},
        quiet=sorted(group.quiet),
        sent_at_ms=group.sent_at_ms,
    )
