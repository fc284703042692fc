"""The judgements of clusters, one short predicate for each rule; no state, no clock."""

import math
from collections.abc import Iterable
from typing import NamedTuple

from logdirwatch.fleet.disks import Disk
from logdirwatch.fleet.settings import FleetSettings
from logdirwatch.fleet.tally import Sums
from logdirwatch.model.records import PartitionHealth
from logdirwatch.model.vocabulary import Severity

EXAMPLES = 20
NEWS_AT_ONCE = 2.0
NEWS_LATER = 1.1
_INTERNAL = "__"
_KINDS = ("leaderless", "under_min_isr", "sole_replica")


def danger(sums: Sums) -> tuple[str, Severity] | None:
    """Return the worst condition of the cluster's partitions and its severity; None when they are healthy.

    The order matters: a leaderless partition is under its minimum too.
    """
    if sums.leaderless:
        return "leaderless", Severity.PAGE
    if sums.under_min_isr:
        return "under_min_isr", Severity.CRITICAL
    return ("sole_replica", Severity.WARNING) if sums.sole_replica else None


def at_least(sums: Sums, healths: Iterable[PartitionHealth]) -> tuple[int, int]:
    """Return how many partitions are certainly under and at their minimum of in-sync replicas.

    Each broker counts the partitions it has a replica of, so a sum over brokers would count them several times. The
    highest count of a single broker is the largest number that is certain. Each leaderless partition is under its
    minimum too.
    """
    counted = [(health.under_min_isr, health.at_min_isr) for health in healths]
    under = max((under for under, _ in counted), default=0)
    return max(under, sums.leaderless), max((at for _, at in counted), default=0)


def examples(healths: Iterable[PartitionHealth]) -> list[str]:
    """Return up to 20 partitions that are leaderless, under their minimum or down to one replica.

    Internal topics come first, then the worse partitions. A broker lists its worst partitions first, and at least as
    many of them are in danger as its highest count says; those at their minimum follow and are not in danger yet.
    """
    ranks: dict[str, int] = {}
    for health in healths:
        counts = [getattr(health, kind) for kind in _KINDS]
        for place, name in enumerate(health.examples[: max(counts)]):
            rank = next(rank for rank in range(len(_KINDS)) if place < max(counts[: rank + 1]))
            ranks[name] = min(rank, ranks.get(name, rank))
    ordered = sorted(ranks, key=lambda name: (not name.startswith(_INTERNAL), ranks[name], name))
    return ordered[:EXAMPLES]


def hurt(told: Iterable[list[str] | None]) -> list[str] | None:
    """Return up to 20 of the names that brokers report, internal topics first; None when no broker knows any."""
    known = [names for names in told if names is not None]
    if not known:
        return None
    return sorted({name for names in known for name in names}, key=lambda name: (not name.startswith(_INTERNAL), name))[
        :EXAMPLES
    ]


def brokers_needed(settings: FleetSettings, brokers: int) -> int:
    """Return how many brokers must be filling before the cluster counts as filling."""
    return max(settings.space_brokers_min, math.ceil(settings.space_brokers_ratio * brokers))


def is_short_of_space(settings: FleetSettings, sums: Sums) -> bool:
    """Tell whether many brokers fill and the others have no room for the excess."""
    return (
        sums.filling_brokers >= brokers_needed(settings, sums.brokers)
        # Unknown directories have no room that can be relied on.
        and sums.above_bytes > sums.room_bytes
    )


class Loss(NamedTuple):
    """The bytes needed to rebuild one disk or broker on the others."""

    broker: int
    log_dir: str | None
    needs_bytes: int
    room_bytes: int

    @property
    def missing_bytes(self) -> int:
        """The bytes that do not fit."""
        return max(0, self.needs_bytes - self.room_bytes)


def worst_loss(losses: Iterable[Loss]) -> Loss | None:
    """Return the loss with the most bytes missing or, if none is missing any, the largest one."""
    return max(losses, key=lambda loss: (loss.missing_bytes, loss.needs_bytes, -loss.broker), default=None)


def broker_losses(disks: list[Disk]) -> list[Loss]:
    """Return what rebuilding each broker takes, for those whose replicas are known."""
    room, needs = _rooms(disks), dict.fromkeys((disk.broker for disk in disks), 0)
    unknown = {disk.broker for disk in disks if disk.replica_bytes is None}
    for disk in disks:
        needs[disk.broker] += disk.replica_bytes or 0
    return [Loss(broker, None, size, room[broker]) for broker, size in needs.items() if broker not in unknown]


def disk_losses(disks: list[Disk]) -> list[Loss]:
    """Return what rebuilding each disk takes, for those whose replicas are known.

    They go to other brokers: Kafka refuses moves within one that has an offline directory.
    """
    room = _rooms(disks)
    return [
        Loss(disk.broker, disk.paths[0], disk.replica_bytes, room[disk.broker])
        for disk in disks
        if disk.replica_bytes is not None
    ]


def _rooms(disks: list[Disk]) -> dict[int, int]:
    """Return for each broker the free space on the others."""
    own = dict.fromkeys((disk.broker for disk in disks), 0)
    for disk in disks:
        own[disk.broker] += disk.rebuild_bytes
    total = sum(own.values())
    return {broker: total - size for broker, size in own.items()}


def moved(before: tuple[int, ...], after: tuple[int, ...], factor: float) -> bool:
    """Tell whether a number rose or fell by ``factor`` or more; a change from or to zero always counts."""
    if len(before) != len(after):
        return True
    pairs = zip(before, after, strict=True)
    return any(old != new and max(old, new) >= factor * min(old, new) for old, new in pairs)
