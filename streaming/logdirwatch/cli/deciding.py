"""What the commands share that write what people decide: who, why, for how long, and the way to the topic."""

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, NamedTuple

import msgspec
import typer

from logdirwatch.cli.context import Context
from logdirwatch.cli.reading.records import now_ms, read_into, telemetry
from logdirwatch.decisions import Severities
from logdirwatch.errors import UserError
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model import topics
from logdirwatch.model.records import DecisionRecord
from logdirwatch.model.vocabulary import Decision
from logdirwatch.report.folding import LatestAlerts, LatestDecisions
from logdirwatch.report.handling import Handling
from logdirwatch.text.printable import printable
from logdirwatch.text.units import human_ms, written_ms

By = Annotated[str, typer.Option("--by", help="Who decides.")]
Reason = Annotated[str, typer.Option("--reason", help="Why; kept with the decision.")]


SeveritiesOf = Callable[[str], Severities]


class Signed(NamedTuple):
    """Who decided, and why."""

    by: str
    reason: str


def signed(by: str, reason: str) -> Signed:
    """Return who decided and why; UserError when one of them is blank."""
    if not by.strip() or not reason.strip():
        raise UserError("a decision needs a name (--by) and a reason (--reason)", exit_code=2)
    return Signed(by.strip(), reason.strip())


def lasting_ms(text: str, longest_ms: int, setting: str) -> int:
    """Return how long ``--for`` says; UserError when it is no duration, or longer than ``setting`` allows."""
    duration_ms = written_ms(text)
    if not duration_ms:
        raise UserError(f"--for {text!r} is no duration; write 2h, 90m or 1d", exit_code=2)
    if duration_ms > longest_ms:
        raise UserError(f"--for {text} is too long: at most {human_ms(longest_ms)} ({setting})", exit_code=2)
    return duration_ms


def decided(context: Context) -> list[DecisionRecord]:
    """Return the newest of every decision about everything."""
    fold = LatestDecisions(context.settings.detect.clock_skew_ms)
    read_into(fold, telemetry(context), topics.DECISIONS)
    return fold.records


def decided_at_ms(known: Iterable[DecisionRecord], decision: Decision, identity: str) -> int:
    """Return the time of a new decision: now, and later than what was decided before, whosever clock that was."""
    before = (record.at_ms for record in known if (record.decision, record.id) == (decision, identity))
    return max(now_ms(), max(before, default=-1) + 1)


def handling(context: Context, fold: LatestAlerts) -> Handling | None:
    """Return what was said of the alerts in ``fold`` and of brokers; None, and a line why, when that cannot be read.

    What is wrong must be shown all the same.
    """
    try:
        return handling_of(context, decided(context), fold.severities)
    except UserError as error:
        typer.echo(f"logdirwatch: who acknowledged or silenced alerts is not known: {printable(str(error))}", err=True)
        return None


def handling_of(context: Context, records: Iterable[DecisionRecord], severities: SeveritiesOf) -> Handling:
    """Return what was said, with its ends bounded as configured."""
    settings = context.settings
    return Handling(
        records,
        severities,
        longest_ms=settings.decisions.longest_ms,
        longest_maintenance_ms=settings.detect.maintenance_max_ms,
    )


def send(cluster: KafkaSettings, records: Sequence[DecisionRecord]) -> None:
    """Write decisions to their topic and wait until Kafka has them."""
    written = ((record.id, msgspec.json.encode(record)) for record in records)
    clients.write(cluster, topics.DECISIONS, written)
