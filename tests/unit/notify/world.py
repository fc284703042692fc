"""A world of alerts and one receiver: what fires, what people say, what arrives. Time moves only when told to."""

from dataclasses import dataclass, field

from logdirwatch.decisions import AlertDecisions
from logdirwatch.model.records import DecisionRecord
from logdirwatch.model.vocabulary import AlertStatus, Decision, Severity
from logdirwatch.notify.groups import Member
from logdirwatch.notify.outbox import Outbox
from logdirwatch.notify.routing import Router
from logdirwatch.notify.settings import NotifySettings
from tests.unit.report.builders import NOW_MS, alert

WAIT_MS, INTERVAL_MS, REPEAT_MS = 30_000, 300_000, 4 * 3_600_000
STEP_MS = 500


def settings(receivers=("ops",), **fields) -> NotifySettings:
    of_receivers = {name: {"urls": ["json://127.0.0.1:1"]} for name in receivers}
    return NotifySettings.model_validate({"receivers": of_receivers, **fields})


def router_of(notify: NotifySettings, keeping_alive=()) -> Router:
    return Router(notify, {name: (name,) for name in notify.receivers}, keeping_alive)


def said(what: Decision) -> DecisionRecord:
    return DecisionRecord(version=1, id="x", decision=what, by="ada", reason="known", at_ms=NOW_MS)


@dataclass
class World:
    """Alerts by id; messages arrive while ``is_up``, or while the sender ``is_deaf`` and takes each for failed."""

    notify: NotifySettings = field(default_factory=settings)
    keeping_alive: tuple = ()
    now_ms: int = NOW_MS
    is_up: bool = True
    is_deaf: bool = False
    alerts: dict = field(default_factory=dict)
    decided_by_alert: dict = field(default_factory=dict)
    messages: list = field(default_factory=list)
    kept: dict = field(default_factory=dict)
    quiet: set = field(default_factory=set)
    """What was silenced, at any look, since a message had it."""
    quiet_before: list = field(default_factory=list)
    """What was that when each message came."""

    def __post_init__(self):
        self.restart()

    def restart(self):
        """Start again with what the topic kept."""
        self.router = router_of(self.notify, self.keeping_alive)
        self.outbox = Outbox(self.router, self.notify.receivers)
        self.outbox.remember(self.kept.values())

    def fire(self, name, severity=Severity.CRITICAL, **fields):
        known = self.alerts.get(name)
        revision = 1 if known is None else known.revision + 1
        opened = self.now_ms if known is None else known.opened_at_ms
        times = {"opened_at_ms": opened, "at_ms": self.now_ms}
        self.alerts[name] = alert(name, revision, severity=severity, **{**times, **fields})

    def resolve(self, name, **fields):
        known = self.alerts[name]
        values = {"status": AlertStatus.RESOLVED, "severity": known.severity, "at_ms": self.now_ms, **fields}
        places = {"cluster": known.cluster, "broker": known.broker, "log_dir": known.log_dir, "rule": known.rule}
        self.alerts[name] = alert(name, known.revision + 1, **{**places, **values})

    def say(self, name, what, until_louder=True):
        decision = said(what)
        is_silence = what is Decision.SILENCE
        self.decided_by_alert[name] = AlertDecisions(None if is_silence else decision, decision if is_silence else None)

    def unsay(self, name):
        self.decided_by_alert.pop(name, None)

    def member_of(self, found):
        fires = found.status is AlertStatus.FIRING
        return Member(found, self.decided_by_alert.get(found.alert_id, AlertDecisions()) if fires else AlertDecisions())

    def tick(self):
        self.quiet |= {name for name, decided in self.decided_by_alert.items() if decided.silenced is not None}
        for message in self.outbox.due(self.alerts.values(), self.member_of, self.now_ms, set()):
            self._keep(message, self.outbox.begun(message))
            if self.is_up or self.is_deaf:
                self.messages.append(message)
                self.quiet_before.append(set(self.quiet))
                self.quiet -= {member.alert.alert_id for member in message.firing}
            if self.is_up:
                self._keep(message, self.outbox.delivered(message))

    def _keep(self, message, record):
        if record is not None:
            self.kept[message.group] = record

    def pass_ms(self, duration_ms, step_ms=STEP_MS):
        end_ms = self.now_ms + duration_ms
        while self.now_ms < end_ms:
            self.now_ms = min(end_ms, self.now_ms + step_ms)
            self.tick()

    def reasons(self):
        return [message.reason.value for message in self.messages]

    def believed(self):
        """Return what the receiver takes for firing, after all its messages."""
        believed = set()
        for message in self.messages:
            believed -= {found.alert_id for found in message.ended}
            believed |= {member.alert.alert_id for member in message.firing}
        return believed
