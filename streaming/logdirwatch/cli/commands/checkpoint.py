"""``logdirwatch checkpoint``: what the checkpoint of a query remembers, to compare with what is on the topics."""

from enum import Enum
from typing import Annotated

import typer

from logdirwatch import spark_version
from logdirwatch.cli.context import Context
from logdirwatch.errors import UserError


class Query(str, Enum):
    """The queries that keep state."""

    DETECT = "detect"
    FLEET = "fleet"


def checkpoint(
    ctx: typer.Context,
    query: Annotated[Query, typer.Option("--query", help="The query whose checkpoint is read.")] = Query.DETECT,
    cluster: Annotated[str | None, typer.Option("--cluster", help="Only this cluster.")] = None,
    broker: Annotated[int | None, typer.Option("--broker", help="Only this broker, of detect.")] = None,
) -> None:
    """Print what a query's checkpoint remembers: a JSON line for each broker (detect) or cluster (fleet).

    A broker's line is what logdir.state would say of it now. Nothing is changed, and the stream may run meanwhile.
    Settings: checkpoints.path. Exit code 1: there is no checkpoint, or it holds nothing of what was asked for.
    """
    if broker is not None and query is not Query.DETECT:
        raise UserError("checkpoint: --broker goes with --query detect: fleet remembers clusters", exit_code=2)
    context: Context = ctx.obj
    spark_version.require()
    # Spark takes a second to import, which no other command should pay for.
    from logdirwatch.jobs import memory  # noqa: PLC0415

    is_known = False
    for line in memory.run(context.settings, query.value, cluster, broker):
        typer.echo(line)
        is_known = True
    if not is_known:
        asked = f"broker {broker}" if cluster is None else f"{cluster}{'' if broker is None else f'/{broker}'}"
        nothing = "nothing yet" if cluster is None and broker is None else f"nothing of {asked}"
        raise UserError(f"checkpoint: the checkpoint of {query.value} remembers {nothing}")
