"""Which receivers get which alerts, how alerts are grouped, and when the dead man's switch fires."""

from fnmatch import fnmatchcase
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr, field_validator, model_validator

from logdirwatch.config.section import HOUR_MS, Ms, Name, Section
from logdirwatch.config.servers import Listen, is_web_url
from logdirwatch.config.text_file import read
from logdirwatch.errors import UserError
from logdirwatch.model.vocabulary import Rule, Severity
from logdirwatch.notify.links import RULE, Links
from logdirwatch.text.words import did_you_mean


def _with_host(url: str) -> str:
    """Refuse what is no URL of a web server, without showing it; its query may have a token."""
    if not is_web_url(url):
        raise ValueError("expected http://HOST[:PORT]/... or https://HOST[:PORT]/...")
    return url


def _secret_with_host(url: SecretStr) -> SecretStr:
    _with_host(url.get_secret_value())
    return url


def _extensible(url: str) -> str:
    """Refuse what a page's path cannot be put behind."""
    if {"?", "#"} & set(url):
        raise ValueError("expected a URL without ? and #: the path of a page follows it")
    return url


def _of_rules(url: str) -> str:
    """Refuse braces that nothing fills in."""
    if {"{", "}"} & set(url.replace(RULE, "")):
        raise ValueError(f"only {RULE} is filled in")
    return url


WebUrl = Annotated[str, AfterValidator(_with_host)]
BaseUrl = Annotated[WebUrl, AfterValidator(_extensible)]
RunbookUrl = Annotated[WebUrl, AfterValidator(_of_rules)]
SecretWebUrl = Annotated[SecretStr, AfterValidator(_secret_with_host)]
GroupBy = Literal["cluster", "host", "broker", "log_dir", "rule"]


class ReceiverSettings(Section):
    """Where messages go: services by apprise's URLs, or Prometheus Alertmanagers."""

    urls: tuple[SecretStr, ...] = Field(
        (), description="apprise URLs such as slack://... or mailto://...; {group} is replaced by the group's id."
    )
    urls_file: str | None = Field(
        None, description="File with further apprise URLs, one per line, # for comments; read at the start."
    )
    alertmanager: tuple[SecretWebUrl, ...] = Field(
        (), description="Base URLs of a cluster of Alertmanagers; user:password@ is used and never shown."
    )
    tells_resolved: bool = Field(True, description="Whether to send a message when alerts end, too.")

    @model_validator(mode="after")
    def _goes_somewhere(self) -> "ReceiverSettings":
        if not (self.urls or self.urls_file or self.alertmanager):
            msg = "needs urls, urls_file or alertmanager"
            raise ValueError(msg)
        return self

    def all_urls(self, name: str) -> list[str]:
        """Return the apprise URLs, including those of the file; raises UserError when it cannot be read."""
        return [url.get_secret_value() for url in self.urls] + _lines(self.urls_file, name)


def _lines(path: str | None, name: str) -> list[str]:
    if path is None:
        return []
    key = f"notify.receivers.{name}.urls_file"
    lines = [line for line in map(str.strip, read(path, key).splitlines()) if line and not line.startswith("#")]
    if not lines:
        raise UserError(f"{key} {path}: it has no URL", exit_code=2)
    return lines


class RouteSettings(Section):
    """Alerts that match all conditions go to the receivers; the first matching route applies."""

    name: str | None = Field(None, min_length=1, description="Name of the route; null: its position.")
    cluster: str = Field(
        "*", description="Shell pattern of cluster names; alerts about logdirwatch itself match every pattern."
    )
    rule: str = Field("*", description="Shell pattern of rules.")
    severity: Severity = Field(Severity.WARNING, description="The lowest severity that is sent.")
    receivers: tuple[str, ...] = Field((), description="Names of receivers; none: such alerts are not sent.")
    goes_on: bool = Field(False, description="Whether to evaluate the routes after it, too.")
    group_by: tuple[GroupBy, ...] | None = Field(None, description="null: notify.group_by.")
    group_wait_ms: Ms | None = Field(None, description="null: notify.group_wait_ms.")
    group_interval_ms: Ms | None = Field(None, description="null: notify.group_interval_ms.")
    repeat_interval_ms: Ms | None = Field(None, description="null: notify.repeat_interval_ms.")

    @field_validator("rule")
    @classmethod
    def _matches_a_rule(cls, rule: str) -> str:
        if not any(fnmatchcase(known, rule) for known in Rule):
            msg = f"no rule matches {rule}{did_you_mean(rule, Rule)}"
            raise ValueError(msg)
        return rule


class SwitchSettings(Section):
    """The dead man's switch: what happens when the heartbeats of a cluster stop."""

    timeout_ms: Ms = Field(
        120_000,
        description="How long heartbeats may be missing, or samples be overdue; 0: neither heartbeats nor canaries are "
        "watched.",
    )
    severity: Severity = Field(
        Severity.PAGE, description="Severity of the alert that heartbeats stopped; for canaries critical at most."
    )
    ping_url: SecretWebUrl | None = Field(
        None, description="URL to request while all is well, for a service that alerts when notify itself is down."
    )
    ping_interval_ms: int = Field(60_000, ge=1_000, description="Time between two such requests.")


class NotifySettings(Section):
    """Which receivers get alerts (``logdirwatch notify``)."""

    receivers: dict[Name, ReceiverSettings] = Field({}, description="Receivers by name.")
    routes: tuple[RouteSettings, ...] = Field(
        (), description="Which alerts go to which receivers; none: every alert from warning up goes to every receiver."
    )
    group_by: tuple[GroupBy, ...] = Field(
        ("cluster",), description="Alerts with the same values of these share a message."
    )
    group_wait_ms: Ms = Field(
        30_000, description="How long the first message of a group, or one of higher severity, waits for more alerts."
    )
    group_interval_ms: Ms = Field(
        300_000, description="Minimum time to a group's next message, unless the severity rises."
    )
    repeat_interval_ms: Ms = Field(4 * HOUR_MS, description="Time after which alerts that still fire are sent again.")
    resend_interval_ms: int = Field(
        60_000,
        ge=1_000,
        description="How often Alertmanagers, which group by themselves, get all firing alerts; less than half of "
        "their resolve_timeout, which is 5 min by default.",
    )
    send_timeout_ms: int = Field(
        10_000,
        ge=100,
        description="How long sending a message may take in all, from the connection to the whole answer.",
    )
    backoff_max_ms: int = Field(
        300_000, ge=500, description="Maximum pause between attempts to reach a failing receiver."
    )
    console_url: BaseUrl | None = Field(
        None, description="Base URL of the console, for links in messages; null: no such links."
    )
    runbook_url: RunbookUrl | None = Field(
        None,
        description="URL of a runbook, for links in messages, with {rule} for the rule's name; null: no such links.",
    )
    heartbeat: SwitchSettings = SwitchSettings()
    listen: Listen | None = Field(None, description="host:port of /health and /ready; null: it does not listen.")

    @property
    def links(self) -> Links:
        """What messages link to."""
        return Links(self.console_url, self.runbook_url)

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
        keys = [
            f"{receiver}/{name}"
            for name, route in zip(names, self.routes, strict=True)
            for receiver in dict.fromkeys(route.receivers)
        ]
        if twice := [key for key in keys if keys.count(key) > 1]:
            msg = f"a receiver and a route have slashes in their names and are both {twice[0]}: rename one"
            raise ValueError(msg)
        return self
