"""``logdirwatch init``: the smallest configuration for a cluster, its ACLs, and the next commands."""

import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
import yaml
from pydantic import ValidationError

from logdirwatch.cli.commands.config import remarks
from logdirwatch.cli.context import program
from logdirwatch.errors import UserError
from logdirwatch.model.vocabulary import StrEnum
from logdirwatch.plan.commands.kafka_tools import Tools
from logdirwatch.plan.settings import ToolSettings
from logdirwatch.settings import NAME_ITSELF, Settings, refused_option
from logdirwatch.text.printable import printable

FILE = Path("logdirwatch.yaml")
URLS_FILE = "notify-urls"
_SASL = ("SASL_PLAINTEXT", "SASL_SSL")


class Security(StrEnum):
    """How clients connect: Kafka's security.protocol."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"


class Answers(NamedTuple):
    """The answers given to ``init``."""

    cluster: str
    brokers: str
    security: str
    user: str
    telemetry: str
    replication_factor: int
    notify_url: str
    mechanism: str = "SCRAM-SHA-512"
    ca_file: str | None = None


def init(
    cluster: Annotated[
        str,
        typer.Option(prompt="1. Name of the cluster to monitor, which stays in every alert and table", help="Name."),
    ] = "prod",
    brokers: Annotated[
        str, typer.Option(prompt="2. Addresses of its brokers (host:port, comma-separated)", help="Its brokers.")
    ] = "localhost:9092",
    security: Annotated[
        Security,
        typer.Option(prompt="3. How clients connect to it", help="Its security.protocol.", case_sensitive=False),
    ] = Security.PLAINTEXT,
    telemetry: Annotated[
        str,
        typer.Option(
            prompt="4. Addresses of the telemetry cluster, another Kafka that keeps alerts when this one fails",
            help="The telemetry cluster.",
        ),
    ] = "localhost:9192",
    replication_factor: Annotated[
        int, typer.Option(prompt="5. Replicas of each telemetry topic: 3, or 1 for a single broker", min=1)
    ] = 3,
    notify_url: Annotated[
        str,
        typer.Option(
            prompt="6. Where to send alerts: an apprise URL such as slack://..., or empty", help="apprise URL."
        ),
    ] = "",
    user: Annotated[str, typer.Option("--user", help="Name of logdirwatch's user in both clusters.")] = "logdirwatch",
    mechanism: Annotated[str, typer.Option("--mechanism", help="sasl.mechanism, with SASL.")] = "SCRAM-SHA-512",
    ca_file: Annotated[
        str | None, typer.Option("--ca-file", help="PEM file of the authority, with TLS; none: the machine's own.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", help="File to write; one that exists is not replaced.")] = FILE,
) -> None:
    """Ask six questions, write the smallest configuration, and print the ACLs it needs and the next commands.

    An option answers a question beforehand. No password is written: the command prints the environment variable for it.
    """
    answers = Answers(
        cluster, brokers, security.value, user, telemetry, replication_factor, notify_url, mechanism, ca_file
    )
    found = document(answers, urls_file=str(output.absolute().parent / URLS_FILE))
    if re.search(r"\s", cluster):
        raise UserError("init: --cluster: expected a name without blanks", exit_code=2)
    settings = _checked(found)
    files = [(output, yaml.safe_dump(found, sort_keys=False, allow_unicode=True), 0o644)]
    if notify_url:
        _check_url(notify_url)
        files.insert(0, (output.parent / URLS_FILE, f"{notify_url}\n", 0o600))
    _write(files)
    typer.echo(f"wrote {output}")
    for remark in remarks(settings):
        typer.echo(f"note: {printable(remark)}")
    typer.echo("\n".join(next_steps(answers, output)))


def document(answers: Answers, urls_file: str) -> dict[str, Any]:
    """Return the smallest configuration that contains the answers."""
    cluster: dict[str, Any] = {"bootstrap_servers": answers.brokers}
    if answers.security != Security.PLAINTEXT:
        cluster["client"] = _client(answers)
    found: dict[str, Any] = {"telemetry": {"bootstrap_servers": answers.telemetry}}
    if answers.replication_factor != 1:
        found["topics"] = {"replication_factor": answers.replication_factor}
    found["clusters"] = {answers.cluster: cluster}
    if answers.notify_url:
        found["notify"] = {"receivers": {"people": {"urls_file": urls_file}}}
    return found


def acl_commands(answers: Answers) -> list[str]:
    """Return the commands that grant one user the ACLs of all parts, on both clusters."""
    principal = f"User:{answers.user}"
    monitored, kept = (Tools(ToolSettings(), servers) for servers in (answers.brokers, answers.telemetry))
    own = ("--resource-pattern-type", "prefixed", "--topic", "logdir.")
    operations = ("Read", "Write", "Create", "Describe", "DescribeConfigs")
    return [*monitored.allow_collector(principal), kept.allow(operations, own, principal)]


def next_steps(answers: Answers, output: Path) -> list[str]:
    """Return what to do next, one line each, with commands ready to paste."""
    given = "" if output == FILE else f" --config {shlex.quote(str(output))}"
    lines = ["", "If the clusters have ACLs, grant one user what all parts need:"]
    lines += [f"  {command}" for command in acl_commands(answers)]
    if answers.security in _SASL:
        lines += ["", "Set the password in the environment, as JSON that is added to the client properties:"]
        lines += [f"  export {_assignment(answers.cluster)}"]
    called = f"  {program()}{given}"
    lines += ["", "Next:", *(f"{called} {command}" for command in ("config check", "topics create", "doctor"))]
    services = ("collect", "stream", "console", *(("notify",) if answers.notify_url else ()))
    lines += ["", "Then each in a terminal of its own:", *(f"{called} {command}" for command in services)]
    tries = ("status", *(("notify --test",) if answers.notify_url else ()))
    return [*lines, "", "And look:", *(f"{called} {command}" for command in tries)]


def _assignment(cluster: str) -> str:
    """Return a shell's assignment of a cluster's password; the name of a variable has no hyphen."""
    password = {"sasl.password": "..."}
    if re.fullmatch(r"\w+", cluster, re.ASCII):
        return f"LOGDIRWATCH_CLUSTERS__{cluster.upper()}__CLIENT={shlex.quote(json.dumps(password))}"
    return f"LOGDIRWATCH_CLUSTERS={shlex.quote(json.dumps({cluster: {'client': password}}))}"


def _client(answers: Answers) -> dict[str, str]:
    client = {"security.protocol": answers.security}
    if answers.security in _SASL:
        client |= {"sasl.mechanism": answers.mechanism, "sasl.username": answers.user}
    if answers.ca_file is not None:
        client["ssl.truststore.location"] = answers.ca_file
    return client


def _check_url(notify_url: str) -> None:
    # It takes most of a second to import.
    from logdirwatch.notify import senders  # noqa: PLC0415

    senders.check("people", [notify_url])


def _checked(found: dict[str, Any]) -> Settings:
    try:
        return Settings(**found)
    except ValidationError as error:
        steps = error.errors()[0]["loc"]
        where = "--cluster" if steps[-1] == NAME_ITSELF else ".".join(map(str, steps))
        raise refused_option(f"init: {where}", error) from None


def _write(files: Sequence[tuple[Path, str, int]]) -> None:
    """Write all files or none: an empty configuration would be taken for one."""
    begun: list[Path] = []
    try:
        for path, text, mode in files:
            path.touch(mode=mode, exist_ok=False)
            begun.append(path)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        for each in begun:
            each.unlink(missing_ok=True)
        if isinstance(error, FileExistsError):
            raise UserError(f"{path} exists and is not replaced; choose another with --output", exit_code=2) from None
        is_usage = isinstance(error, FileNotFoundError | NotADirectoryError | PermissionError)
        raise UserError(f"{path}: {error.strerror}", exit_code=2 if is_usage else 1) from None
