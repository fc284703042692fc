"""What a Prometheus server remembers of log directories, as samples for ``detect``.

Four exporters are known. Of each the first and the second expression have one series for each directory, with the
labels ``host`` and ``path``, and the label ``cluster`` where there is one.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from logdirwatch.cli.reading.prometheus.server import Labels, Server, Steps
from logdirwatch.detect.observations import Sample
from logdirwatch.errors import UserError
from logdirwatch.model.identity import Origin
from logdirwatch.model.records import LogDirSample, MetricsRecord
from logdirwatch.model.vocabulary import PollStatus

CLUSTER, BROKER = "cluster", "broker"
NAMELESS = "prometheus"
"""The cluster of series without a label that names it."""


class Source(NamedTuple):
    """One exporter: ``series`` names its directories, ``where`` chooses among its series unless the user does."""

    name: str
    series: str
    size: str
    free: str
    host: tuple[str, ...]
    path: tuple[str, ...] = ()
    where: str = ""

    @property
    def names_brokers(self) -> bool:
        """Whether its series have the broker's number; otherwise the host is a part of a directory's path."""
        return self.host == (BROKER,)

    @property
    def by(self) -> tuple[str, ...]:
        """The labels that name a directory. Others, such as that of a replica of Prometheus, do not count."""
        return (CLUSTER, *self.host, *self.path)

    def expressions(self, where: str, capacity_bytes: int | None) -> tuple[str, str]:
        """Return the expressions of size and free bytes, for the series that ``where`` chooses."""
        filled = {"where": f"{{{where}}}", "by": ", ".join(self.by), "capacity": str(capacity_bytes)}
        size, free = (re.sub(r"\$(\w+)", lambda name: filled[name[1]], text) for text in (self.size, self.free))
        return size, free


def _of_pair(size: str, free: str) -> tuple[str, str, str]:
    return free, f"max by ($by) ({size}$where)", f"min by ($by) ({free}$where)"


SOURCES = (
    Source(
        "logdirwatch",
        *_of_pair("logdirwatch_log_dir_total_bytes", "logdirwatch_log_dir_usable_bytes"),
        host=(BROKER,),
        path=("log_dir",),
    ),
    Source(
        "node_exporter",
        *_of_pair("node_filesystem_size_bytes", "node_filesystem_avail_bytes"),
        host=("instance",),
        path=("mountpoint",),
        where='mountpoint=~".*kafka.*"',
    ),
    Source(
        "kubelet",
        *_of_pair("kubelet_volume_stats_capacity_bytes", "kubelet_volume_stats_available_bytes"),
        host=("namespace", "persistentvolumeclaim"),
        where='persistentvolumeclaim=~".*kafka.*"',
    ),
    Source(
        "JMX exporter",
        "kafka_log_log_size",
        size="0 * sum by ($by) (kafka_log_log_size$where) + $capacity",
        free="$capacity - sum by ($by) (kafka_log_log_size$where)",
        host=("instance",),
    ),
)


class History(NamedTuple):
    """The directories of one host. ``directories`` are the labels of each by its path."""

    server: Server
    cluster: str
    broker: int
    directories: dict[str, Labels]
    size: str
    free: str

    def samples(self, times: Steps) -> Iterator[Sample]:
        """Yield what the service would have been told, every step in which the server has both values."""
        size, free = (self._points(expression, times) for expression in (self.size, self.free))
        for number, at_ms in enumerate(sorted(size.keys() & free.keys())):
            log_dirs = [
                LogDirSample(
                    path=path,
                    error_code=0,
                    total_bytes=int(size[at_ms][path]),
                    usable_bytes=min(max(0, int(free[at_ms][path])), int(size[at_ms][path])),
                )
                for path in sorted(size[at_ms].keys() & free[at_ms].keys())
                if size[at_ms][path] > 0
            ]
            if log_dirs:
                record = MetricsRecord(
                    version=1,
                    cluster=self.cluster,
                    broker=self.broker,
                    timestamp_ms=at_ms,
                    status=PollStatus.OK,
                    interval_ms=times.step_ms,
                    log_dirs=log_dirs,
                )
                yield Sample(record, Origin("prometheus", 0, number, at_ms))

    def _points(self, expression: str, times: Steps) -> dict[int, dict[str, float]]:
        found: dict[int, dict[str, float]] = {}
        for labels, points in self.server.matrix(expression, times):
            for path in [path for path, known in self.directories.items() if known == labels]:
                for at_ms, value in points:
                    found.setdefault(at_ms, {})[path] = value
        return found


class Fleet(NamedTuple):
    """What a server knows of: the histories, the exporter that wrote them, and its expressions for all of them."""

    source: Source
    histories: list[History]
    size: str
    free: str


def fleet(server: Server, times: Steps, where: str | None, cluster: str | None, capacity_bytes: int | None) -> Fleet:
    """Return the directories of the first exporter that the server has series of; raises UserError if of none."""
    for source in SOURCES:
        chosen = source.where if where is None else where
        if cluster is not None:
            chosen += f"{',' if chosen else ''}{_equals(CLUSTER, cluster)}"
        found = server.label_sets(f"{source.series}{{{chosen}}}", times)
        if found:
            if "$capacity" in source.size and capacity_bytes is None:
                raise UserError(
                    "backtest: the JMX exporter does not tell the size of a disk: add --capacity, such as 2TiB",
                    exit_code=2,
                )
            histories = list(_histories(server, source, found, chosen, capacity_bytes))
            return Fleet(source, histories, *source.expressions(chosen, capacity_bytes))
    series = ", ".join(f"{source.series}{{{source.where if where is None else where}}}" for source in SOURCES)
    raise UserError(
        f"backtest: the server has no series of a log directory in this time; looked for {series}; choose with "
        "--select, such as 'mountpoint=\"/data\"'"
    )


def _histories(
    server: Server, source: Source, found: list[dict[str, str]], where: str, capacity_bytes: int | None
) -> Iterator[History]:
    hosts: dict[tuple[str, ...], dict[str, Labels]] = {}
    for labels in found:
        named = {name: labels[name] for name in source.by if labels.get(name)}
        host = tuple(named.get(name, "") for name in (CLUSTER, *source.host))
        shown = source.path if source.names_brokers else (*source.host, *source.path)
        hosts.setdefault(host, {})[":".join(named.get(name, "") for name in shown)] = named
    for number, (host, directories) in enumerate(sorted(hosts.items())):
        is_known = source.names_brokers and host[1].isdecimal()
        only = ",".join(_equals(name, value) for name, value in zip((CLUSTER, *source.host), host, strict=True))
        size, free = source.expressions(f"{where}{',' if where else ''}{only}", capacity_bytes)
        yield History(server, host[0] or NAMELESS, int(host[1]) if is_known else number, directories, size, free)


def _equals(label: str, value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'{label}="{escaped}"'
