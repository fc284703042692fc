"""Routing: which alerts go to which receiver, and which of them share a message. Pure."""

from collections.abc import Container, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from logdirwatch.model.identity import identity
from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import NO_CLUSTER
from logdirwatch.notify.settings import GroupBy, NotifySettings, RouteSettings

TO_ALL = "all"
"""The name of the default route."""


class Timing(NamedTuple):
    """When a group sends, in milliseconds; ``keeps_alive`` repeats even silenced and acknowledged alerts."""

    wait_ms: int
    interval_ms: int
    repeat_ms: int
    keeps_alive: bool = False


class GroupKey(NamedTuple):
    """The alerts that make one message to one receiver."""

    receiver: str
    route: str
    values: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return "/".join((self.receiver, self.route, *(f"{name}={value}" for name, value in self.values)))

    @property
    def fixed_id(self) -> str:
        """The group's permanent id for services that track incidents."""
        return identity(self.receiver, self.route, *(part for pair in self.values for part in pair))


class Router:
    """Routes alerts to groups, as configured.

    A receiver with several URLs has several channels, each sent to on its own, since one may be down.
    """

    def __init__(
        self, settings: NotifySettings, channels: Mapping[str, Sequence[str]], keeping_alive: Container[str]
    ) -> None:
        """``channels`` are those of each receiver; those in ``keeping_alive`` group and repeat alerts themselves."""
        self._settings = settings
        self._channels = channels
        self._keeping_alive = keeping_alive
        routes = settings.routes or (RouteSettings(name=TO_ALL, receivers=tuple(settings.receivers)),)
        self._routes = [(route.name or str(number), route) for number, route in enumerate(routes)]

    def groups(self, alert: AlertRecord) -> Iterator[GroupKey]:
        """Return the groups that an alert belongs to, at most one for each receiver.

        An alert about logdirwatch itself concerns every cluster and follows every route that otherwise matches.
        """
        reached: set[str] = set()
        for name, route in self._routes:
            if not _fits(route, alert):
                continue
            for channel in (channel for receiver in route.receivers for channel in self._channels[receiver]):
                if channel not in reached:
                    reached.add(channel)
                    yield GroupKey(channel, name, self._values(channel, route, alert))
            if not (route.goes_on or alert.cluster == NO_CLUSTER):
                return

    def timing(self, key: GroupKey) -> Timing:
        """Return when a group sends; one whose route is no longer configured uses the general settings."""
        settings = self._settings
        if key.receiver in self._keeping_alive:
            return Timing(0, 0, settings.resend_interval_ms, keeps_alive=True)
        route = dict(self._routes).get(key.route, RouteSettings())
        return Timing(
            _first(route.group_wait_ms, settings.group_wait_ms),
            _first(route.group_interval_ms, settings.group_interval_ms),
            _first(route.repeat_interval_ms, settings.repeat_interval_ms),
        )

    def _values(self, channel: str, route: RouteSettings, alert: AlertRecord) -> tuple[tuple[str, str], ...]:
        if channel in self._keeping_alive:
            return ()
        chosen = self._settings.group_by if route.group_by is None else route.group_by
        return tuple((name, _value(alert, name)) for name in chosen)


def _fits(route: RouteSettings, alert: AlertRecord) -> bool:
    if alert.severity.rank < route.severity.rank or not fnmatchcase(alert.rule, route.rule):
        return False
    return alert.cluster == NO_CLUSTER or fnmatchcase(alert.cluster, route.cluster)


def _value(alert: AlertRecord, name: GroupBy) -> str:
    found: Mapping[GroupBy, str | int | None] = {
        "cluster": alert.cluster,
        "host": host_of(alert) or (None if alert.broker is None else f"broker {alert.broker}"),
        "broker": alert.broker,
        "log_dir": alert.log_dir,
        "rule": alert.rule,
    }
    value = found[name]
    return "*" if value is None else str(value)


def host_of(alert: AlertRecord) -> str | None:
    """Return the host of an alert's broker; None when it is unknown, as in the fast lane."""
    return alert.evidence.host or None


def _first(value: int | None, otherwise: int) -> int:
    return otherwise if value is None else value
