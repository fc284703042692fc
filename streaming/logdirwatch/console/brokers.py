"""The list of brokers: what is wrong with each, how full it is, and in which order they stand. Pure."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from logdirwatch.console.overview import WORST_FIRST, worst_rank
from logdirwatch.report.status.cluster import Broker, LogDir
from logdirwatch.text.words import counted


class Line(NamedTuple):
    """One broker; ``bad`` are its directories that are not online, in words, empty if there are none.

    ``used_ratio`` is that of all directories whose size is known, ``fullest`` the one with the highest use.
    """

    cluster: str
    broker: Broker
    log_dirs: int | None
    bad: str
    used_ratio: float | None
    total_bytes: int | None
    fullest: LogDir | None


def line(cluster: str, broker: Broker) -> Line:
    """Return a broker as a line of the list."""
    log_dirs = broker.log_dirs or []
    measured = [one for one in log_dirs if one.total_bytes and one.usable_bytes is not None]
    total = sum(one.total_bytes or 0 for one in measured)
    usable = sum(one.usable_bytes or 0 for one in measured)
    return Line(
        cluster=cluster,
        broker=broker,
        log_dirs=None if broker.log_dirs is None else len(log_dirs),
        bad=_bad(log_dirs),
        used_ratio=1 - usable / total if total else None,
        total_bytes=total or None,
        fullest=max((one for one in log_dirs if one.used_ratio is not None), key=_used, default=None),
    )


def _bad(log_dirs: Iterable[LogDir]) -> str:
    by_status = Counter(one.status for one in log_dirs)
    return ", ".join(f"{by_status[status]} {status}" for status in WORST_FIRST if by_status[status])


def _used(log_dir: LogDir) -> float:
    return log_dir.used_ratio or 0.0


_ORDERS: Mapping[str, Callable[[Line], Any]] = {
    "worst": lambda one: worst_rank(one.broker),
    "fullest directory": lambda one: -1.0 if one.fullest is None else -_used(one.fullest),
    "used": lambda one: 0.0 if one.used_ratio is None else -one.used_ratio,
    "rack": lambda one: (one.broker.rack is None, one.broker.rack or ""),
    "id": lambda _: 0,
}
ORDERS = tuple(_ORDERS)
"""The names of the orders, the usual one first."""


def ordered(lines: Iterable[Line], order: str) -> list[Line]:
    """Return lines in one of ``ORDERS``, the usual one if there is no such; those alike by cluster and id."""
    key = _ORDERS.get(order, _ORDERS[ORDERS[0]])
    return sorted(lines, key=lambda one: (key(one), one.cluster, one.broker.broker))


def summary(lines: Iterable[Line]) -> str:
    """Return how many brokers and directories there are, in words."""
    known = list(lines)
    log_dirs = sum(one.log_dirs or 0 for one in known)
    return f"{counted(len(known), 'broker')}, {counted(log_dirs, 'log directory')}"
