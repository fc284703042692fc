"""The steps of the demo: set up, break one directory, fill another, verify, restore."""

import os
import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field

import requests

from logdirwatch import settings as configuration
from logdirwatch.errors import UserError
from logdirwatch.kafka import telemetry_topics
from logdirwatch.model.records import ActionRecord, AlertRecord
from logdirwatch.model.vocabulary import BrokerStatus, Lane, Rule
from logdirwatch.settings import Settings
from logdirwatch.text.units import human_ratio, human_s
from logdirwatch_lab.cluster import LocalCluster
from logdirwatch_lab.demo import judgement, patience, tables
from logdirwatch_lab.demo.judgement import Place, Verdict
from logdirwatch_lab.demo.load import Load
from logdirwatch_lab.demo.services import Service
from logdirwatch_lab.demo.watch import Seen, Watch
from logdirwatch_lab.ports import free_ports
from logdirwatch_lab.state import HOST

FILL_FAST_UNTIL_RATIO = 0.70
FILL_BYTES_PER_S = 350_000
START_DEADLINE_S = 300.0
CONSOLE_TIMEOUT_S = 10.0

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """Which directory is broken and which is filled, by broker and index."""

    broken: tuple[int, int]
    filled: tuple[int, int]


def choose(
    brokers: int,
    log_dirs: int,
    seed: int | None,
    broken: tuple[int, int] | None,
    filled: tuple[int, int] | None,
) -> Plan:
    """Return two directories of different brokers, chosen at random unless given."""
    dice = random.Random(seed)  # noqa: S311 - not used for security

    def spot(taken: tuple[int, int] | None) -> tuple[int, int]:
        free = [broker for broker in range(brokers) if taken is None or broker != taken[0]]
        return dice.choice(free), dice.randrange(log_dirs)

    first = broken or spot(filled)
    return Plan(first, filled or spot(first))


@dataclass
class Report:
    """The results; ``verdicts`` decide whether the run was a success.

    ``too_busy`` says that the machine was, when something was missed.
    """

    verdicts: list[Verdict] = field(default_factory=list)
    fault_to_alert_s: dict[str, dict[str, float | None]] = field(default_factory=dict)
    table_rows: dict[str, int] = field(default_factory=dict)
    alerts: list[AlertRecord] = field(default_factory=list)
    actions: list[ActionRecord] = field(default_factory=list)
    too_busy: str | None = None

    @property
    def is_ok(self) -> bool:
        """Whether all expectations are met."""
        return bool(self.verdicts) and all(verdict.holds for verdict in self.verdicts)


