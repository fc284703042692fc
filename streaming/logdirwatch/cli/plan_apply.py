"""``logdirwatch plan --apply``: carry out a plan with the code of ``apply``."""

import msgspec
import typer

from logdirwatch.cli.context import Context
from logdirwatch.cli.executing import BY_HAND, execute, has_failed, refuse_beside, say, show
from logdirwatch.cli.reading.records import now_ms, telemetry
from logdirwatch.errors import UserError
from logdirwatch.execute import journal
from logdirwatch.execute.begin import begun, planned
from logdirwatch.kafka import clients
from logdirwatch.plan.balance.files import operations
from logdirwatch.plan.balance.planner import ClusterPlan
from logdirwatch.plan.balance.summary import Cost
from logdirwatch.text.words import counted


def apply_plan(context: Context, plan: ClusterPlan, cluster: str, cost: Cost, *, dry_run: bool) -> None:
    """Show a plan's calls, ask, and carry it out; exit code 1 if nothing was done, or it got stuck.

    ``apply --resume`` and ``--undo`` work with the id that it prints.
    """
    if not context.debug:
        clients.quiet_client_logs()
    noted_at = telemetry(context)
    watched = context.settings.clusters[cluster]
    moves = f"{plan.task.mode}: {counted(cost.replicas, 'replica')}"
    expected = {"needs_ms": cost.needs_ms, "copies_bytes": cost.bytes}
    action = planned(cluster, operations(plan), moves, expected, now_ms())
    record = begun(action, BY_HAND, now_ms())
    if (reason := journal.reason_against(record)) is not None:
        raise UserError(reason)
    refuse_beside(journal.read(noted_at, cluster), record, watched)
    show(record, action)
    if dry_run:
        say("dry run: nothing was changed")
        return
    if not typer.confirm("Do it?", default=False):
        say("nothing was changed")
        raise typer.Exit(1)
    record = msgspec.structs.replace(record, started_at_ms=now_ms(), at_ms=now_ms())
    if has_failed(execute(record, noted_at, watched)):
        raise typer.Exit(1)
