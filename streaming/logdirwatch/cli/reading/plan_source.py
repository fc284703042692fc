"""The real cluster of ``logdirwatch plan``: read from the tables, without Spark, or from its brokers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import typer

from logdirwatch.cli.context import Context
from logdirwatch.cli.reading import live_cluster
from logdirwatch.cli.reading.records import print_unreadable, read_into, telemetry, waiting_for_kafka
from logdirwatch.cli.reading.tables.opening import table_reader
from logdirwatch.cli.reading.tables.reader import TableReader
from logdirwatch.errors import UserError
from logdirwatch.jobs.policy import policy_for
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model.records import ActionRecord, AlertRecord
from logdirwatch.model.vocabulary import TAKEN_UP, AlertStatus, Rule
from logdirwatch.plan.capacity.projected_use import alike
from logdirwatch.plan.cluster.from_tables import facts_from
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.commands.kafka_tools import Tools
from logdirwatch.plan.lifecycle.overlay import as_seen, with_actions
from logdirwatch.plan.proposal import Policy
from logdirwatch.report.folding import Latest, Message, latest_actions, latest_alerts
from logdirwatch.settings import Settings
from logdirwatch.store.schema.columns import Table
from logdirwatch.store.schema.definitions import ACTIONS, ALERTS, BROKER_STATE
from logdirwatch.store.settings import TableSettings
from logdirwatch.store.sql import newest, quoted
from logdirwatch.text.printable import printable

Records = tuple[list[AlertRecord], list[ActionRecord]]
"""A cluster's firing alerts, and the latest revision of each of its actions."""


@dataclass(frozen=True)
class Source:
    """The source options: a cluster's name, and whether and where to query its brokers."""

    cluster: str | None
    is_live: bool
    tables: str | None
    bootstrap_server: str | None


@dataclass(frozen=True)
class Found:
    """A real cluster: its facts, its alerts and actions, and the policy."""

    facts: ClusterSnapshot
    alerts: list[AlertRecord]
    actions: list[ActionRecord]
    policy: Policy

    @property
    def judged(self) -> ClusterSnapshot:
        """The facts, corrected by the open alerts and by the actions under way."""
        return with_actions(as_seen(self.facts, self.alerts, self.actions, self.policy.limits), self.taken_up)

    @property
    def taken_up(self) -> list[ActionRecord]:
        """The actions that are accepted or under way."""
        return [action for action in self.actions if action.status in TAKEN_UP]


def find(context: Context, source: Source, *, needs_alerts: bool) -> Found:
    """Return the cluster that the options name.

    ``needs_alerts``: a live cluster's alerts are read from the telemetry topics, which nothing else needs. Raises
    UserError when the cluster is unknown or cannot be read.
    """
    settings = context.settings
    if source.tables is not None:
        settings = settings.model_copy(update={"tables": TableSettings(path=source.tables)})
    if source.is_live or source.bootstrap_server is not None:
        return _live(context, source, needs_alerts=needs_alerts)
    tables = table_reader(settings)
    name = _stored_name(tables, source.cluster)
    its_own = f"cluster = {quoted(name)}"
    facts = facts_from(lambda table, columns: tables.select_columns(table.name, columns, its_own), name)
    if facts is None:
        raise UserError(f"plan: the tables {tables.place.at} have no broker of {name}")
    alerts, actions = _stored_records(tables, name)
    return Found(facts, alerts, actions, policy_for(settings, name))


def _live(context: Context, source: Source, *, needs_alerts: bool) -> Found:
    settings = context.settings
    name, cluster = _configured(settings, source)
    with waiting_for_kafka():
        asked = live_cluster.seen(cluster, settings)
    facts = live_cluster.facts_of(name, asked, settings, {})
    for line in live_cluster.not_known(asked, facts):
        typer.echo(printable(line), err=True)
    for directories in alike(facts):
        typer.echo(printable(_taken_for_separate(directories)), err=True)
    alerts, actions = _told_records(context, name) if needs_alerts else ([], [])
    policy = policy_for(settings, name)
    tools = Tools(policy.tools.settings, cluster.bootstrap_servers)
    return Found(facts, alerts, actions, replace(policy, tools=tools))


def _taken_for_separate(directories: Sequence[LogDir]) -> str:
    paths = ", ".join(directory.path for directory in directories)
    return (
        f"broker {directories[0].broker}: {paths} report the same size and free bytes, which proves no shared volume: "
        "they are treated as separate disks. If they are one, exclude all but one of them in plan.log_dirs "
        "(destination: false)"
    )


def _configured(settings: Settings, source: Source) -> tuple[str, KafkaSettings]:
    """Return the name and address of the cluster to query."""
    names = sorted(settings.clusters)
    if source.bootstrap_server is not None:
        name = source.cluster or (names[0] if len(names) == 1 else settings.default_cluster)
        client = settings.clusters[name].client if name in settings.clusters else {}
        return name, live_cluster.addressed(source.bootstrap_server, client, "plan --bootstrap-server")
    name = _only(names, source.cluster, "the configuration")
    return name, settings.clusters[name]


def _stored_name(tables: TableReader, wanted: str | None) -> str:
    rows = tables.select(BROKER_STATE.name, "SELECT DISTINCT cluster FROM t")
    if rows is None:
        raise UserError(
            f"plan: no table {BROKER_STATE.name} {tables.place.at} yet: run logdirwatch collect and logdirwatch "
            "stream, name the right --tables, ask the cluster itself with --live, or give a --model"
        )
    return _only(sorted(str(row["cluster"]) for row in rows), wanted, f"the tables {tables.place.at}")


def _only(names: Sequence[str], wanted: str | None, where: str) -> str:
    """Return the named cluster, or the only one."""
    if wanted in names and wanted is not None:
        return wanted
    listed = f"there are {', '.join(names)}" if names else "there is none"
    if wanted is not None:
        raise UserError(f"plan: no cluster {wanted} in {where}: {listed}", exit_code=2)
    if len(names) != 1:
        raise UserError(f"plan: name the cluster with --cluster; in {where} {listed}", exit_code=2)
    return names[0]


def _stored_records(tables: TableReader, cluster: str) -> Records:
    alerts, actions = latest_alerts(), latest_actions()
    _take_stored(alerts, tables, ALERTS, "alert_id", cluster)
    _take_stored(actions, tables, ACTIONS, "action_id", cluster)
    return _of_cluster(alerts.records, actions.records, cluster)


def _take_stored(
    fold: Latest[AlertRecord] | Latest[ActionRecord], tables: TableReader, table: Table, identity: str, cluster: str
) -> None:
    """Return the last revision of every record of a cluster in a history table."""
    query = newest(identity, among=f"cluster = {quoted(cluster)}")
    for row in tables.select(table.name, query) or ():
        fold.take(Message(None, str(row["record"]).encode()))
    print_unreadable(fold.summary)


def _told_records(context: Context, cluster: str) -> Records:
    alerts, actions = (read_into(latest_alerts(), telemetry(context)), read_into(latest_actions(), telemetry(context)))
    return _of_cluster(alerts.records, actions.records, cluster)


def _of_cluster(alerts: Iterable[AlertRecord], actions: Iterable[ActionRecord], cluster: str) -> Records:
    firing = [a for a in alerts if a.cluster == cluster and a.status is AlertStatus.FIRING]
    return (
        [alert for alert in firing if alert.rule is not Rule.HEARTBEAT],
        [action for action in actions if action.cluster == cluster],
    )
