"""The summary of a plan: bytes copied against the lower bound, fill ratios before and after, and what is left."""

import numpy as np
from msgspec import Struct

from logdirwatch.plan.balance.model.cluster import ClusterModel, Numbers, Ratios
from logdirwatch.plan.balance.model.task import Kind
from logdirwatch.plan.balance.planner import ClusterPlan
from logdirwatch.plan.balance.schedule import loads_ms
from logdirwatch.plan.balance.search.balance import goal, group_of_units
from logdirwatch.plan.balance.search.evacuate import best_ratio, directory_named, internal, targets_of
from logdirwatch.plan.balance.search.pool import lower_bound_bytes


class Fills(Struct, frozen=True, kw_only=True):
    """The fill ratios of directories, or of brokers; the spread is their standard deviation."""

    max_ratio: float
    min_ratio: float
    spread_ratio: float


class Change(Struct, frozen=True, kw_only=True):
    """Fill ratios before and after a plan."""

    before: Fills
    after: Fills


class Cost(Struct, frozen=True, kw_only=True):
    """What is copied; ``leaders`` are leaders, or preferred leaders, that leave their broker.

    ``needs_ms`` is until the last old file is deleted; no order takes less than ``busiest_ms``, the time that the
    busiest broker receives, sends or copies within itself.
    """

    replicas: int
    bytes: int
    within_brokers_bytes: int
    between_brokers_bytes: int
    leaders: int
    waves: int
    needs_ms: int
    busiest_ms: int


class Bound(Struct, frozen=True, kw_only=True):
    """The fewest bytes with which any plan reaches the goal; ``in_racks_bytes`` if replicas keep their racks.

    The two are equal if racks restrict nothing. For an evacuation, the bytes in the directory.
    """

    bytes: int
    in_racks_bytes: int


class Evacuation(Struct, frozen=True, kw_only=True):
    """The fill ratio of the fullest remaining directory of the broker, and the lowest possible one."""

    max_ratio: float
    best_max_ratio: float


class Violations(Struct, frozen=True, kw_only=True):
    """Broken limits, counted on the models and the waves, independently of how the plan was made."""

    partitions_twice_on_a_broker: int
    partitions_on_fewer_racks: int
    directories_over_limit: int
    internal_replicas_balanced: int


class Outside(Struct, frozen=True, kw_only=True):
    """A directory, or a broker (``log_dir`` null), that stays outside the tolerance: by how much, and why."""

    broker: int
    log_dir: str | None
    used_ratio: float
    mean_ratio: float
    off_bytes: int
    reason: str


class LeftOut(Struct, frozen=True, kw_only=True):
    """A directory, or a whole broker (``log_dir`` null), that nothing is moved to or from, and why."""

    broker: int
    log_dir: str | None
    reason: str


class Staying(Struct, frozen=True, kw_only=True):
    """Partitions that stay where they are for one kind of reason (``why``), with the full reason of the first."""

    why: str
    partitions: int
    reason: str


class About(Struct, frozen=True, kw_only=True):
    """The real cluster of a plan, the age of its data, and what the plan leaves out."""

    cluster: str
    state_at_ms: int | None
    inventory_at_ms: int | None
    left_out: list[LeftOut]
    staying: list[Staying]


class Summary(Struct, frozen=True, kw_only=True):
    """One plan; ``about`` null: the model came from a file."""

    mode: str
    tolerance_ratio: float
    moved: Cost
    lower_bound: Bound
    directories: Change
    brokers: Change
    evacuation: Evacuation | None
    violations: Violations
    outside: list[Outside]
    about: About | None = None


def summarise(plan: ClusterPlan, about: About | None = None) -> Summary:
    """Return the summary of a plan."""
    before, after = plan.before, plan.after
    emptied = None if plan.task.mode.evacuated is None else directory_named(before, *plan.task.mode.evacuated)
    return Summary(
        mode=str(plan.task.mode),
        tolerance_ratio=plan.task.tolerance_ratio,
        moved=_cost(plan),
        lower_bound=_bound(plan, emptied),
        directories=Change(before=_directory_fills(before), after=_directory_fills(after)),
        brokers=Change(before=_broker_fills(before), after=_broker_fills(after)),
        evacuation=None if emptied is None else _evacuation(plan, emptied),
        violations=_violations(plan),
        outside=_outside(plan) if emptied is None else [],
        about=about,
    )


def _cost(plan: ClusterPlan) -> Cost:
    within = sum(move.size_bytes for move in plan.moves if move.is_within)
    total = sum(move.size_bytes for move in plan.moves)
    leads = plan.before.is_leader | plan.before.is_preferred
    return Cost(
        replicas=len(plan.moves),
        bytes=total,
        within_brokers_bytes=within,
        between_brokers_bytes=total - within,
        leaders=sum(bool(leads[move.replica]) and not move.is_within for move in plan.moves),
        waves=len(plan.waves),
        needs_ms=max((wave.ends_ms for wave in plan.waves), default=0),
        busiest_ms=max(loads_ms(plan.moves).values(), default=0),
    )


