"""Shared by the commands that record decisions: who, why, for how long, and how they are written."""

import string
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlsplit

import msgspec
import typer

from logdirwatch.cli.context import Context
from logdirwatch.cli.reading.records import now_ms, read_into, telemetry, waiting_for_kafka
from logdirwatch.decisions import MOST_CHARACTERS, Severities
from logdirwatch.errors import UnconfirmedError, UserError
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model import topics
from logdirwatch.model.records import DecisionRecord
from logdirwatch.model.vocabulary import Decision
from logdirwatch.report.folding import LatestAlerts, LatestDecisions
from logdirwatch.report.handling import Handling
from logdirwatch.settings import Settings
from logdirwatch.text.printable import printable
from logdirwatch.text.units import human_ms, written_ms

By = Annotated[str, typer.Option("--by", help="The person who decides.")]
Reason = Annotated[str, typer.Option("--reason", help="The reason, recorded with the decision.")]


_AROUND_IDS = string.whitespace + string.punctuation + "…"


def written_id(identity: str | None) -> str | None:
    """Return an id however it was copied: out of a sentence, cut off, or as the address of its page in the console.

    Raises UserError when nothing is left.
    """
    if identity is None:
        return None
    page = urlsplit(identity.strip()).path.rpartition("/")[2] if "://" in identity else identity
    found = page.strip(_AROUND_IDS)
    if not found:
        raise UserError("an id needs at least one character", exit_code=2)
    return found.lower()


SeveritiesOf = Callable[[str], Severities]


class Signed(NamedTuple):
    """Who decided, and why."""

    by: str
    reason: str


def signed(by: str, reason: str) -> Signed:
    """Return who decided and why; raises UserError when one of them is blank or too long."""
    if not by.strip() or not reason.strip():
        raise UserError("a decision needs a name (--by) and a reason (--reason)", exit_code=2)
    if max(len(by), len(reason)) > MOST_CHARACTERS:
        raise UserError(f"a name and a reason have at most {MOST_CHARACTERS} characters", exit_code=2)
    return Signed(by.strip(), reason.strip())


def lasting_ms(text: str, longest_ms: int, setting: str) -> int:
    """Return the duration of ``--for``; raises UserError if it is not a duration or longer than ``setting`` allows."""
    duration_ms = written_ms(text)
    if not duration_ms:
        raise UserError(f"--for {text!r} is not a duration; write 2h, 90m or 1d", exit_code=2)
    if duration_ms > longest_ms:
        raise UserError(f"--for {text} is too long: at most {human_ms(longest_ms)} ({setting})", exit_code=2)
    return duration_ms


def decision_ms(settings: Settings, text: str) -> int:
    """Return the duration of ``--for`` of a decision about alerts or the autopilot, as :func:`lasting_ms` does."""
    return lasting_ms(text, settings.decisions.longest_ms, "decisions.longest_ms")


def decided(context: Context) -> list[DecisionRecord]:
    """Return the latest decision of each kind about each target."""
    return read_into(LatestDecisions(context.settings.detect.clock_skew_ms), telemetry(context)).records


def read_decisions(context: Context) -> list[DecisionRecord]:
    """Return what :func:`decided` does, within the time in which a command answers."""
    with waiting_for_kafka():
        return decided(context)


def decided_at_ms(known: Iterable[DecisionRecord], decision: Decision, identity: str) -> int:
    """Return the time of a new decision: now, but later than earlier decisions, whose clock may be ahead."""
    before = (record.at_ms for record in known if (record.decision, record.id) == (decision, identity))
    return max(now_ms(), max(before, default=-1) + 1)


def new_decision(
    known: Iterable[DecisionRecord],
    decision: Decision,
    identity: str,
    said: Signed,
    duration_ms: int | None = None,
    **about: Any,
) -> DecisionRecord:
    """Return a decision that is made now; ``about`` are further fields, without ``duration_ms`` it has no end."""
    at_ms = decided_at_ms(known, decision, identity)
    until_ms = None if duration_ms is None else at_ms + duration_ms
    return DecisionRecord(
        version=1,
        id=identity,
        decision=decision,
        by=said.by,
        reason=said.reason,
        at_ms=at_ms,
        until_ms=until_ms,
        **about,
    )


def check_cluster(settings: Settings, cluster: str) -> None:
    """Raise UserError if clusters are configured and this is none of them."""
    if settings.clusters and cluster not in settings.clusters:
        names = ", ".join(sorted(settings.clusters))
        raise UserError(f"no cluster {cluster} in the configuration; configured: {names}", exit_code=2)


def handling(context: Context, fold: LatestAlerts) -> Handling | None:
    """Return the decisions about alerts in ``fold`` and brokers; None, and a line with the reason, if unreadable.

    Alerts must be shown even then.
    """
    try:
        return handling_of(context, decided(context), fold.severities)
    except UserError as error:
        typer.echo(f"logdirwatch: acknowledgements and silences are unknown: {printable(str(error))}", err=True)
        return None


def handling_of(context: Context, records: Iterable[DecisionRecord], severities: SeveritiesOf) -> Handling:
    """Return the decisions, with their ends bounded as configured."""
    settings = context.settings
    return Handling(
        records,
        severities,
        longest_ms=settings.decisions.longest_ms,
        longest_maintenance_ms=settings.detect.maintenance_max_ms,
    )


def send(cluster: KafkaSettings, records: Sequence[DecisionRecord], look: str | None = None) -> None:
    """Write decisions to their topic and wait until Kafka has them.

    Raises UnconfirmedError, which says where to ``look`` whether they are recorded, if Kafka does not confirm them.
    """
    written = ((record.id, msgspec.json.encode(record)) for record in records)
    try:
        clients.write(cluster, topics.DECISIONS, written)
    except UnconfirmedError as error:
        where = look or _LOOK[records[0].decision]
        raise UnconfirmedError(f"{error}; look {where}; deciding again does no harm") from None


_LOOK = {
    **dict.fromkeys((Decision.ACCEPT, Decision.REJECT), "with: logdirwatch actions show ID"),
    **dict.fromkeys((Decision.ACKNOWLEDGE, Decision.SILENCE), "with: logdirwatch alerts decisions"),
    Decision.HEALTHY: "with: logdirwatch alerts",
    Decision.MAINTENANCE: "with: logdirwatch maintenance list",
    Decision.PAUSE: "in the log of logdirwatch autopilot",
}
"""Where a decision shows once it is recorded."""
