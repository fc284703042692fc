"""``logdirwatch config``: check the configuration, and print its reference."""

from typing import Annotated, Any

import typer
import yaml

from logdirwatch import settings as configuration
from logdirwatch.cli.context import Context, say_next
from logdirwatch.config.servers import server_list
from logdirwatch.errors import UserError
from logdirwatch.kafka import properties
from logdirwatch.reference.configuration import reference_yaml
from logdirwatch.settings import Settings
from logdirwatch.text.printable import masked

commands = typer.Typer(help="Check the configuration, or print every key with its meaning.", no_args_is_help=True)


@commands.command()
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
    unread = _check_receivers(context.settings)
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
    for remark in (*unread, *remarks(settings)):
        typer.echo(f"logdirwatch: {remark}", err=True)
    say_next(context, "topics create", "doctor")


def _check_receivers(settings: Settings) -> list[str]:
    """Refuse URLs that apprise does not know, and return which files of URLs cannot be read: they may be elsewhere."""
    if not settings.notify.receivers:
        return []
    # It takes most of a second to import.
    from logdirwatch.notify import senders  # noqa: PLC0415

    unread = []
    for name, receiver in settings.notify.receivers.items():
        senders.check(name, (url.get_secret_value() for url in receiver.urls))
        try:
            urls = receiver.all_urls(name)
        except UserError as error:
            unread.append(str(error))
        else:
            senders.check(name, urls)
    return unread


def differing(settings: Settings) -> dict[str, Any]:
    """Return the values that differ from the defaults, and the address of each cluster."""
    found = settings.model_dump(mode="json", exclude_defaults=True)
    for name, cluster in settings.clusters.items():
        found["clusters"][name] = {"bootstrap_servers": cluster.bootstrap_servers, **found["clusters"][name]}
    return {key: value for key, value in found.items() if value != {}}


@commands.command()
def reference() -> None:
    """Print every key with its meaning and default, as a file to start from."""
    typer.echo(reference_yaml(Settings), nl=False)


def remarks(settings: Settings) -> list[str]:
    """Return warnings about values that are valid but probably not intended."""
    kafkas = {"telemetry": settings.telemetry} | {f"clusters.{name}": one for name, one in settings.clusters.items()}
    found = [f"{where}.client: {one}" for where, kafka in kafkas.items() for one in properties.remarks(kafka.client)]
    if not settings.clusters and settings.host is None:
        found.append("no cluster to watch: add one under clusters")
    telemetry = _addresses(settings.telemetry.bootstrap_servers)
    shared = [name for name, c in settings.clusters.items() if telemetry & _addresses(c.bootstrap_servers)]
    return found + [
        f"telemetry is the monitored cluster {name}: when its disks fail, its own alerts are lost; use another Kafka"
        for name in shared
    ]


def _addresses(bootstrap_servers: str) -> set[str]:
    return {address.lower() for address in server_list(bootstrap_servers)}
