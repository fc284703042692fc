"""``logdirwatch config``: check the configuration, and print its reference."""

from typing import Annotated, Any

import typer
import yaml

from logdirwatch import settings as configuration
from logdirwatch.cli.context import Context
from logdirwatch.cli.next_step import say_next
from logdirwatch.reference.configuration import reference_yaml
from logdirwatch.settings import Settings
from logdirwatch.text.masking import masked


def register(app: typer.Typer) -> None:
    """Add the command."""
    commands = typer.Typer(help="Check the configuration, or print every key with its meaning.", no_args_is_help=True)
    commands.command("check")(check)
    commands.command("reference")(reference)
    app.add_typer(commands, name="config")


def check(
    ctx: typer.Context,
    everything: Annotated[
        bool, typer.Option("--all", help="Print every value in effect, not only those that differ from the defaults.")
    ] = False,
) -> None:
    """Check the configuration without connecting anywhere, and print what differs from the defaults.

    The values come from the file, environment variables, which override it, and defaults. A value is masked if it may
    be a secret. Exit code 2 if a key or a value is wrong.
    """
    context: Context = ctx.obj
    path, settings = configuration.find_config(context.config_path), context.settings
    typer.echo(f"# valid: {path or 'no file, only the environment and the defaults'}")
    if everything:
        effective = masked(settings.model_dump(mode="json"))
    else:
        effective = masked(differing(settings))
        what = "what differs from" if effective else "nothing differs from"
        typer.echo(f"# {what} the defaults; every value: logdirwatch config check --all")
    if effective:
        typer.echo(yaml.safe_dump(effective, sort_keys=False, allow_unicode=True), nl=False)
    for remark in remarks(settings):
        typer.echo(f"logdirwatch: {remark}", err=True)
    say_next(context, "topics create", "doctor")


def differing(settings: Settings) -> dict[str, Any]:
    """Return the values that differ from the defaults, and the address of each cluster."""
    found = settings.model_dump(mode="json", exclude_defaults=True)
    for name, cluster in settings.clusters.items():
        found["clusters"][name] = {"bootstrap_servers": cluster.bootstrap_servers, **found["clusters"][name]}
    return {key: value for key, value in found.items() if value != {}}


def reference() -> None:
    """Print every key with its meaning and default, as a file to start from."""
    typer.echo(reference_yaml(Settings), nl=False)


def remarks(settings: Settings) -> list[str]:
    """Return warnings about values that are valid but probably not intended."""
    if not settings.clusters and settings.host is None:
        return ["no cluster to watch: add one under clusters"]
    telemetry = _addresses(settings.telemetry.bootstrap_servers)
    shared = [name for name, c in settings.clusters.items() if telemetry & _addresses(c.bootstrap_servers)]
    return [
        f"telemetry is the monitored cluster {name}: when its disks fail, its own alerts are lost; use another Kafka"
        for name in shared
    ]


def _addresses(bootstrap_servers: str) -> set[str]:
    return {address.strip().lower() for address in bootstrap_servers.split(",")}
