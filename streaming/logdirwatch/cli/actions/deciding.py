"""Shared by the commands about one action: how it is named and found, and the decision that accepts or rejects it."""

from collections.abc import Iterator
from typing import Annotated

import typer

from logdirwatch.cli.context import Context
from logdirwatch.cli.deciding import Signed, written_id
from logdirwatch.cli.reading.records import print_unreadable, read_into, telemetry, waiting_for_kafka
from logdirwatch.cli.reading.tables.opening import table_reader
from logdirwatch.decisions import DECIDABLE
from logdirwatch.errors import UserError
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model import topics
from logdirwatch.model.records import ActionRecord, DecisionRecord
from logdirwatch.model.vocabulary import Decision
from logdirwatch.parse.reading import RecordReader
from logdirwatch.plan.content_hash import content_hash
from logdirwatch.report.actions.listing import find
from logdirwatch.report.folding import latest_actions
from logdirwatch.settings import Settings
from logdirwatch.store.schema.definitions import ACTIONS
from logdirwatch.text.printable import printable

ActionId = Annotated[
    str, typer.Argument(metavar="ID", help="The action's id or the beginning of it.", callback=written_id)
]


def find_action(cluster: KafkaSettings, identity: str) -> ActionRecord:
    """Return the newest revision of the action with the id ``identity``; raises UserError if none or several match."""
    return find(read_into(latest_actions(), cluster).records, identity)


def read_action(context: Context, identity: str) -> ActionRecord:
    """Return an action as :func:`find_action` does, within the time in which a command answers."""
    with waiting_for_kafka():
        return find_action(telemetry(context), identity)


def every_revision(
    settings: Settings, cluster: KafkaSettings, reader: RecordReader | None = None
) -> Iterator[ActionRecord]:
    """Yield every revision of every action in the topic or the table; some of them twice.

    The topic is compacted and the table keeps all revisions; without the table only the topic is used, and a line says
    so.
    """
    reader = reader or RecordReader()
    read = map(reader.take, clients.read_all(cluster, topics.ACTIONS))
    yield from (record for record in read if isinstance(record, ActionRecord))
    yield from reader.stored(ActionRecord, _stored(settings))
    print_unreadable(reader.summary(topics.ACTIONS))


def _stored(settings: Settings) -> list[str]:
    """Return the records of the table ``actions``; none while it is missing or unreachable."""
    try:
        found = table_reader(settings).select(ACTIONS.name, "SELECT record FROM t WHERE record IS NOT NULL")
        return [str(row["record"]) for row in found or ()]
    except UserError as error:
        why = printable(str(error).splitlines()[0])
        typer.echo(f"logdirwatch: only actions still on the topic {topics.ACTIONS} are counted: {why}", err=True)
        return []


def new_decision(
    action: ActionRecord, decision: Decision, said: Signed, at_ms: int, seen_hash: str | None = None
) -> DecisionRecord:
    """Return the decision; raises UserError if the action's status does not allow it.

    With ``seen_hash``, the content_hash of what the person saw, also if the action would do something else now.
    """
    if action.status not in DECIDABLE[decision]:
        raise UserError(f"action {action.action_id} is {action.status}: there is nothing to {decision}")
    hashed = content_hash(action)
    if seen_hash is not None and seen_hash != hashed:
        raise UserError(f"action {action.action_id} changed since the page was made: read it again before you decide")
    return DecisionRecord(
        version=1,
        id=action.action_id,
        cluster=action.cluster,
        decision=decision,
        by=said.by,
        reason=said.reason,
        at_ms=at_ms,
        revision=action.revision,
        content_hash=hashed,
    )
