"""fleet_space: many directories of a cluster fill together, and the others have no room for the excess."""

from logdirwatch.detect.alerts.context import EvidenceTime
from logdirwatch.fleet import rules, wording
from logdirwatch.fleet.alerts import Claim, Details
from logdirwatch.fleet.context import ClusterContext
from logdirwatch.fleet.disks import Disk
from logdirwatch.model.evidence.clusters import FillingDisk, FleetSpaceEvidence, IfLost, LostPlace, Rebuild
from logdirwatch.model.vocabulary import LogDirStatus, Rule, Severity


def judge(context: ClusterContext, moment: EvidenceTime) -> None:
    """Update the alert from the sums over all brokers."""
    sums, settings = context.tally.sums, context.settings
    verdict = context.alerts.lasting(
        Rule.FLEET_SPACE,
        moment.at_ms,
        is_wrong=rules.is_short_of_space(settings, sums),
        after_ms=settings.space_after_ms,
        hold_ms=settings.space_hold_ms,
    )
    if verdict is False:
        context.alerts.resolve(Rule.FLEET_SPACE, None, "recovered", moment.at_ms)
    elif verdict:
        figures = (sums.filling_brokers, sums.above_bytes - sums.room_bytes)
        severity = Severity.CRITICAL if sums.urgent_brokers else Severity.WARNING
        claim = Claim(severity, LogDirStatus.FILLING, figures)
        context.alerts.fire(Rule.FLEET_SPACE, None, claim, lambda: _details(context, moment.at_ms), *moment)


def _details(context: ClusterContext, at_ms: int) -> Details:
    disks = context.disks()
    filling = sorted(
        (disk for disk in disks if disk.is_filling),
        key=lambda disk: (-(disk.used_ratio or 0.0), disk.broker, disk.paths),
    )
    evidence = _evidence(context, disks, filling)
    affected = {
        "brokers": context.tally.sums.filling_brokers,
        "log_dirs": sum(len(disk.paths) for disk in filling),
        "examples": [f"{disk.broker}:{disk.paths[0]}" for disk in filling[: rules.EXAMPLES]],
    }
    urgent = sum(1 for disk in filling if disk.is_urgent)
    can_wait = not context.tally.sums.urgent_brokers
    summary = wording.fleet_space(context.memory.cluster, evidence, urgent, at_ms, can_wait=can_wait)
    return Details(evidence, affected, summary)


def _evidence(context: ClusterContext, disks: list[Disk], filling: list[Disk]) -> FleetSpaceEvidence:
    sums = context.tally.sums
    return FleetSpaceEvidence(
        brokers=sums.brokers,
        filling_brokers=sums.filling_brokers,
        needed_brokers=rules.brokers_needed(context.settings, sums.brokers),
        above_bytes=sums.above_bytes,
        room_bytes=sums.room_bytes,
        missing_bytes=sums.above_bytes - sums.room_bytes,
        first_full_at_ms=min((d.full_at_ms for d in filling if d.full_at_ms is not None), default=None),
        unknown_disks=sum(1 for disk in disks if disk.is_unknown),
        fullest=[_named(disk) for disk in filling[: rules.EXAMPLES]],
        if_lost=if_lost(disks),
    )


def if_lost(disks: list[Disk]) -> IfLost:
    """Return whether any single directory or broker could be lost and rebuilt on the other brokers.

    Only bytes are compared. Racks, and brokers that have another replica already, can only make it worse.
    """
    unknown = [disk for disk in disks if disk.replica_bytes is None]
    return IfLost(
        log_dir=_answer(rules.worst_loss(rules.disk_losses(disks)), len(unknown)),
        broker=_answer(rules.worst_loss(rules.broker_losses(disks)), len({disk.broker for disk in unknown})),
    )


def _answer(worst: rules.Loss | None, unknown: int) -> Rebuild:
    """Return the worst known case; ``can_be_rebuilt`` is None when an unknown case may be worse."""
    if worst is None:
        return Rebuild(can_be_rebuilt=None, unknown=unknown)
    fits = None if unknown else True
    return Rebuild(
        can_be_rebuilt=False if worst.missing_bytes else fits,
        worst=LostPlace(broker=worst.broker, log_dir=worst.log_dir),
        needs_bytes=worst.needs_bytes,
        room_bytes=worst.room_bytes,
        missing_bytes=worst.missing_bytes,
        unknown=unknown,
    )


def _named(disk: Disk) -> FillingDisk:
    return FillingDisk(
        broker=disk.broker, log_dirs=list(disk.paths), used_ratio=disk.used_ratio, full_at_ms=disk.full_at_ms
    )
