"""The history of a Prometheus server, judged by ``detect`` and by rules over free space."""

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain, repeat
from multiprocessing import get_context
from typing import NamedTuple

import msgspec

from logdirwatch.cli.reading.prometheus.history import CLUSTER, Fleet, History, fleet
from logdirwatch.cli.reading.prometheus.server import Points, Server, Steps
from logdirwatch.config.section import HOUR_MS
from logdirwatch.detect.machine import replay
from logdirwatch.detect.observations import Sample
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.state.broker_state import BrokerMemory
from logdirwatch.errors import UserError
from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import AlertStatus, Rule, Severity
from logdirwatch.report.backtest import Compared, Fired, Interval, Past, Place, RuleFired, compared, fired

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
