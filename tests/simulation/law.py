"""The law, checked against what is true whenever something changes.

No directory is worse than what people were told for longer than its promise, and nothing is told that is not so. An
alert ends only by evidence; nothing is lost, or told twice with another content; no process dies of a record.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from logdirwatch.model import topics
from logdirwatch.model.records import AlertRecord, EventRecord, MetricsRecord, NotificationRecord
from logdirwatch.model.vocabulary import AlertStatus, EventName, LogDirStatus, PollStatus, Rule, Severity
from logdirwatch.notify.groups import Message
from logdirwatch.notify.routing import GroupKey
from logdirwatch.parse.records import Accepted, Record, parse
from logdirwatch.plan.availability.offline_log_dirs import places_of
from tests.simulation.brokers import CLUSTER, TOTAL_BYTES, Cluster
from tests.simulation.notifier import SETTINGS
from tests.simulation.promises import AGAIN_MS, AWAY, LEVELS, OTHER_RULES, PROMISES, SENT_MS, SLACK_MS, SWITCH_MS
from tests.simulation.topics import FOREIGN_KEY, Entry

Case = tuple[str, int, str | None]
"""What is so: its name in the table of promises, the broker, and the directory."""
SILENT = ("silent", -1, None)
"""No collector reports any broker."""


class Wrong(NamedTuple):
    """One violation: when, which law, what was true, and what was told."""

    at_ms: int
    law: str
    truth: str
    told: str

    def __str__(self) -> str:
        return f"after {self.at_ms / 1000:.1f} s: {self.law}\n  true: {self.truth}\n  told: {self.told}"


@dataclass
class Seen:
    """What arrived about a case, by number: where streaks of bad answers began, the last bad and the last good one."""

    good: int = 0
    bad: int = 0
    streaks: list[int] = field(default_factory=list)

    def note(self, number: int, *, is_good: bool) -> None:
        """Take one answer."""
        if is_good:
            self.good = number
            return
        if self.bad <= self.good:
            self.streaks.append(number)
        self.bad = number


@dataclass
class Running:
    """How long something has been so: in all, while messages can arrive, and while the whole service worked."""

    any_ms: int = 0
    calm_ms: int = 0

    def pass_ms(self, passed_ms: int, *, is_calm: bool, can_tell: bool) -> None:
        """Let time pass."""
        self.any_ms += passed_ms if can_tell else 0
        self.calm_ms += passed_ms if is_calm else 0


@dataclass
class Service:
    """What the law has to know of the service: can it tell people, and does all of it work for a while already."""

    can_tell: Callable[[], bool]
    is_calm: Callable[[], bool]
    can_hear: Callable[[], bool]
    follows: Callable[[], bool]


@dataclass
class Law:
    """Watches a run; ``wrong`` are the violations so far."""

    cluster: Cluster
    service: Service
    interval_ms: int
    wrong: list[Wrong] = field(default_factory=list)
    firing: dict[str, AlertRecord] = field(default_factory=dict)
    believed: dict[str, AlertRecord] = field(default_factory=dict)
    arrived: dict[int, int] = field(default_factory=dict)
    _recorded: dict[tuple[Any, ...], dict[str, Severity]] = field(default_factory=dict)
    _groundless: set[str] = field(default_factory=set)
    _unproved: dict[Case, AlertRecord] = field(default_factory=dict)
    _groups: dict[str, GroupKey] = field(default_factory=dict)
    _seen: dict[Case, Seen] = field(default_factory=dict)
    _revisions: dict[tuple[str, int], bytes] = field(default_factory=dict)
    _latest: dict[str, int] = field(default_factory=dict)
    _consumed: dict[Case, int] = field(default_factory=dict)
    _open: dict[tuple[str, Case, LogDirStatus | None], Running] = field(default_factory=dict)
    _arrivals: int = 0
    _last_ms: int = 0
    _told_ms: int = -(1 << 60)
    _beat_ms: int = 0
    _beats_heard_ms: list[int] = field(default_factory=lambda: [0])

    # What happens.

    def appended(self, entry: Entry) -> None:
        """Take a record of the telemetry cluster."""
        if entry.topic == topics.ALERTS and entry.value is not None:
            if entry.key == FOREIGN_KEY:
                return
            alert = msgspec.json.decode(entry.value, type=AlertRecord)
            if alert.rule is Rule.HEARTBEAT:
                # One that was written before notify began to follow does not prove that the path works now; one of a
                # collector whose samples are overdue proves it up to then.
                overdue_ms = getattr(alert.evidence, "samples_overdue_ms", None) or 0
                passed_ms = self.cluster.scheduler.now_ms - overdue_ms
                self._beat_ms = max(self._beat_ms, passed_ms) if self.service.follows() else self._beat_ms
            else:
                self._take(alert, entry.value)
        elif entry.topic == topics.NOTIFICATIONS and entry.value is not None and entry.key != FOREIGN_KEY:
            record = msgspec.json.decode(entry.value, type=NotificationRecord)
            group = record.receiver, record.route, tuple(record.group.items())
            known = self._recorded.get(group, {})
            # A message that is begun takes nothing back of what was told.
            self._recorded[group] = {name: known[name] for name in record.owed if name in known} | record.told
        elif entry.topic in {topics.METRICS, topics.EVENTS} and entry.value is not None:
            found = parse(entry.topic, None, entry.value, entry.timestamp, CLUSTER)
            if isinstance(found, Accepted):
                self._take_evidence(found.record)

    def _take_evidence(self, record: Record) -> None:
        if isinstance(record, EventRecord) and record.event == EventName.LOG_DIR_FAILURE:
            self._note("offline", record.broker, record.log_dir, is_good=False)
        if not isinstance(record, MetricsRecord):
            return
        self.arrived[record.broker] = self.cluster.scheduler.now_ms
        self._note("broker", record.broker, None, is_good=record.status is PollStatus.OK)
        for sample in record.log_dirs:
            place, is_served = (record.broker, sample.path), sample.error_code == 0
            self._note("offline", *place, is_good=is_served)
            self._note("unknown", *place, is_good=is_served and bool(sample.total_bytes))
            if is_served and sample.total_bytes:
                usable_ratio = (sample.usable_bytes or 0) / sample.total_bytes
                self._note("space", *place, is_good=usable_ratio > 1 - min(LEVELS))

    def _note(self, name: str, broker: int, path: str | None, *, is_good: bool) -> None:
        self._arrivals += 1
        self._seen.setdefault((name, broker, path), Seen()).note(self._arrivals, is_good=is_good)

    def died(self, name: str, error: BaseException) -> None:
        """Note that a process ended by an exception."""
        self._say("a process died", f"{name}: {type(error).__name__}: {error}"[:300], "nothing")

    def heard(self, message: Message, took_ms: int) -> None:
        """Take a message that a receiver accepted; it says what was so ``took_ms`` ago."""
        self._told_ms = self.cluster.scheduler.now_ms
        # A message has all that fires of its group: what it leaves out is over.
        for name in [name for name, group in self._groups.items() if group == message.group]:
            del self._groups[name], self.believed[name]
        for alert in message.left_out:
            self.believed[alert.alert_id], self._groups[alert.alert_id] = alert, message.group
        for member in message.firing:
            alert = member.alert
            if alert.alert_id in self._groundless:
                self._say("told though it is not so", f"no answer gives a reason for {_of(alert)}", "a message")
            # One that was told with a lower severity meanwhile is news again; the switch's alerts have one id for ever.
            is_known = alert.alert_id in self._recorded.get(message.group, {}) and alert.rule is not Rule.HEARTBEAT
            if is_known and alert.alert_id not in message.spoken:
                self._say("told twice", "it was recorded that this was told", _of(alert))
            if alert.rule is Rule.HEARTBEAT and message.is_new(member):
                self._judge_switch(alert, self._told_ms - took_ms)
            self.believed[alert.alert_id], self._groups[alert.alert_id] = alert, message.group

    def check(self) -> None:
        """Check the law."""
        now_ms = self.cluster.scheduler.now_ms
        passed_ms, self._last_ms = now_ms - self._last_ms, now_ms
        if self.service.can_hear():
            self._beats_heard_ms.append(self._beat_ms)
        is_calm, can_tell = self.service.is_calm(), self.service.can_tell()
        for case, alert in self._unproved.items():
            if not _is_told(self.firing, case, None):
                self._say("an alert ended without evidence", f"{_name(case)} was not seen to be well", _of(alert))
        self._unproved.clear()
        so = list(self._broken(now_ms))
        broken = {case for case, _ in so}
        wanted = {("topic", *one) for one in so if not _is_told(self.firing, *one)}
        wanted |= {("message", *one) for one in so if not _is_told(self.believed, one[0], None)}
        for where, alerts in (("over topic", self.firing), ("over message", self.believed)):
            over = (cases for cases in map(self._over, alerts.values()) if cases and broken.isdisjoint(cases))
            wanted |= {(where, cases[0], None) for cases in over}
        for key in [key for key in self._open if key not in wanted]:
            del self._open[key]
        for key in sorted(wanted, key=repr):
            running = self._open.setdefault(key, Running())
            # A message may wait for its group's interval; if notify is away then, it follows once notify is back.
            may_wait = key[0].endswith("message") and now_ms - self._told_ms < AGAIN_MS
            running.pass_ms(passed_ms, is_calm=is_calm, can_tell=can_tell and not may_wait)
            if not may_wait:
                self._judge(*key, running, is_calm=is_calm)

    # What is true.

    def _broken(self, now_ms: int) -> Iterator[tuple[Case, LogDirStatus | None]]:
        """Yield what is wrong with the cluster now."""
        if all(now_ms - self.arrived.get(broker, 0) > self.interval_ms for broker in self.cluster.brokers):
            yield SILENT, None
        for broker in self.cluster.brokers.values():
            if not broker.is_answering:
                yield ("broker", broker.number, None), None
                continue
            if now_ms - self.arrived.get(broker.number, 0) > 3 * self.interval_ms:
                yield ("unwatched", broker.number, None), None
            for path, disk in broker.disks.items():
                ratio = disk.used_at(now_ms) / TOTAL_BYTES
                if disk.is_failed:
                    yield ("offline", broker.number, path), None
                elif disk.tells_no_size:
                    yield ("unknown", broker.number, path), None
                else:
                    yield from (
                        (("space", broker.number, path), level) for least, level in LEVELS.items() if ratio >= least
                    )

    # What is told.

    def _over(self, alert: AlertRecord) -> list[Case]:
        """Return what an alert says is so; nothing, while nobody can see whether it still is."""
        is_seen = alert.broker is None or self.cluster.brokers[alert.broker].is_answering
        return _cases_of(alert) if is_seen and alert.stale_since_ms is None else []

    # The laws.

    def _judge(self, where: str, case: Case, level: LogDirStatus | None, running: Running, *, is_calm: bool) -> None:
        promise = PROMISES[case[0]]
        if where.startswith("over"):
            limit_ms = promise.over_after_ms(self.interval_ms) + (SENT_MS if where == "over message" else 0)
            if is_calm and running.calm_ms > limit_ms:
                self._say("told though it is over", f"{_name(case)} is well", self._said(case), running)
                running.calm_ms = -(1 << 60)
            return
        limit_ms = promise.on_topic_ms(self.interval_ms) + (SENT_MS if where == "message" else 0)
        # While a part of the service is away the topic has nothing; people hear of it by the dead man's switch.
        any_ms = limit_ms + SWITCH_MS if where == "message" else 1 << 60
        if (is_calm and running.calm_ms > limit_ms) or running.any_ms > any_ms:
            self._say(
                f"worse than what is told ({where})",
                _name(case) + (f" ({level})" if level else ""),
                self._said(case),
                running,
            )
            running.calm_ms = running.any_ms = -(1 << 60)

    def _take(self, alert: AlertRecord, value: bytes) -> None:
        """Take a revision of an alert: one of each number, each with its evidence."""
        known = self._revisions.get((alert.alert_id, alert.revision))
        if known is not None:
            if known != value:
                self._say("a revision is written twice with different contents", known.decode(), value.decode())
            return
        self._revisions[alert.alert_id, alert.revision] = value
        latest = self._latest.get(alert.alert_id, 0)
        if alert.revision != latest + 1:
            self._say("a revision is missing", f"revision {latest} was the last of {_of(alert)}", f"{alert.revision}")
        self._latest[alert.alert_id] = max(latest, alert.revision)
        if alert.status is AlertStatus.FIRING:
            if alert.alert_id not in self.firing:
                self._judge_begin(alert)
            self.firing[alert.alert_id] = alert
        elif (before := self.firing.pop(alert.alert_id, None)) is not None:
            self._judge_end(alert, before)
        if alert.merged_into in self.believed:
            # The problem goes on under an alert that people know: no message says that this one ended.
            self.believed.pop(alert.alert_id, None)
            self._groups.pop(alert.alert_id, None)

    def _judge_begin(self, alert: AlertRecord) -> None:
        """An alert begins because answers gave a reason for it, or because there were none."""
        cases = _cases_of(alert)
        if not cases:
            if alert.rule not in OTHER_RULES and alert.rule not in AWAY:
                self._say("an alert of a rule without a promise", "nothing", _of(alert))
        elif all(self._streak(case) is None for case in cases) and not self._was_unwatched(cases[0]):
            # What a collector kept while it was cut off may be older than what another one has told since.
            self._groundless.add(alert.alert_id)

    def _judge_end(self, alert: AlertRecord, before: AlertRecord) -> None:
        """An alert ends because its subject was seen to be well since, or because another one covers it."""
        if alert.merged_into is not None or alert.reason not in {"recovered", "unconfirmed"}:
            return
        for case in _cases_of(before):
            begin, good = self._streak(case), self._seen.get(case, Seen()).good
            if begin is not None and good <= begin:
                self._unproved[case] = alert
                continue
            self._consumed[case] = self._next_good(case, begin)

    def _streak(self, case: Case) -> int | None:
        """Return where the oldest streak of bad answers began that no end of an alert accounts for."""
        consumed = self._consumed.get(case, 0)
        return next((begin for begin in self._seen.get(case, Seen()).streaks if begin > consumed), None)

    def _next_good(self, case: Case, begin: int | None) -> int:
        """Return up to where the end of an alert accounts for bad answers: the end of the streak from ``begin``."""
        streaks = self._seen.get(case, Seen()).streaks
        later = next((other for other in streaks if begin is not None and other > begin), None)
        return max(self._consumed.get(case, 0), begin or 0) if later is None else later - 1

    def _was_unwatched(self, case: Case) -> bool:
        now_ms = self.cluster.scheduler.now_ms
        brokers = self.cluster.brokers if case == SILENT else [case[1]]
        is_about_it = case[0] in {"broker", "silent"}
        return is_about_it and all(now_ms - self.arrived.get(one, 0) >= 2 * self.interval_ms for one in brokers)

    def _judge_switch(self, alert: AlertRecord, at_ms: int) -> None:
        # A heartbeat that came while notify was between two looks is not heard yet.
        silent_ms = at_ms - max(beat_ms for beat_ms in self._beats_heard_ms if beat_ms <= max(0, at_ms - SLACK_MS))
        if silent_ms < SETTINGS.heartbeat.timeout_ms - SLACK_MS:
            truth = f"the last heartbeat could be read {silent_ms / 1000:.1f} s ago"
            self._say("told though it is not so", truth, _of(alert))

    def _say(self, law: str, truth: str, told: str, running: Running | None = None) -> None:
        since = "" if running is None else f", for {running.any_ms / 1000:.0f} s ({running.calm_ms / 1000:.0f} s calm)"
        self.wrong.append(Wrong(self.cluster.scheduler.now_ms, law, truth + since, told))

    def _said(self, case: Case) -> str:
        on_topic, people = (
            "; ".join(sorted(map(_of, those.values()))) or "nothing" for those in (self.firing, self.believed)
        )
        return f"on the topic: {on_topic}; to people: {people}"


NAMES = {
    Rule.LOG_DIR_OFFLINE: "offline",
    Rule.LOG_DIR_SPACE: "space",
    Rule.LOG_DIR_UNKNOWN: "unknown",
    Rule.BROKER_OFFLINE: "broker",
    Rule.BROKER_UNKNOWN: "broker",
}


def _cases_of(alert: AlertRecord) -> list[Case]:
    """Return what an alert says is so, as far as there is a promise; one may be about several directories."""
    name = NAMES.get(alert.rule)
    if name is None or (alert.broker is None and alert.rule is not Rule.BROKER_UNKNOWN):
        return []
    if alert.broker is None:
        return [SILENT]
    if alert.rule is Rule.LOG_DIR_OFFLINE:
        return [(name, alert.broker, path) for _, path in places_of(alert)]
    return [(name, alert.broker, alert.log_dir)]


def _is_told(alerts: Mapping[str, AlertRecord], case: Case, level: LogDirStatus | None) -> bool:
    return any(_tells(alert, case, level) for alert in alerts.values())


def _tells(alert: AlertRecord, case: Case, level: LogDirStatus | None) -> bool:
    """Tell whether a firing alert tells people what is so, or at least that it is unknown."""
    name, broker, path = case
    if alert.rule is Rule.HEARTBEAT or (alert.rule is Rule.BROKER_UNKNOWN and alert.broker is None):
        return True
    if alert.broker != broker:
        return False
    if alert.rule in AWAY:
        return True
    if alert.rule not in PROMISES[name].rules:
        return False
    if alert.rule is Rule.LOG_DIR_OFFLINE:
        return (broker, path) in places_of(alert)
    is_as_bad = level is None or LogDirStatus(alert.to_status or "unknown").rank >= level.rank
    return alert.log_dir == path and is_as_bad


def _name(case: Case) -> str:
    name, broker, path = case
    if case == SILENT:
        return "the cluster: silent"
    return f"broker {broker}{f' {path}' if path else ''}: {name}"


def _of(alert: AlertRecord) -> str:
    where = (
        "cluster" if alert.broker is None else f"broker {alert.broker}{f' {alert.log_dir}' if alert.log_dir else ''}"
    )
    stale = ", stale" if alert.stale_since_ms is not None else ""
    why = f", {alert.reason}" if alert.reason else ""
    return f"{alert.status} {alert.rule} of {where} (revision {alert.revision}{stale}{why})"
