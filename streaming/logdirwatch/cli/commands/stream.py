"""``logdirwatch stream``: the streaming queries, until SIGTERM."""

from enum import Enum
from typing import Annotated

import typer

from logdirwatch import spark_version
from logdirwatch.cli.context import say_next
from logdirwatch.errors import UserError


class Query(str, Enum):
    """The queries by name."""

    FAST_LANE = "fast_lane"
    DETECT = "detect"
    FLEET = "fleet"
    STORE = "store"
    STORE_INVENTORY = "store_inventory"
    RECOMMEND = "recommend"


def stream(
    ctx: typer.Context,
    query: Annotated[
        list[Query] | None, typer.Option("--query", help="Run only this query; may be repeated. Default: all.")
    ] = None,
) -> None:
    """Run the streaming queries: metrics and events in, alerts, state, tables and actions out.

    Runs until SIGTERM or Ctrl-C and lets running batches end; the next start continues where it stopped. Locally it
    starts its own Spark; under spark-submit or on Databricks set stream.master to null.
    """
    spark_version.require()
    # Spark takes a second to import, which no other command should pay for.
    from logdirwatch.jobs import application  # noqa: PLC0415

    names = [item.value for item in query or list(Query)]
    if len(set(names)) != len(names):
        raise UserError("stream: the same --query was given twice", exit_code=2)
    say_next(ctx.obj, "status", "alerts --follow", "console", where=", in another terminal")
    application.run(ctx.obj.settings, names)
