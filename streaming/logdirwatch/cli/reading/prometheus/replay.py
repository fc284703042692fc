"""The history of a Prometheus server, judged by ``detect`` and by rules over free space."""

import os
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain, repeat
from multiprocessing import get_context
from typing import NamedTuple

import msgspec

from logdirwatch.cli.reading.prometheus.server import Labels, Points, Server, Steps
from logdirwatch.config.section import HOUR_MS
from logdirwatch.detect.backtest import replay
from logdirwatch.detect.observations import Sample
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.state.broker_state import BrokerMemory
from logdirwatch.errors import UserError
from logdirwatch.model.identity import Origin
from logdirwatch.model.records import AlertRecord, LogDirSample, MetricsRecord
from logdirwatch.model.vocabulary import AlertStatus, PollStatus, Rule, Severity
from logdirwatch.report.backtest import Compared, Fired, Interval, Past, Place, RuleFired, compared, fired

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


FEW_HOSTS = 3
"""For so many, starting processes takes longer than it saves."""


class SpaceRule(NamedTuple):
    """A rule in PromQL that fires after it held for ``hold_ms``; ``$free`` and ``$size`` are those of a directory."""

    name: str
    expression: str
    hold_ms: int = 0


# As in the rules that come with node_exporter, at their usual thresholds.
RULES = (
    SpaceRule("free < 15 %", "$free / $size < 0.15", HOUR_MS // 2),
    SpaceRule("predict_linear 6h, 24h", "predict_linear(($free)[6h:10m], 86400) < 0", HOUR_MS),
)
SEVERITIES = (
    ("logdirwatch", Severity.INFO),
    ("logdirwatch, critical or page", Severity.CRITICAL),
    ("logdirwatch, page", Severity.PAGE),
)


class PrometheusHistory(NamedTuple):
    """What to read from a server: which series, of which time. Its questions raise UserError."""

    server: Server
    times: Steps
    where: str | None = None
    cluster: str | None = None
    capacity_bytes: int | None = None
    rules: tuple[str, ...] = ()

    def judge(self, settings: DetectSettings) -> tuple[list[Fired], list[Compared]]:
        """Return the alerts about space that ``settings`` would have raised, and their comparison with the rules."""
        found = fleet(self.server, self.times, self.where, self.cluster, self.capacity_bytes)
        own = [SpaceRule(expression, expression) for expression in self.rules]
        theirs = [(rule.name, list(_fired(rule, found, self.server, self.times))) for rule in (*RULES, *own)]
        judged = list(_each(found.histories, self.times, settings))
        pasts = {place: past for one in judged for place, past in one.pasts.items()}
        alerts = [alert for one in judged for alert in one.alerts]
        ours = [(name, list(_of_severity(alerts, lowest))) for name, lowest in SEVERITIES]
        shown = chain.from_iterable(_shown(one.alerts, found.source.names_brokers) for one in judged)
        return sorted(shown, key=lambda alert: (alert.opened_at_ms, alert.cluster, str(alert.log_dir))), compared(
            [*ours, *theirs], pasts, self.times.to_ms
        )


class _Judged(NamedTuple):
    alerts: list[AlertRecord]
    pasts: dict[Place, Past]


def _each(histories: list[History], times: Steps, settings: DetectSettings) -> Iterator[_Judged]:
    if len(histories) <= FEW_HOSTS:
        yield from map(_judged, histories, repeat(times), repeat(settings))
        return
    with ProcessPoolExecutor(min(len(histories), os.cpu_count() or 1), get_context("spawn")) as pool:
        yield from pool.map(partial(_judged, times=times, settings=settings), histories, chunksize=1)


def _judged(history: History, times: Steps, settings: DetectSettings) -> _Judged:
    pasts: dict[Place, Past] = {}
    memory = BrokerMemory(cluster=history.cluster, broker=history.broker)
    outcomes = replay(memory, _noted(history.samples(times), pasts, settings), settings, times.to_ms)
    alerts = [alert for outcome in outcomes for alert in outcome.alerts if alert.rule is Rule.LOG_DIR_SPACE]
    return _Judged(alerts, pasts)


def _noted(samples: Iterable[Sample], pasts: dict[Place, Past], settings: DetectSettings) -> Iterator[Sample]:
    for sample in samples:
        record = sample.record
        for one in record.log_dirs:
            place = record.cluster, record.broker, one.path
            if place not in pasts:
                thresholds = settings.thresholds_for(record.cluster, one.path)
                pasts[place] = Past(thresholds.saturated_ratio, thresholds.back_ratio)
            pasts[place].note(record.timestamp_ms, one.total_bytes or 1, one.usable_bytes or 0)
        yield sample


def _of_severity(alerts: Iterable[AlertRecord], lowest: Severity) -> Iterator[RuleFired]:
    """Yield each alert from when it was at least so severe until it ended."""
    begun: dict[str, AlertRecord] = {}
    for alert in alerts:
        is_over = alert.status is AlertStatus.RESOLVED
        if not is_over and alert.severity.rank >= lowest.rank:
            begun.setdefault(alert.alert_id, alert)
        elif is_over and alert.alert_id in begun:
            yield _rule_fired(begun.pop(alert.alert_id), alert.at_ms)
    yield from (_rule_fired(alert, None) for alert in begun.values())


def _rule_fired(alert: AlertRecord, to_ms: int | None) -> RuleFired:
    assert alert.broker is not None
    assert alert.log_dir is not None
    return RuleFired((alert.cluster, alert.broker, alert.log_dir), Interval(alert.at_ms, to_ms))


def _shown(alerts: list[AlertRecord], names_brokers: bool) -> Iterator[Fired]:
    """Yield the alerts without the numbers that brokers have only here."""
    for alert in fired(alerts):
        summary = alert.summary.removeprefix(f"Broker {alert.broker} ")
        yield alert if names_brokers else msgspec.structs.replace(alert, broker=None, summary=summary)


def _fired(rule: SpaceRule, found: Fleet, server: Server, times: Steps) -> Iterator[RuleFired]:
    expression = rule.expression.replace("$free", f"({found.free})").replace("$size", f"({found.size})")
    known = [
        (labels, (history.cluster, history.broker, path))
        for history in found.histories
        for path, labels in history.directories.items()
    ]
    for labels, points in server.matrix(expression, times):
        if not {*found.source.by} - {CLUSTER} & {*labels}:
            names = ", ".join(name for name in found.source.by if name != CLUSTER)
            raise UserError(f"backtest: --rule {rule.name}: its series have none of the labels {names}", exit_code=2)
        places = [
            place for named, place in known if all(labels.get(name, named[name]) == named[name] for name in named)
        ]
        for during in _intervals(points, times.step_ms, rule.hold_ms):
            yield from (RuleFired(place, during) for place in places)


def _intervals(points: Points, step_ms: int, hold_ms: int) -> Iterator[Interval]:
    """Yield the times in which a rule fired: those in which it had a value at every step, but for the first ones."""
    from_ms = last_ms = None
    for at_ms, _ in [*points, (None, 0.0)]:
        if last_ms is not None and from_ms is not None and (at_ms is None or at_ms > last_ms + step_ms):
            if last_ms - from_ms >= hold_ms:
                yield Interval(from_ms + hold_ms, last_ms)
            from_ms = None
        from_ms = at_ms if from_ms is None else from_ms
        last_ms = at_ms
