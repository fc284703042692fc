"""``logdirwatch actions check``: checks an action against the live cluster."""

from collections.abc import Mapping

import typer

from logdirwatch.cli.actions.deciding import read_action
from logdirwatch.cli.context import Context
from logdirwatch.cli.reading.live_cluster import facts_of, not_known, seen, with_host_sizes
from logdirwatch.cli.reading.records import now_ms
from logdirwatch.errors import UserError
from logdirwatch.jobs.policy import policy_for
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import Cause
from logdirwatch.plan.cluster.layout import LogDirId
from logdirwatch.plan.lifecycle.live_check import left_to_see, reasons_against
from logdirwatch.settings import Settings
from logdirwatch.text.printable import printable


def check(context: Context, identity: str) -> None:
    """Print why an action no longer holds on the live cluster, and end with exit code 1; or that it holds."""
    settings = context.settings
    action = read_action(context, identity)
    cluster = settings.clusters.get(action.cluster)
    if cluster is None:
        raise UserError(
            f"check: cluster {action.cluster} is not in the configuration, so it cannot be checked", exit_code=2
        )
    reasons = still_against(settings, action)
    if reasons:
        for reason in reasons:
            typer.echo(printable(f"no longer holds: {reason}"))
        raise typer.Exit(1)
    typer.echo(printable(f"holds: {action.kind} {action.action_id} on cluster {action.cluster}"))
    for text in left_to_see(action):
        typer.echo(printable(f"check yourself: {text}"))


def still_against(settings: Settings, action: ActionRecord) -> list[str]:
    """Return why an action does not hold on the live cluster; what its brokers cannot tell goes to standard error."""
    found = with_host_sizes(action.cluster, seen(settings.clusters[action.cluster], settings), settings)
    facts = facts_of(action.cluster, found, settings, _causes(action))
    for line in not_known(found, facts):
        typer.echo(printable(line), err=True)
    return reasons_against(action, facts, found.quorum, policy_for(settings, action.cluster), now_ms())


def _causes(action: ActionRecord) -> Mapping[LogDirId, Cause]:
    """Return why the action's directory is offline, from its alert: the broker does not say."""
    broker, log_dir, cause = action.target.get("broker"), action.target.get("log_dir"), action.alert.get("cause")
    if not isinstance(broker, int) or not isinstance(log_dir, str) or cause not in set(Cause):
        return {}
    return {(broker, log_dir): Cause(cause)}
