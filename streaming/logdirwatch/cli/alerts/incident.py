"""The records about one alert, from the topics and the tables, for ``logdirwatch alerts report``."""

import typer

from logdirwatch.cli import deciding
from logdirwatch.cli.alerts.decisions import known_actions, known_alerts
from logdirwatch.cli.context import Context
from logdirwatch.cli.reading.records import waiting_for_kafka
from logdirwatch.cli.reading.tables.opening import table_reader
from logdirwatch.console.reading import Reader
from logdirwatch.errors import UserError
from logdirwatch.report.alerts import find
from logdirwatch.report.incident import Incident
from logdirwatch.text.printable import printable


def recorded(context: Context, identity: str) -> Incident:
    """Return what is recorded about an alert; raises UserError if the topic has none with this id.

    Topics are compacted and tables keep all revisions; without the tables a line says so, and only the topics are used.
    """
    with waiting_for_kafka():
        fold = known_alerts(context)
        alert = find(fold.records, identity)
        actions = known_actions(context, alert)
        decisions = deciding.decided(context)
    about = {alert.alert_id, *(action.action_id for action in actions)}
    known = Incident(life=[alert], actions=actions, decisions=[one for one in decisions if one.id in about])
    try:
        tables = table_reader(context.settings)
        return _with_tables(known, Reader(tables.select, tables.rows, lambda: fold.records))
    except UserError as error:
        why = printable(str(error).splitlines()[0])
        typer.echo(f"logdirwatch: the write-up is from the topics alone: {why}", err=True)
        return known


def _with_tables(known: Incident, reader: Reader) -> Incident:
    alert = known.life[0]
    life = reader.alert(alert.alert_id)
    actions = {action.action_id: action for action in (*reader.actions_of(alert.alert_id), *known.actions)}
    begun = [one for name in actions for one in reader.executions(name) or ()]
    changes = [] if alert.broker is None else reader.transitions(alert.cluster, alert.broker, alert.log_dir)
    from_ms, to_ms = life[-1].opened_at_ms, life[0].at_ms
    return known._replace(
        life=life,
        actions=list(actions.values()),
        executions=[record for one in begun for record in reader.execution(one.execution_id)],
        transitions=[row for row in changes if from_ms <= row["at_ms"] <= to_ms],
    )
