"""Records and observations with defaults, drivers that keep what came out, and brokers that are away."""

from dataclasses import dataclass, field

from logdirwatch.detect import machine
from logdirwatch.detect.observations import Decided, Event, HostView, Sample
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.state.broker_state import BrokerMemory, decode, encode
from logdirwatch.model.identity import Origin
from logdirwatch.model.records import (
    AlertRecord,
    DecisionRecord,
    EventRecord,
    HostLogDir,
    HostRecord,
    LogDirSample,
    MetricsRecord,
    ReplicaMoves,
    Transition,
)
from logdirwatch.model.vocabulary import Decision, PollStatus

T0 = 1_700_000_000_000
POLL_MS = 5_000
GIB = 1 << 30
TOTAL = 1_000 * GIB
TOPICS = {EventRecord: "logdir.events", DecisionRecord: "logdir.decisions"}


def log_dir(path="/d1", used=0.5, error_code=0, total_bytes=TOTAL, **fields):
    if error_code:
        return LogDirSample(path=path, error_code=error_code, **fields)
    usable = round(total_bytes * (1 - used))
    return LogDirSample(path=path, error_code=0, total_bytes=total_bytes, usable_bytes=usable, **fields)


def metrics(at_ms, *dirs, status=PollStatus.OK, collector="c1", interval_ms=POLL_MS, **fields):
    return MetricsRecord(
        version=1,
        cluster="prod",
        broker=7,
        timestamp_ms=at_ms,
        status=PollStatus(status),
        collector=collector,
        interval_ms=interval_ms,
        log_dirs=list(dirs),
        **fields,
    )


def host_view(at_ms, *dirs, **fields):
    return HostRecord(
        version=1, cluster="prod", broker=7, timestamp_ms=at_ms, collector="host", log_dirs=list(dirs), **fields
    )


def host_dir(path="/d1", **fields):
    return HostLogDir(path=path, **fields)


def event(at_ms, name="LogDirFailure", log_dir=None, **fields):
    return EventRecord(version=1, cluster="prod", broker=7, event=name, log_dir=log_dir, timestamp_ms=at_ms, **fields)


def maintenance(at_ms, for_ms, by="ada", reason="new disk", **fields):
    """A decision that the broker may be away; one for no time ends what was decided before."""
    return DecisionRecord(
        version=1,
        id="prod/7",
        decision=Decision.MAINTENANCE,
        by=by,
        reason=reason,
        at_ms=at_ms,
        until_ms=at_ms + for_ms,
        cluster="prod",
        broker=7,
        **fields,
    )


@dataclass
class Driver:
    """Shows one broker's machine what happens, poll by poll; memory goes through its codec each time."""

    settings: DetectSettings = field(default_factory=DetectSettings)
    memory: BrokerMemory = field(default_factory=lambda: BrokerMemory(cluster="prod", broker=7))
    at_ms: int = T0
    offsets: dict[str, int] = field(default_factory=dict)
    alerts: list[AlertRecord] = field(default_factory=list)
    transitions: list[Transition] = field(default_factory=list)

    def poll(self, *dirs, **fields):
        self.at_ms += POLL_MS
        return self.show(metrics(self.at_ms, *dirs, **fields))

    def polls(self, *ratios, path="/d1"):
        for used in ratios:
            self.poll(log_dir(path, used))
        return self

    def host(self, *dirs, after_ms=1):
        self.at_ms += after_ms
        return self.show(host_view(self.at_ms, *dirs))

    def event(self, name="LogDirFailure", log_dir=None, after_ms=1, **fields):
        self.at_ms += after_ms
        return self.show(event(self.at_ms, name, log_dir, **fields))

    def plan(self, for_ms, after_ms=1, **fields):
        self.at_ms += after_ms
        return self.show(maintenance(self.at_ms, for_ms, **fields))

    def show(self, record, kafka_ms=None, offset=None):
        topic = TOPICS.get(type(record), "logdir.metrics")
        if offset is None:
            offset = self.offsets[topic] = self.offsets.get(topic, -1) + 1
        at_ms = record.at_ms if isinstance(record, DecisionRecord) else record.timestamp_ms
        origin = Origin(topic, 0, offset, at_ms if kafka_ms is None else kafka_ms)
        kind = {MetricsRecord: Sample, EventRecord: Event, HostRecord: HostView, DecisionRecord: Decided}[type(record)]
        return self._keep(machine.advance(self._reloaded(), kind(record, origin), self.at_ms, self.settings))

    def wait(self, ms):
        self.at_ms += ms
        return self._keep(machine.tick(self._reloaded(), self.at_ms, self.settings))

    def _reloaded(self):
        self.memory = decode(1, encode(self.memory))
        return self.memory

    def _keep(self, outcome):
        self.alerts += outcome.alerts
        self.transitions += outcome.transitions
        return self

    def status(self, path="/d1"):
        return self.memory.log_dirs[path].status

    def cause(self, path="/d1"):
        return self.memory.log_dirs[path].cause

    def path_of(self, path="/d1"):
        """The statuses a directory went through."""
        return [t.to_status for t in self.transitions if t.log_dir == path]

    def said(self, rule=None):
        """Every alert revision as (rule, status, severity or reason)."""
        return [
            (str(a.rule), str(a.status), str(a.severity) if a.status == "firing" else a.reason)
            for a in self.alerts
            if rule is None or a.rule == rule
        ]

    def open_alerts(self):
        latest = {alert.alert_id: alert for alert in self.alerts}
        return [alert for alert in latest.values() if alert.status == "firing"]


def timeout(driver, **fields):
    return driver.poll(status="timeout", error="no answer in 4000 ms", **fields)


def fenced(driver, **fields):
    return timeout(driver, is_fenced=True, controller_at_ms=driver.at_ms + POLL_MS, **fields)


def away_for(driver, ms, **fields):
    until_ms = driver.at_ms + ms
    while driver.at_ms < until_ms:
        fenced(driver, **fields)
    return driver


MINUTE_MS = 60_000
FOLLOWER = "follower.replication.throttled.rate"
WITHIN = "replica.alter.log.dirs.io.max.bytes.per.second"


class Scans(Driver):
    """Polls that each follow an inventory scan, a minute apart."""

    def scan(self, *dirs, **moves):
        self.at_ms += MINUTE_MS - 5_000
        given = {"at_ms": self.at_ms, "reassignments": 0, "copies": 0, "throttles": {}, "throttled_replicas": 0} | moves
        return self.poll(*dirs, moves=ReplicaMoves(**given))

    def scans(self, count, *dirs, **moves):
        for _ in range(count):
            self.scan(*dirs, **moves)
        return self


def offline(path="/d1"):
    return log_dir(path, error_code=56)


def suspected(driver):
    """The places of open suspicions, each with the suspicions."""
    return [(a.log_dir, a.evidence["why"]) for a in driver.open_alerts() if a.rule == "log_dir_suspect"]


def suspicions(driver):
    return [why for _, why in suspected(driver)]