class Story:
    """One run; everything it starts is stopped when ``stack`` unwinds."""

    def __init__(self, cluster: LocalCluster, plan: Plan, tell: Tell, stack: ExitStack, deadline_s: float) -> None:
        self._cluster = cluster
        self._deadline_s = deadline_s
        self._plan = plan
        self._tell = tell
        self._stack = stack
        self.report = Report()
        self._services: list[Service] = []
        self._said_busy: str | None = None

    def set_up(self) -> None:
        """Start both clusters, the load, the collector and the stream, and wait until every broker is monitored."""
        self._stack.enter_context(self._cluster)
        state = self._cluster.state()
        self.settings: Settings = configuration.load(self._cluster.config_path)
        telemetry_topics.create_missing(self.settings)
        monitored = next(iter(self.settings.clusters.values()))
        for name in ("collect", "stream"):
            self._start_service(name)
        load = Load(monitored, len(state.brokers))
        load.start()
        self._stack.callback(load.stop)
        self._watch = Watch(self.settings.telemetry, self._tell_alert, self._tell_action)
        self._watch.start()
        self._broken, self._filled = (
            Place(broker, state.broker(broker).log_dirs[index])
            for broker, index in (self._plan.broken, self._plan.filled)
        )
        self._tell("Waiting until the stream has judged every broker and the tables know every replica")
        wanted = {node.id for node in state.brokers}
        self._await_start("not every broker is judged", lambda: self._online() >= wanted)
        self._await_start("the tables know no replica", self._replicas)
        self._tell("Every broker is monitored now")

    def run(self) -> None:
        """Cause the faults and verify the results; the first missing one ends the demo."""
        steps = (self._break, self._fill, self._look_at_tables, self._restore)
        for step in steps:
            verdicts = step()
            self._say_verdicts(verdicts)
            self.report.verdicts += verdicts
            if not self._all(verdicts):
                return

    def _await_start(self, complaint: str, condition: Callable[[], object]) -> None:
        deadline_s = self._patient(START_DEADLINE_S)
        if not self._watch.wait_for(lambda: bool(condition()), deadline_s, self.check_services):
            why = patience.too_busy(*_wanted()) or self._services[-1].tail()
            raise UserError(f"demo: {complaint} after {human_s(deadline_s)}; {why}")

    def _patient(self, deadline_s: float) -> float:
        """Return a deadline adjusted to the load of this machine; print a line if it is busy."""
        load, processors = _wanted()
        if (line := patience.said(load, processors, deadline_s)) is not None and line != self._said_busy:
            self._said_busy = line
            self._tell(line)
        return deadline_s * patience.stretch(load, processors)

    def _start_service(self, name: str, *arguments: str) -> None:
        log_file = self._cluster.folder / "logs" / f"{name}.log"
        service = Service(name, ["--config", str(self._cluster.config_path), name, *arguments], log_file)
        self._stack.callback(service.stop)
        self._services.append(service.start())
        self._tell(f"Started logdirwatch {name} (pid {service.pid}, log {log_file})")

    def _break(self) -> list[Verdict]:
        self._tell(f"FAULT  breaking {self._broken}: a file replaces the directory")
        fault_s = time.monotonic()
        self._cluster.break_log_dir(*self._plan.broken)
        verdicts = self._wait(self._broken_verdicts)
        offline = self._seen(self._broken, Rule.LOG_DIR_OFFLINE)
        self.report.fault_to_alert_s["log_dir_failure"] = {
            name: _since(fault_s, [seen for seen in offline if seen.record.lane in lanes])
            for name, lanes in (("fast", judgement.FAST_LANES), ("stateful", (Lane.STATEFUL,)))
        }
        return verdicts

    def _fill(self) -> list[Verdict]:
        broker, index = self._plan.filled
        self._tell(
            f"FAULT  filling {self._filled} with data: at full speed to {human_ratio(FILL_FAST_UNTIL_RATIO, 0)}, "
            "then slowly"
        )
        self._cluster.fill(broker, index, until_ratio=FILL_FAST_UNTIL_RATIO)
        slow_s = time.monotonic()
        self._cluster.fill(broker, index, rate_bytes_per_s=FILL_BYTES_PER_S)
        verdicts = self._wait(self._filled_verdicts)
        self.report.fault_to_alert_s["log_dir_filling"] = {
            "stateful": _since(slow_s, self._seen(self._filled, Rule.LOG_DIR_SPACE))
        }
        self._tell_lead()
        return verdicts

    def _look_at_tables(self) -> list[Verdict]:
        self._tell("Reading the Delta tables")
        verdicts = self._wait(self._table_verdicts)
        self.report.table_rows = tables.counts(self.settings.tables_path)
        return verdicts

    def _restore(self) -> list[Verdict]:
        for place, spot in ((self._broken, self._plan.broken), (self._filled, self._plan.filled)):
            self._tell(f"REPAIR restoring {place} and restarting its broker")
            self._cluster.restore(*spot)
        return self._wait(self._recovered_verdicts)

    def start_console(self) -> str:
        """Start the web page over the tables; return its address once it answers."""
        (port,) = free_ports(1)
        self._start_service("console", "--listen", f"{HOST}:{port}")
        url = f"http://{HOST}:{port}/"
        self._await_start("the console does not answer", lambda: _answers(url))
        return url

    def finish(self) -> Report:
        """Collect the results."""
        self.report.alerts = [a for a in self._alerts() if a.rule is not Rule.HEARTBEAT]
        self.report.actions = [seen.record for seen in self._watch.actions]
        return self.report

    def check_services(self) -> None:
        """Raise UserError when the collector or the stream ended by itself."""
        for service in self._services:
            service.check()

    def _broken_verdicts(self) -> list[Verdict]:
        return judgement.broken_verdicts(self._broken, self._alerts(), self._actions())

    def _filled_verdicts(self) -> list[Verdict]:
        return judgement.filled_verdicts(self._filled, self._alerts(), self._actions())

    def _table_verdicts(self) -> list[Verdict]:
        path = self.settings.tables_path
        return judgement.table_verdicts(
            self._broken,
            self._filled,
            tables.rows(path, "log_dir_state"),
            tables.rows(path, "broker_state"),
            tables.rows(path, "replica_state"),
        )

    def _recovered_verdicts(self) -> list[Verdict]:
        rows = tables.rows(self.settings.tables_path, "log_dir_state")
        return judgement.recovered_verdicts((self._broken, self._filled), self._alerts(), rows)

    def _alerts(self) -> list[AlertRecord]:
        return [seen.record for seen in self._watch.alerts]

    def _actions(self) -> list[ActionRecord]:
        return [seen.record for seen in self._watch.actions]

    def _seen(self, place: Place, rule: Rule) -> list[Seen[AlertRecord]]:
        return [seen for seen in self._watch.alerts if judgement.of_place([seen.record], place, rule)]

    def _replicas(self) -> int:
        return tables.count(self.settings.tables_path, "replica_state")

    def _online(self) -> set[int]:
        latest = {seen.record.broker: seen.record for seen in self._watch.states}
        return {broker for broker, record in latest.items() if record.status is BrokerStatus.ONLINE}

    def _all(self, verdicts: list[Verdict]) -> bool:
        return all(verdict.holds for verdict in verdicts)

    def _wait(self, look: Callable[[], list[Verdict]]) -> list[Verdict]:
        if not self._watch.wait_for(lambda: self._all(look()), self._patient(self._deadline_s), self.check_services):
            self.report.too_busy = patience.too_busy(*_wanted())
        return look()

    def _tell_alert(self, seen: Seen[AlertRecord]) -> None:
        alert = seen.record
        if alert.rule is not Rule.HEARTBEAT:
            self._tell(f"ALERT  {alert.lane:<8} {alert.severity:<8} {alert.status:<8} {alert.rule}: {alert.summary}")

    def _tell_action(self, seen: Seen[ActionRecord]) -> None:
        action = seen.record
        self._tell(f"ACTION {action.status:<9} {action.kind}: {action.reason}")

    def _tell_lead(self) -> None:
        space = judgement.of_place(self._alerts(), self._filled, Rule.LOG_DIR_SPACE)
        action, lead_ms = judgement.first_action(space, self._actions()), judgement.lead_ms(space)
        if action is not None and lead_ms is not None:
            needs_ms = action.expected.get("needs_ms")
            self._tell(f"The first alert came {lead_ms} ms before saturation, its {action.kind} needs {needs_ms} ms")

    def _say_verdicts(self, verdicts: list[Verdict]) -> None:
        for verdict in verdicts:
            self._tell(f"{'SEEN  ' if verdict.holds else 'MISSED'} {verdict.text}")


def _wanted() -> tuple[float, int]:
    """Return how many processes want to run, and how many processors there are."""
    return os.getloadavg()[0], os.cpu_count() or 1


def _since(fault_s: float, seen: list[Seen[AlertRecord]]) -> float | None:
    return round(min(item.at_s for item in seen) - fault_s, 3) if seen else None


def _answers(url: str) -> bool:
    try:
        return requests.get(url, timeout=CONSOLE_TIMEOUT_S).ok
    except requests.RequestException:
        return False