def _bound(plan: ClusterPlan, emptied: int | None) -> Bound:
    model, kind = plan.before, plan.task.mode.kind
    if emptied is not None:
        return Bound(bytes=int(model.replicas_bytes[emptied]), in_racks_bytes=int(model.replicas_bytes[emptied]))
    used, band = _unit_used(model, kind), goal(model, kind, plan.task.tolerance_ratio)
    group = group_of_units(model, kind)
    widest = group if kind is Kind.BALANCE_DISKS else np.zeros_like(group)
    return Bound(bytes=lower_bound_bytes(used, band, widest), in_racks_bytes=lower_bound_bytes(used, band, group))


def _evacuation(plan: ClusterPlan, emptied: int) -> Evacuation:
    kept = plan.after.used_ratios[targets_of(plan.before, emptied)]
    return Evacuation(max_ratio=float(kept.max(initial=0.0)), best_max_ratio=best_ratio(plan.before, emptied))


def _violations(plan: ClusterPlan) -> Violations:
    before, after = plan.before, plan.after
    limits = before.limits_bytes(plan.task.limits.destination_max_ratio)
    over = {fill.directory for wave in plan.waves for fill in wave.fills if fill.worst_bytes > limits[fill.directory]}
    moved = before.replica_directory != after.replica_directory
    is_balance = plan.task.mode.evacuated is None
    twice = _distinct(after, after.replica_broker) < np.diff(after.partition_starts)
    racks_before, racks = (_distinct(model, model.broker_rack[model.replica_broker]) for model in (before, after))
    return Violations(
        partitions_twice_on_a_broker=int(twice.sum()),
        partitions_on_fewer_racks=int((racks < racks_before).sum()),
        directories_over_limit=len(over),
        internal_replicas_balanced=int((moved & internal(before, plan.task.limits)).sum()) if is_balance else 0,
    )


def _outside(plan: ClusterPlan) -> list[Outside]:
    model, kind = plan.after, plan.task.mode.kind
    band, used = goal(model, kind, plan.task.tolerance_ratio), _unit_used(model, kind)
    off = band.over_bytes(used) + band.under_bytes(used)
    return [_outside_one(plan, int(unit), int(off[unit])) for unit in np.flatnonzero(off)]


def _outside_one(plan: ClusterPlan, unit: int, off_bytes: int) -> Outside:
    model, kind = plan.after, plan.task.mode.kind
    if kind is Kind.BALANCE_BROKERS:
        broker, log_dir, ratio = int(model.broker_ids[unit]), None, model.broker_ratios[unit]
    else:
        (broker, log_dir), ratio = model.directory_name(unit), model.used_ratios[unit]
    is_own_mean = kind is Kind.BALANCE_DISKS
    mean = model.broker_ratios[model.directory_broker[unit]] if is_own_mean else model.mean_ratio
    return Outside(
        broker=broker,
        log_dir=log_dir,
        used_ratio=float(ratio),
        mean_ratio=float(mean),
        off_bytes=off_bytes,
        reason=_reason(plan),
    )


def _reason(plan: ClusterPlan) -> str:
    if plan.given_up:
        found = f"{len(plan.given_up)} moves were given up: no order of them keeps every directory within its limit"
        return f"{found}{_created_elsewhere(plan)}"
    if not plan.is_searched:
        return "the search ended before every swap was tried: the rules forbid nearly all of them"
    return "no single move and no swap of two replicas brings it within the tolerance, or nearer by a tenth"


def _created_elsewhere(plan: ClusterPlan) -> str:
    """Say how many of the moves are missing only because a directory where Kafka may create the replica has no room."""
    model, limits = plan.after, plan.after.limits_bytes(plan.task.limits.destination_max_ratio)
    crossing = [move for move in plan.given_up if not move.is_within]
    fits = [move for move in crossing if model.used_bytes[move.target] + move.size_bytes <= limits[move.target]]
    if not fits:
        return ""
    logs = np.bincount(model.replica_directory, minlength=len(model.capacity_bytes))
    broker = model.directory_broker[fits[0].target]
    own = np.flatnonzero((model.directory_broker == broker) & model.is_open)
    number, path = model.directory_name(int(own[np.argmin(logs[own])]))
    return (
        f"; {len(fits)} of them would fit, but Kafka may create the replica first in a directory without room, the one "
        f"with the fewest logs (broker {number}: {path}): cordon that first (Kafka 4.3 or later)"
    )


def _unit_used(model: ClusterModel, kind: Kind) -> Numbers:
    return model.broker_used_bytes if kind is Kind.BALANCE_BROKERS else model.used_bytes


def _directory_fills(model: ClusterModel) -> Fills:
    return _fills(model.used_ratios[model.is_open])


def _broker_fills(model: ClusterModel) -> Fills:
    return _fills(model.broker_ratios[model.broker_capacity_bytes > 0])


def _fills(ratios: Ratios) -> Fills:
    return Fills(max_ratio=float(ratios.max()), min_ratio=float(ratios.min()), spread_ratio=float(ratios.std()))


def _distinct(model: ClusterModel, owner: Numbers) -> Numbers:
    """Return by partition the number of different owners (``owner`` is by replica)."""
    pairs = np.unique(model.replica_partition * (int(owner.max(initial=0)) + 1) + owner)
    return np.bincount(pairs // (int(owner.max(initial=0)) + 1), minlength=len(model.partition_topic))
