"""``logdirwatch topics``: create the telemetry topics, and show their state."""

from collections.abc import Mapping

import typer
from rich.table import Table

from logdirwatch.cli.context import Context, say_next
from logdirwatch.cli.reading.records import console, waiting_for_kafka
from logdirwatch.kafka import clients, telemetry_topics
from logdirwatch.kafka.telemetry_topics import Existing
from logdirwatch.settings import Settings

commands = typer.Typer(help="Create the telemetry topics, or show their state.", no_args_is_help=True)


@commands.command()
def create(ctx: typer.Context) -> None:
    """Create the telemetry topics that do not exist yet; it is safe to run again.

    A topic that exists with other settings than configured is not changed; the command that would change it is
    printed.
    """
    settings = _settings(ctx)
    missing = telemetry_topics.create_missing(settings)
    for topic in missing:
        typer.echo(f"{topic.name}: created, {topic.partitions} partitions")
    for name, found in _compared(settings, telemetry_topics.existing_topics(settings)).items():
        if any(topic.name == name for topic in missing):
            continue
        typer.echo(f"{name}: exists" + (" with other settings" if found else ""))
        for difference in found:
            typer.echo(f"  {difference.text}\n    {difference.command}")
    say_next(ctx.obj, "doctor")


@commands.command("list")
def list_topics(ctx: typer.Context) -> None:
    """Show the telemetry topics and how they differ from the configuration."""
    settings = _settings(ctx)
    with waiting_for_kafka():
        existing = telemetry_topics.existing_topics(settings)
    compared = _compared(settings, existing)
    table = Table("topic", "partitions", "replicas", "cleanup", "as wanted")
    for topic in telemetry_topics.wanted(settings.topics):
        found = existing.get(topic.name)
        if found is None:
            table.add_row(topic.name, "", "", "", "missing; create it with: logdirwatch topics create")
            continue
        verdict = "; ".join(difference.text for difference in compared[topic.name]) or "yes"
        policy = str(found.configs.get("cleanup.policy"))
        table.add_row(topic.name, str(found.partitions), str(found.replication_factor), policy, verdict)
    console().print(table)


def _settings(ctx: typer.Context) -> Settings:
    context: Context = ctx.obj
    if not context.debug:
        clients.quiet_client_logs()
    return context.settings


def _compared(settings: Settings, existing: Mapping[str, Existing]) -> dict[str, list[telemetry_topics.Difference]]:
    return {
        topic.name: telemetry_topics.differences(
            topic, existing[topic.name], settings.topics.replication_factor, settings.telemetry.bootstrap_servers
        )
        for topic in telemetry_topics.wanted(settings.topics)
        if topic.name in existing
    }
