"""Runs every check and collects the findings; an unreachable cluster is a finding and skips dependent checks."""

from collections.abc import Callable, Iterable
from concurrent.futures import Future

from logdirwatch.doctor import autopilot as judge_autopilot
from logdirwatch.doctor import findings, here, look, monitored
from logdirwatch.doctor import monitored as judge_cluster
from logdirwatch.doctor import telemetry as judge_telemetry
from logdirwatch.doctor.findings import CHECKS, Finding, Report
from logdirwatch.errors import UserError
from logdirwatch.jars import find_java
from logdirwatch.jobs.checks import cluster_id
from logdirwatch.kafka import clients
from logdirwatch.kafka.deadline import begun
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model import topics
from logdirwatch.plan.commands.kafka_tools import Tools
from logdirwatch.plan.settings import ToolSettings
from logdirwatch.settings import Settings

Now = Callable[[], int]
Telemetry = tuple[str | None, judge_telemetry.TelemetryFacts]


class Examination:
    """One run of all checks over one configuration."""

    def __init__(self, settings: Settings, remarks: Iterable[str], now_ms: Now) -> None:
        self._settings = settings
        self._remarks = remarks
        self._now_ms = now_ms
        self._findings: list[Finding] = []
        self._notices: list[Finding] = []
        self._not_checked: dict[str, str] = {}
        self._telemetry_id: str | None = None
        self._of_telemetry: Future[Telemetry] | None = None
        self._of_cluster: dict[str, Future[look.Monitored]] = {}

    def ask(self) -> "Future[Telemetry]":
        """Query all clusters at the same time without waiting: one that is down delays nothing else.

        Return the pending answer of the telemetry cluster.
        """
        self._of_telemetry = begun(lambda: look.telemetry_facts(self._settings))
        self._of_cluster = {name: begun(self._asking(name)) for name in self._settings.clusters}
        return self._of_telemetry

    def _asking(self, name: str) -> Callable[[], look.Monitored]:
        return lambda: look.monitored(self._settings, name, self._now_ms)

    def run(self) -> Report:
        """Run every check."""
        of_telemetry = self._of_telemetry or self.ask()
        self._configuration()
        self._findings += here.judge_java(_error_of(find_java))
        self._folders()
        events_partitions = self._telemetry(of_telemetry)
        if self._settings.stream.is_real_time:
            self._slots(events_partitions)
        for name in self._settings.clusters:
            self._cluster(name)
        # In the order of the checks: a finding that decides whether another matters comes before it.
        in_order = sorted(self._findings, key=lambda found: list(CHECKS).index(found.check))
        return Report(tuple(in_order), self._not_checked, tuple(self._notices))

    def _slots(self, events_partitions: int) -> None:
        self._findings += here.judge_slots(self._settings.stream.master, events_partitions)
        if self._settings.stream.master is None:
            self._leave_out("task_slots", "stream.master is null: Spark checks this at start")

    def _configuration(self) -> None:
        for remark in self._remarks:
            what, _, remedy = remark.partition(": ")
            self._find("configuration", "configuration", what, remedy or "see conf/reference.yaml")
        error = _error_of(lambda: _senders(self._settings))
        if error is not None:
            what, _, remedy = str(error).rpartition("; ")
            self._find("configuration", "notify.receivers", what or remedy, remedy)

    def _folders(self) -> None:
        settings = self._settings
        chosen = [("home folder", str(settings.home_path), "home")]
        if settings.tables.catalog is None:
            chosen.append(("tables", settings.tables_path, "tables.path"))
        chosen.append(("checkpoints", settings.checkpoints.path, "checkpoints.path"))
        for name, path, setting in chosen:
            if here.is_local(path):
                self._findings += here.judge_folder(here.folder(name, path, setting))
            else:
                self._leave_out("folders", f"{setting} is an object store: Spark checks this at start")

    def _telemetry(self, asked: "Future[Telemetry]") -> int:
        """Check the telemetry cluster; return the present or wanted number of partitions of events."""
        settings = self._settings
        partitions = settings.topics.events_partitions
        try:
            self._telemetry_id, facts = asked.result()
        except UserError as error:
            self._findings.append(findings.unreachable("telemetry", "telemetry", str(error)))
            for check in ("topics", "replication", "permissions", "telemetry_is_monitored"):
                self._leave_out(check, "the telemetry cluster does not answer")
            return partitions
        tools = Tools(ToolSettings(), settings.telemetry.bootstrap_servers)
        self._findings += judge_telemetry.judge_topics(settings, facts)
        self._findings += judge_telemetry.judge_replication(settings, facts)
        self._findings += judge_telemetry.judge_permissions(facts, tools, _principal(settings.telemetry))
        self._clock("telemetry", look.telemetry_clock(settings, self._now_ms))
        events = facts.existing.get(topics.EVENTS)
        return events.partitions if events else partitions

    def _same_cluster(self, name: str) -> None:
        if self._telemetry_id is not None and cluster_id(self._settings.clusters[name]) == self._telemetry_id:
            self._find(
                "telemetry_is_monitored",
                f"cluster {name}",
                "the telemetry topics are on the monitored cluster: when its disks fill, the alerts are lost",
                "set telemetry.bootstrap_servers to another Kafka, one small broker is enough, and create the topics "
                "there with: logdirwatch topics create",
            )

    def _cluster(self, name: str) -> None:
        cluster = self._settings.clusters[name]
        try:
            facts, clock = self._of_cluster[name].result()
        except UserError as error:
            self._findings.append(findings.unreachable(f"cluster {name}", f"clusters.{name}", str(error)))
            for check in ("kafka_release", "permissions", "metadata_version", "offline_replica_count"):
                self._leave_out(check, f"cluster {name} does not answer")
            return
        self._same_cluster(name)
        tools = Tools(cluster.tools, cluster.bootstrap_servers)
        self._findings += judge_cluster.judge_brokers(facts)
        self._findings += judge_cluster.judge_releases(facts)
        self._findings += judge_cluster.judge_permissions(facts, tools, _principal(cluster))
        for why in judge_cluster.not_told(facts):
            self._leave_out("permissions", why)
        self._autopilot(name, tools)
        self._findings += judge_cluster.judge_metadata_version(facts, tools)
        self._findings += judge_cluster.judge_offline_replica_count(facts)
        self._notices += judge_cluster.notices(facts, cluster.capacity_of)
        if facts.is_zookeeper:
            for check in ("metadata_version", "clocks"):
                self._leave_out(check, f"cluster {name} keeps its metadata in ZooKeeper and cannot tell it")
            return
        if facts.metadata_version is None:
            self._leave_out("metadata_version", f"cluster {name} does not report it")
        self._clock(f"cluster {name}", clock)

    def _autopilot(self, name: str, tools: Tools) -> None:
        """Check what the autopilot is allowed on a cluster, where it is allowed anything."""
        allowed = self._settings.autopilot.clusters.get(name)
        if allowed is None or not allowed.kinds:
            return
        self._findings += judge_autopilot.judge_floors(name, allowed, self._settings.plan.for_cluster(name))
        self._findings += judge_autopilot.judge_owner(name, allowed, self._settings.clusters[name].owner)
        operations = look.cluster_operations(self._settings, name)
        if operations is None:
            self._leave_out("permissions", f"cluster {name} does not tell what the autopilot's user may do")
            return
        who = _principal(self._settings.clusters[name])
        self._findings += judge_autopilot.judge_rights(name, allowed, operations, tools, who)

    def _clock(self, where: str, clock: monitored.Clock | None) -> None:
        if clock is None:
            self._leave_out(
                "clocks",
                f"{where} does not report its time (DescribeQuorum does, with the ACL Describe on the cluster)",
            )
        else:
            self._findings += monitored.judge_clock(clock)

    def _leave_out(self, check: str, why: str) -> None:
        known = self._not_checked.get(check)
        self._not_checked[check] = why if known is None else f"{known}; {why}"

    def _find(self, check: str, where: str, what: str, remedy: str) -> None:
        self._findings.append(Finding(check, where, what, remedy))


def misconfigured(error: UserError, where: str = "configuration") -> Report:
    """Return the report of an invalid configuration: nothing else can be checked."""
    finding = Finding(
        "configuration",
        where,
        str(error),
        "correct that key; all keys with their meaning: logdirwatch config reference",
    )
    return Report((finding,), {check: "the configuration cannot be read" for check in CHECKS if check != finding.check})


def _error_of(look_for: Callable[[], object]) -> UserError | None:
    try:
        look_for()
    except UserError as error:
        return error
    return None


def _senders(settings: Settings) -> object:
    if not settings.notify.receivers:
        return None
    from logdirwatch.notify.senders import senders  # noqa: PLC0415 - apprise takes a moment to import

    return senders(settings.notify)


def _principal(cluster: KafkaSettings) -> str | None:
    return findings.principal(clients.python_arguments(cluster))
