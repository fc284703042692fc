"""One group of alerts and one receiver: what is new to the receiver, and when it is sent. Pure; time is an argument.

::

    nothing -- fires, after wait --> told -- more fires or something ends, after interval --> told
       ^                              |   -- a page that was not told, at once -------------> told
       |                              |   -- louder than anything told, after wait ---------> told
       |                              |   -- a silence ends, after interval ----------------> told
       |                              |   -- still fires, after repeat ---------------------> told
       +---- all of it ended ---------+

An interval counts from the last message, a wait from when the news was first seen. Pages that arrive one by one are
sent at most once per wait; a page that ended and fires again waits like any other news.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from logdirwatch.decisions import AlertDecisions
from logdirwatch.model.records import ActionRecord, AlertRecord
from logdirwatch.model.vocabulary import AlertStatus, Severity
from logdirwatch.notify.routing import GroupKey, Timing


class Reason(str, Enum):
    """Why a message is sent."""

    FIRST = "first"
    MORE = "more"
    LOUDER = "louder"
    RESOLVED = "resolved"
    REPEAT = "repeat"


class Member(NamedTuple):
    """An alert as it is now, how it is handled, and the action to take first."""

    alert: AlertRecord
    decided: AlertDecisions = AlertDecisions()
    next_step: ActionRecord | None = None

    @property
    def fires(self) -> bool:
        """Whether it is open."""
        return self.alert.status is AlertStatus.FIRING


class Message(NamedTuple):
    """One message about one group: the firing alerts, highest severity first, and those that ended since the last one.

    ``spoken`` is the severity with which an alert was sent before, ``wider`` are the alerts that tell of directories
    that were not sent. ``left_out`` are alerts that were sent, still fire, and are silenced now. ``unsure`` are
    the severities in messages of which it is unknown whether they arrived. ``may_repeat``: some alerts began before a
    start that had no record of earlier messages.
    """

    group: GroupKey
    reason: Reason
    at_ms: int
    firing: tuple[Member, ...]
    ended: tuple[AlertRecord, ...]
    spoken: Mapping[str, Severity]
    left_out: tuple[AlertRecord, ...] = ()
    wider: frozenset[str] = frozenset()
    unsure: Mapping[str, frozenset[Severity]] = MappingProxyType({})
    may_repeat: bool = False
    is_test: bool = False

    def is_new(self, member: Member) -> bool:
        """Whether the receiver was not sent an alert yet, or only with a lower severity or fewer directories."""
        spoken, name = self.spoken.get(member.alert.alert_id), member.alert.alert_id
        return spoken is None or member.alert.severity.rank > spoken.rank or name in self.wider


@dataclass
class Group:
    """What a receiver was sent about a group, and since when there is news for it.

    ``log_dirs`` are the directories of which each alert was sent; what an earlier release sent told of the alert's own.
    ``owed`` are the alerts of messages that were begun and are not known to have arrived, with the severities there.
    ``quiet`` are those of ``told`` that were silenced since they were last sent.
    """

    key: GroupKey
    told: dict[str, Severity] = field(default_factory=dict)
    log_dirs: dict[str, frozenset[str]] = field(default_factory=dict)
    owed: dict[str, frozenset[Severity]] = field(default_factory=dict)
    quiet: set[str] = field(default_factory=set)
    sent_at_ms: int | None = None
    news_since_ms: int | None = None
    urgent_since_ms: int | None = None

    def due(self, members: Mapping[str, Member], timing: Timing, now_ms: int) -> Message | None:
        """Return the message due now; None while there is no news, or it waits."""
        self._follow_clock(now_ms)
        self._forget(members, timing, now_ms)
        new, louder, ended = _new(self, members, timing), _louder(self, members, timing), _ended(self, members)
        new += _wider(self, members)
        is_urgent = self._is_urgent(*new, *louder)
        self.news_since_ms = _since(self.news_since_ms, bool(new or louder or ended), now_ms)
        self.urgent_since_ms = _since(self.urgent_since_ms, is_urgent, now_ms)
        reason = _named(new, louder, self.told, is_urgent=is_urgent)
        if reason is None and not ended:
            return self._repeat(members, timing, now_ms)
        is_page = self._is_page(members, *new, *louder)
        if not (self._is_time(timing, now_ms) or (is_page and self._may_page(timing, now_ms))):
            return None
        return self._message(reason or Reason.RESOLVED, members, ended, timing, now_ms)

    def delivered(self, message: Message) -> None:
        """Record that a message was delivered."""
        for alert in message.ended:
            self.told.pop(alert.alert_id, None)
        for member in message.firing:
            self.told[member.alert.alert_id] = member.alert.severity
            self.log_dirs[member.alert.alert_id] = member.alert.log_dirs
        self.log_dirs = {name: paths for name, paths in self.log_dirs.items() if paths and name in self.told}
        settled = {alert.alert_id for alert in (*message.ended, *(member.alert for member in message.firing))}
        self.owed = {name: severities for name, severities in self.owed.items() if name not in settled}
        self.quiet -= settled
        self.sent_at_ms = message.at_ms
        self.news_since_ms = self.urgent_since_ms = None

    def begun(self, message: Message) -> bool:
        """Record that a message is about to be sent: until it is known to have arrived, its news is owed.

        It may arrive although its sender is killed or told of a failure; so the end of its alerts is sent as well.
        Return whether anything is owed that was not before.
        """
        before = dict(self.owed)
        for name, severity in ((member.alert.alert_id, member.alert.severity) for member in message.firing):
            if self.told.get(name) is not severity:
                self.owed[name] = self.owed.get(name, frozenset()) | {severity}
        return self.owed != before

    @property
    def is_empty(self) -> bool:
        """Whether the receiver knows of no firing alert and is owed nothing."""
        return not (self.told or self.owed)

    def _forget(self, members: Mapping[str, Member], timing: Timing, now_ms: int) -> None:
        """Drop alerts that the topic no longer has, hand on merged ones, and note which are silenced or less severe."""
        for name in [name for name in (*self.told, *self.owed) if name not in members]:
            self.told.pop(name, None)
            self.owed.pop(name, None)
        if timing.keeps_alive:
            return  # such a receiver knows each alert by itself, by its severity
        for name in [name for name in self.owed if members[name].fires and not _is_told_of(members[name])]:
            del self.owed[name]
        for name in list(self.told):
            self._hand_on(name, members)
        self.quiet = {name for name in self.told if name in self.quiet or members[name].decided.silenced is not None}
        if now_ms - (self.sent_at_ms or 0) < timing.interval_ms:
            return
        for name, severity in self.told.items():
            alert = members[name].alert
            if members[name].fires and alert.severity.rank < severity.rank:
                self.told[name] = alert.severity

    def _hand_on(self, name: str, members: Mapping[str, Member]) -> None:
        """Drop an alert that was merged into another one of the group: it ended, but the problem did not.

        The receiver already knows the other one if it has the same rule and place; otherwise it is news.
        """
        other = members[name].alert.merged_into
        if members[name].fires or other is None or other not in members:
            return
        severity = self.told.pop(name)
        self.owed.pop(name, None)
        if not _says_the_same(members[name].alert, members[other].alert):
            return
        known = self.told.get(other)
        self.told[other] = severity if known is None or known.rank < severity.rank else known

    def _is_urgent(self, *news: Member) -> bool:
        """Whether any alert is more severe than all that were sent; an ended one counts until its end is sent."""
        loudest = max((severity.rank for severity in set(self.told.values())), default=-1)
        return any(severity.rank > loudest for severity in {member.alert.severity for member in news})

    def _is_page(self, members: Mapping[str, Member], *news: Member) -> bool:
        """Whether any alert is a page that the receiver was not sent just now."""
        over = {_place(members[name].alert) for name in self.told if not members[name].fires}
        return any(m.alert.severity is Severity.PAGE and _place(m.alert) not in over for m in news)

    def _may_page(self, timing: Timing, now_ms: int) -> bool:
        """Whether a page may follow the last message at once: only a new group waits for more alerts."""
        return bool(self.told) and self.sent_at_ms is not None and now_ms - self.sent_at_ms >= timing.wait_ms

    def _follow_clock(self, now_ms: int) -> None:
        """Move future times to now: the clock was set back, and nothing should wait for the old time."""
        self.sent_at_ms, self.news_since_ms, self.urgent_since_ms = (
            None if at_ms is None else min(at_ms, now_ms)
            for at_ms in (self.sent_at_ms, self.news_since_ms, self.urgent_since_ms)
        )

    def _is_time(self, timing: Timing, now_ms: int) -> bool:
        if self.urgent_since_ms is not None and now_ms - self.urgent_since_ms >= timing.wait_ms:
            return True
        if self.news_since_ms is None or now_ms - self.news_since_ms < timing.wait_ms:
            return False
        return self.sent_at_ms is None or now_ms - self.sent_at_ms >= timing.interval_ms

    def _repeat(self, members: Mapping[str, Member], timing: Timing, now_ms: int) -> Message | None:
        reminding = [m for m in map(members.__getitem__, self.told) if m.fires and _reminds(m, timing)]
        if not reminding or now_ms - (self.sent_at_ms or 0) < timing.repeat_ms:
            return None
        return self._message(Reason.REPEAT, members, [], timing, now_ms)

    def _message(
        self, reason: Reason, members: Mapping[str, Member], ended: Iterable[AlertRecord], timing: Timing, now_ms: int
    ) -> Message:
        firing = [member for member in members.values() if member.fires and self._shows(member, timing)]
        firing.sort(key=lambda member: member.alert.order)
        over = sorted(ended, key=lambda alert: alert.order)
        left_out = [m.alert for m in map(members.__getitem__, self.told) if m.fires and not self._shows(m, timing)]
        wider = frozenset(member.alert.alert_id for member in _wider(self, members))
        told, unsure = dict(self.told), dict(self.owed)
        return Message(self.key, reason, now_ms, tuple(firing), tuple(over), told, tuple(left_out), wider, unsure)

    def _shows(self, member: Member, timing: Timing) -> bool:
        name = member.alert.alert_id
        if name in self.told or (timing.keeps_alive and name in self.owed):
            return timing.keeps_alive or member.decided.silenced is None
        return _is_told_of(member)


def _new(group: Group, members: Mapping[str, Member], timing: Timing) -> list[Member]:
    """Return the firing alerts that were not sent since they began, or since they were silenced.

    A receiver that tracks alerts gets one that it may know already even if it is silenced now.
    """
    known = group.told.keys() - group.quiet
    unsure = group.owed if timing.keeps_alive else ()
    return [m for name, m in members.items() if name not in known and m.fires and (_is_told_of(m) or name in unsure)]


def _louder(group: Group, members: Mapping[str, Member], timing: Timing) -> list[Member]:
    """Return the alerts with a higher severity than was sent; a receiver that tracks alerts gets lower ones, too."""
    spoken = ((members[name], severity) for name, severity in group.told.items())
    return [
        member
        for member, severity in spoken
        if member.fires
        and (
            (member.alert.severity.rank > severity.rank and member.decided.silenced is None)
            or (
                timing.keeps_alive and {severity, *group.owed.get(member.alert.alert_id, ())} != {member.alert.severity}
            )
        )
    ]


def _wider(group: Group, members: Mapping[str, Member]) -> list[Member]:
    """Return the alerts that tell of directories that were not sent; a directory that recovered is none."""
    return [
        member
        for member in map(members.__getitem__, group.told)
        if member.fires
        and member.decided.silenced is None
        and not member.alert.log_dirs <= group.log_dirs.get(member.alert.alert_id, {member.alert.log_dir})
    ]


def _place(alert: AlertRecord) -> tuple[str, str, int | None, str | None]:
    return alert.rule, alert.cluster, alert.broker, alert.log_dir


def _says_the_same(one: AlertRecord, other: AlertRecord) -> bool:
    """Tell whether two alerts are about the same thing; the fast lane may not know the directory yet."""
    return (one.rule, one.cluster, one.broker) == (other.rule, other.cluster, other.broker)


def _ended(group: Group, members: Mapping[str, Member]) -> list[AlertRecord]:
    known = {*group.told, *group.owed}
    return [member.alert for name, member in members.items() if name in known and not member.fires]


def _is_told_of(member: Member) -> bool:
    """Whether to send an alert that is new to the receiver: not if it is silenced or acknowledged."""
    return member.decided.silenced is None and member.decided.acknowledged is None


def _reminds(member: Member, timing: Timing) -> bool:
    return timing.keeps_alive or _is_told_of(member)


def _named(new: list[Member], louder: list[Member], told: Mapping[str, Severity], *, is_urgent: bool) -> Reason | None:
    if not told and new:
        return Reason.FIRST
    if louder or is_urgent:
        return Reason.LOUDER
    return Reason.MORE if new else None


def _since(before_ms: int | None, is_so: bool, now_ms: int) -> int | None:
    if not is_so:
        return None
    return now_ms if before_ms is None else before_ms
