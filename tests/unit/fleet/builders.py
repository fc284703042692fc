"""State records with defaults, and a driver that shows them to one cluster's machine."""

from dataclasses import dataclass, field

from logdirwatch.detect.brokers import SILENT
from logdirwatch.detect.settings import DetectSettings, Thresholds
from logdirwatch.fleet import machine
from logdirwatch.fleet.context import ClusterContext
from logdirwatch.fleet.disks import disks
from logdirwatch.fleet.machine import Seen, digest
from logdirwatch.fleet.memory import FleetMemory, decode, encode
from logdirwatch.fleet.settings import FleetSettings
from logdirwatch.model.identity import Origin
from logdirwatch.model.records import AlertRecord, LogDirView, PartitionHealth, StateRecord
from logdirwatch.model.vocabulary import BrokerStatus, LogDirStatus

T0 = 1_700_000_000_000
REFRESH_MS = 30_000
TB = 10**12
SILENCE = f"{SILENT}no collector reports it"
IMPATIENT = FleetSettings(risk_after_ms=0, risk_hold_ms=0, space_after_ms=0, space_hold_ms=0)


def log_dir(path="/d1", used=0.5, status=LogDirStatus.ONLINE, total_bytes=TB, **fields):
    """A directory; ``used`` None: nobody knows its size."""
    sizes = {} if used is None else {"total_bytes": total_bytes, "usable_bytes": round(total_bytes * (1 - used))}
    values = {"replica_bytes": None if used is None else round(total_bytes * used)} | sizes | fields
    return LogDirView(path=path, status=LogDirStatus(status), since_ms=T0, **values)


def filling(path="/d1", used=0.8, **fields):
    return log_dir(path, used, "filling", **fields)


def state(broker, *dirs, sequence=1, at_ms=T0, status="online", reason="answers", health=None, **fields):
    return StateRecord(
        version=1,
        cluster="prod",
        broker=broker,
        sequence=sequence,
        at_ms=at_ms,
        status=BrokerStatus(status),
        reason=reason,
        since_ms=T0,
        last_seen_ms=at_ms,
        log_dirs=list(dirs),
        partitions=PartitionHealth() if health is None else health,
        machine="{}",
        **fields,
    )


def disks_of(*dirs, broker=1, thresholds=None):
    return disks(broker, digest(state(broker, *dirs), None, T0), lambda _: thresholds or Thresholds())


def seen(record, offset, *, broker=None):
    at_ms = T0 + offset if record is None else record.at_ms
    return Seen(record.broker if broker is None else broker, record, Origin("logdir.state", 0, offset, at_ms))


@dataclass
class Driver:
    """Shows one cluster's machine what happens; memory goes through its codec each time."""

    settings: FleetSettings = IMPATIENT
    detect: DetectSettings = field(default_factory=DetectSettings)
    memory: FleetMemory = field(default_factory=lambda: FleetMemory(cluster="prod"))
    now_ms: int = T0
    at_ms: int = T0
    offset: int = -1
    sequences: dict[int, int] = field(default_factory=dict)
    alerts: list[AlertRecord] = field(default_factory=list)
    taken: list[Seen] = field(default_factory=list)

    def show(self, broker, *dirs, after_ms=0, **fields):
        """The broker's next state record, ``after_ms`` after the one before."""
        self.at_ms += after_ms
        self.sequences[broker] = self.sequences.get(broker, 0) + 1
        given = {"sequence": self.sequences[broker], "at_ms": self.at_ms} | fields
        return self.take(state(broker, *(dirs or (log_dir(),)), **given))

    def silent(self, *brokers):
        for broker in brokers:
            digest = self.memory.brokers.get(broker)
            at_ms = self.at_ms if digest is None else digest.at_ms
            self.show(broker, log_dir(status="unknown"), status="unknown", reason=SILENCE, at_ms=at_ms)
        return self

    def gone(self, broker):
        return self.take(None, broker=broker)

    def take(self, record, broker=None):
        self.offset += 1
        return self.read(seen(record, self.offset, broker=broker))

    def read(self, record):
        self.taken.append(record)
        return self._with(lambda context: machine.take(context, record, self.now_ms))

    def wait(self, ms):
        """Let the batch's clock run on, and the timer fire if it is due."""
        self.now_ms += ms
        deadline_ms = machine.next_deadline_ms(self.memory, self.settings)
        if deadline_ms is None or deadline_ms > self.now_ms:
            return self
        return self._with(lambda context: machine.tick(context, self.now_ms))

    def _with(self, step):
        context = ClusterContext(decode(1, encode(self.memory)), self.settings, self.detect)
        step(context)
        self.memory = context.memory
        self.alerts += context.alerts.records
        return self

    def said(self, rule=None):
        """Every revision as (rule, broker, status, severity or reason)."""
        return [
            (str(a.rule), a.broker, str(a.status), str(a.severity) if a.status == "firing" else a.reason)
            for a in self.alerts
            if rule is None or a.rule == rule
        ]

    def firing(self):
        """The alerts that fire, as (rule, broker)."""
        latest = {alert.alert_id: alert for alert in self.alerts}
        return sorted((str(a.rule), a.broker) for a in latest.values() if a.status == "firing")
