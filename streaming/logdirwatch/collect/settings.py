"""What the collector polls, how often, and its timeouts."""

import re
import socket
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Annotated

from pydantic import AfterValidator, ByteSize, Field, SecretStr, model_validator

from logdirwatch.config.section import Ms, Name, Section
from logdirwatch.config.servers import Listen, is_web_url


class HostSettings(Section):
    """The source on a broker's own host (``logdirwatch watch-host``); null on every other machine."""

    cluster: Name = Field(description="Name of the broker's cluster, as under clusters of the collector.")
    broker: int = Field(ge=0, description="Id of the broker on this host (node.id).")
    name: Name = Field(
        default_factory=lambda: f"host-{socket.gethostname()}",
        description="Name of this source in its records, default host- and the host's name; never a collector's.",
    )
    properties_file: str | None = Field(
        None, description="The broker's server.properties, whose log.dirs are watched; or name log_dirs."
    )
    log_dirs: tuple[str, ...] = Field((), description="The log directories, absolute, instead of properties_file.")
    server_log: str | None = Field(None, description="The broker's server.log; null: no log is read.")
    other_logs: tuple[str, ...] | None = Field(
        None,
        description="Other logs of the broker; null: log-cleaner.log and controller.log beside server_log, if there.",
    )
    kernel_log: str | None = Field(
        None, description="The kernel's log: a file such as /var/log/kern.log, or /dev/kmsg; null: none is read."
    )
    interval_ms: int = Field(10_000, ge=100, description="Time between two looks at the log directories.")
    probe: bool = Field(True, description="Whether each look writes, syncs, reads and removes a file of 4 KiB.")
    probe_timeout_ms: int = Field(
        5_000, ge=10, description="How long a directory may take before it counts as not answering."
    )
    state_dir: str | None = Field(
        None, description="Folder that remembers how far the logs were read; default: host in the home folder."
    )

    @model_validator(mode="after")
    def _names_directories(self) -> "HostSettings":
        if bool(self.log_dirs) == bool(self.properties_file):
            msg = "name either properties_file or log_dirs"
            raise ValueError(msg)
        return self


class LogDirCapacity(Section):
    """The size of log directories that Kafka does not report (below 3.3); the first matching entry applies."""

    broker: int | None = Field(None, ge=0, description="Broker id; null: every broker.")
    log_dir: str = Field("*", description="Shell pattern of log directory paths.")
    capacity: ByteSize = Field(
        gt=0,
        lt=1 << 63,
        description="Size of its file system, such as 4TB or 3500GiB; its use is then that of its replicas.",
    )


def configured_capacity(log_dirs: Iterable[LogDirCapacity], broker: int, path: str) -> int | None:
    """Return the configured size in bytes of a log directory; None if no entry matches."""
    matching = (
        int(one.capacity) for one in log_dirs if one.broker in {None, broker} and fnmatchcase(path, one.log_dir)
    )
    return next(matching, None)


class CollectSettings(Section):
    """How ``logdirwatch collect`` polls."""

    collector: Name = Field(
        default_factory=socket.gethostname, description="Name of this collector; two may watch one cluster."
    )
    metrics_interval_ms: int = Field(5_000, ge=100, description="Time between two polls of a broker's directories.")
    inventory_interval_ms: int = Field(
        60_000, ge=100, description="Time between two scans of replicas, topics and configs."
    )
    partitions_interval_ms: int = Field(5_000, ge=100, description="Time between two looks at partition health.")
    request_timeout_ms: int = Field(4_000, ge=100, description="How long one broker may take to answer.")
    inventory_timeout_ms: int = Field(
        30_000, ge=100, description="How long one broker may take to list its replicas, topics or configs."
    )
    consumer_groups: bool = Field(
        True, description="Whether a scan asks what consumer groups have not read; needs DESCRIBE on groups."
    )
    listen: Listen | None = Field(
        None, description="host:port of /metrics for Prometheus, /health and /ready; null: none."
    )
    heartbeat_interval_ms: int = Field(
        10_000, ge=100, description="Time between two heartbeats through the whole path."
    )
    canary_interval_ms: int = Field(3_600_000, ge=1_000, description="Time between two proofs of the fast lane.")
    buffer_records: int = Field(
        100_000, ge=1, description="Records kept while the telemetry cluster is away; the oldest go first."
    )
    backoff_max_ms: Ms = Field(30_000, description="Longest pause between two attempts at a cluster that is away.")
    record_max_bytes: int = Field(900_000, ge=1_000, description="Inventory records are split before they exceed this.")


def _url(template: str) -> str:
    """Reject an invalid URL of an exporter without showing any of it."""
    if not _is_url(template.replace("{host}", "host").replace("{broker}", "0")):
        msg = "expected http:// or https:// with a host; {host} and {broker} are filled in; no user:password@"
        raise ValueError(msg)
    return template


def _is_url(text: str) -> bool:
    return is_web_url(text) and text.isascii() and not set("{}@#") & set(text)


def _token(secret: SecretStr) -> SecretStr:
    """Reject a token that a header cannot carry, for example with the line end of its file."""
    if re.fullmatch(r"[\x21-\x7e]+", secret.get_secret_value()) is None:
        msg = "expected one word of ASCII characters, without a line end"
        raise ValueError(msg)
    return secret


Url = Annotated[str, AfterValidator(_url)]


class JmxExporterSettings(Section):
    """The brokers' JMX exporters in Prometheus' text format, an optional source; off without a URL."""

    url: Url | None = Field(
        None, description="URL of every broker's exporter, as in http://{host}:7071/metrics; {broker} is its id."
    )
    urls: dict[int, Url] = Field({}, description="URLs by broker id, for those that differ.")
    interval_ms: int = Field(15_000, ge=100, description="Time between two scrapes of a broker.")
    timeout_ms: int = Field(5_000, ge=100, description="How long an exporter may take to answer in full.")
    username: str | None = Field(None, pattern="^[^:]*$", description="User of basic authentication.")
    password: SecretStr | None = Field(None, description="Password of basic authentication.")
    bearer_token: Annotated[SecretStr, AfterValidator(_token)] | None = Field(
        None, description="Bearer token, instead of user and password."
    )
    ca_file: str | None = Field(
        None, description="PEM file of the authorities trusted for https; null: those that the system trusts."
    )

    @model_validator(mode="after")
    def _one_way_to_authenticate(self) -> "JmxExporterSettings":
        if (self.username is None) != (self.password is None):
            msg = "username and password belong together"
            raise ValueError(msg)
        if self.bearer_token is not None and self.username is not None:
            msg = "either username and password or bearer_token"
            raise ValueError(msg)
        return self

    @property
    def needs_tls(self) -> bool:
        """Whether any exporter uses https."""
        return any(url.lower().startswith("https:") for url in (self.url or "", *self.urls.values()))

    def url_of(self, broker: int, host: str) -> str | None:
        """Return the URL of the exporter of ``broker`` on ``host``; None if it has none."""
        template = self.urls.get(broker, self.url)
        host = f"[{host}]" if ":" in host else host
        return template and template.replace("{host}", host).replace("{broker}", str(broker))
