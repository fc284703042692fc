"""Who is told of which alerts, how they are grouped, and when the dead man's switch alerts."""

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, model_validator

from logdirwatch.config.section import HOUR_MS, Ms, Section
from logdirwatch.errors import UserError
from logdirwatch.model.vocabulary import Severity

GroupBy = Literal["cluster", "host", "broker", "log_dir", "rule"]


class ReceiverSettings(Section):
    """Where messages go: services by apprise's URLs, or Prometheus Alertmanagers."""

    urls: tuple[SecretStr, ...] = Field(
        (), description="apprise URLs, as slack://... or mailto://...; {group} in one is the group's fixed id."
    )
    urls_file: str | None = Field(None, description="File with further apprise URLs, one a line, # for comments.")
    alertmanager: tuple[SecretStr, ...] = Field(
        (), description="Base URLs of Alertmanagers that belong together; user:password@ is used and never shown."
    )
    tells_resolved: bool = Field(True, description="Whether the end of what was told is told, too.")

    @model_validator(mode="after")
    def _goes_somewhere(self) -> "ReceiverSettings":
        if not (self.urls or self.urls_file or self.alertmanager):
            msg = "needs urls, urls_file or alertmanager"
            raise ValueError(msg)
        return self

    def all_urls(self, name: str) -> list[str]:
        """Return the apprise URLs, those of the file included; UserError when it cannot be read."""
        return [url.get_secret_value() for url in self.urls] + _lines(self.urls_file, name)


def _lines(path: str | None, name: str) -> list[str]:
    if path is None:
        return []
    try:
        text = Path(path).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not text in UTF-8"
        raise UserError(f"notify.receivers.{name}.urls_file {path}: {reason}", exit_code=2) from None
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


class RouteSettings(Section):
    """Alerts that match all of it go to its receivers; the first route that matches holds."""

    name: str | None = Field(None, min_length=1, description="Name of the route; null: its position.")
    cluster: str = Field("*", description="Shell pattern of cluster names; logdirwatch itself is called *.")
    rule: str = Field("*", description="Shell pattern of rules.")
    severity: Severity = Field(Severity.WARNING, description="The quietest severity that is told.")
    receivers: tuple[str, ...] = Field((), description="Names of receivers; none: such alerts are told to nobody.")
    goes_on: bool = Field(False, description="Whether the routes after it are looked at, too.")
    group_by: tuple[GroupBy, ...] | None = Field(None, description="null: notify.group_by.")
    group_wait_ms: Ms | None = Field(None, description="null: notify.group_wait_ms.")
    group_interval_ms: Ms | None = Field(None, description="null: notify.group_interval_ms.")
    repeat_interval_ms: Ms | None = Field(None, description="null: notify.repeat_interval_ms.")


class SwitchSettings(Section):
    """The dead man's switch: what happens when the heartbeat of a cluster stops."""

    timeout_ms: Ms = Field(
        120_000, description="How long no heartbeat may come through; 0: nobody listens for it, nor for canaries."
    )
    severity: Severity = Field(
        Severity.PAGE, description="How loudly its end is told; that of canaries as critical at most."
    )
    ping_url: SecretStr | None = Field(
        None,
        description="URL that is asked while all that is listened for comes: it alerts when notify itself is gone.",
    )
    ping_interval_ms: int = Field(60_000, ge=1_000, description="Time between two such requests.")


class NotifySettings(Section):
    """Who is told of alerts (``logdirwatch notify``)."""

    receivers: dict[str, ReceiverSettings] = Field({}, description="Whom to tell, by name.")
    routes: tuple[RouteSettings, ...] = Field(
        (), description="Which alerts go to whom; none: everything from warning on goes to every receiver."
    )
    group_by: tuple[GroupBy, ...] = Field(("cluster",), description="Alerts that agree in these are one message.")
    group_wait_ms: Ms = Field(
        30_000, description="How long the first message of a group, or one that is louder, waits for more."
    )
    group_interval_ms: Ms = Field(300_000, description="Shortest time to the next message of a group, unless louder.")
    repeat_interval_ms: Ms = Field(4 * HOUR_MS, description="Time after which what still fires is told again.")
    resend_interval_ms: int = Field(
        60_000, ge=1_000, description="How often Alertmanagers, which group by themselves, get all that fires."
    )
    send_timeout_ms: int = Field(10_000, ge=100, description="How long a receiver may take to answer.")
    backoff_max_ms: int = Field(300_000, ge=500, description="Longest pause between attempts at one that is away.")
    heartbeat: SwitchSettings = SwitchSettings()

    @model_validator(mode="after")
    def _routes_lead_somewhere(self) -> "NotifySettings":
        unknown = sorted({name for route in self.routes for name in route.receivers} - set(self.receivers))
        if unknown:
            msg = f"routes name receivers that do not exist: {', '.join(unknown)}"
            raise ValueError(msg)
        names = [route.name or str(number) for number, route in enumerate(self.routes)]
        if len(set(names)) < len(names):
            msg = "two routes have the same name"
            raise ValueError(msg)
        return self
