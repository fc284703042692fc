"""Apply changes to a cluster and report their effect and cost."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import inf

import msgspec
import numpy as np
from msgspec import Struct

from logdirwatch.plan.balance.from_snapshot import known
from logdirwatch.plan.balance.model.task import Kind, Mode, Task
from logdirwatch.plan.balance.planner import ClusterPlan, make_plan
from logdirwatch.plan.balance.summary import summarise
from logdirwatch.plan.cluster.layout import LogDirId, Ramp, full_in_ms
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.proposal import Policy
from logdirwatch.plan.what_if.parse import Change
from logdirwatch.plan.what_if.scenario import Key, Moves, Scenario, Unplaced, key_of


class Fill(Struct, frozen=True, kw_only=True):
    """One directory at one time; ``full_in_ms`` null: unknown, or never."""

    used_bytes: int | None
    total_bytes: int | None
    used_ratio: float | None
    growth_bytes_per_s: float | None
    full_in_ms: int | None


class DirectoryOutlook(Struct, frozen=True, kw_only=True):
    """One directory; ``before`` is null for a new one, ``after`` for a lost one."""

    broker: int
    log_dir: str
    before: Fill | None
    after: Fill | None


class Outcome(Struct, frozen=True, kw_only=True):
    """The effect of some changes; ``notes`` are the assumptions behind it."""

    cluster: str
    what_if: list[str]
    state_at_ms: int | None
    inventory_at_ms: int | None
    moves: Moves
    unplaced: Unplaced
    notes: list[str]
    directories: list[DirectoryOutlook]


def what_if(snapshot: ClusterSnapshot, changes: Iterable[Change], policy: Policy, mode: Mode | None = None) -> Outcome:
    """Return the effect of changes on the snapshot, however old it is.

    New disks are filled from the others of their broker; with a ``mode`` the whole cluster is balanced instead. Raises
    UserError for a change that does not fit this cluster, and if no balance can be planned.
    """
    tried = list(changes)
    before = after = Scenario.of(snapshot)
    for change in tried:
        after = change.apply(after, policy)
    if mode is not None or after.new:
        after = _balanced(after, policy, mode)
    return Outcome(
        cluster=snapshot.cluster,
        what_if=[change.written for change in tried],
        state_at_ms=snapshot.state_at_ms,
        inventory_at_ms=snapshot.inventory_at_ms,
        moves=after.moves,
        unplaced=after.unplaced,
        notes=list(after.notes),
        directories=_outlooks(before, after),
    )


def _balanced(scenario: Scenario, policy: Policy, mode: Mode | None) -> Scenario:
    at_ms = max(scenario.snapshot.state_at_ms or 0, scenario.snapshot.inventory_at_ms or 0)
    task = Task(mode or Mode(Kind.BALANCE_DISKS), policy.limits)
    model = known(scenario.snapshot, task.mode, policy, at_ms).model
    if mode is None:
        # Every replica of the other brokers is kept in place.
        wanted = np.isin(model.broker_ids[model.replica_broker], [broker for broker, _ in scenario.new])
        model = replace(model, is_free=wanted & model.is_free)
    made = make_plan(model, task)
    cost = summarise(made).moved
    return scenario.moved(_places(made), msgspec.convert(cost, Moves, from_attributes=True))


def _places(plan: ClusterPlan) -> dict[Key, LogDirId]:
    found: dict[Key, LogDirId] = {}
    for move in plan.moves:
        name = plan.before.directory_name
        topic, number = plan.before.partition_name(move.partition)
        found[name(move.source)[0], topic, number] = name(move.target)
    return found


def _outlooks(before: Scenario, after: Scenario) -> list[DirectoryOutlook]:
    """Return every directory of both clusters, those that are full first afterwards at the front."""
    then, now = _fills(after), _fills(before)
    places = sorted({*now, *then})
    found = [DirectoryOutlook(broker=p[0], log_dir=p[1], before=now.get(p), after=then.get(p)) for p in places]
    return sorted(found, key=_soonest_full)


def _soonest_full(one: DirectoryOutlook) -> tuple[float, float, int, str]:
    left_ms, ratio = (None, None) if one.after is None else (one.after.full_in_ms, one.after.used_ratio)
    return inf if left_ms is None else left_ms, -(ratio or 0.0), one.broker, one.log_dir


def _fills(scenario: Scenario) -> dict[LogDirId, Fill]:
    growth: defaultdict[LogDirId, float] = defaultdict(float, scenario.other_growth)
    ramps: defaultdict[LogDirId, list[Ramp]] = defaultdict(list)
    unknown: set[LogDirId] = {place for place in scenario.snapshot.directories if place not in scenario.other_growth}
    for replica in scenario.snapshot.layout.assigned:
        key = key_of(replica)
        if replica.is_future:
            continue
        if key in scenario.ramps:
            ramps[replica.place].append(scenario.ramps[key])
        if key in scenario.growth:
            growth[replica.place] += scenario.growth[key]
        elif replica.size_bytes:
            unknown.add(replica.place)
    return {
        place: _fill(directory, None if place in unknown else growth[place], ramps[place])
        for place, directory in scenario.snapshot.directories.items()
    }


def _fill(directory: LogDir, growth: float | None, ramps: Sequence[Ramp]) -> Fill:
    used, total = directory.used_bytes, directory.total_bytes
    left = None if directory.usable_bytes is None else directory.usable_bytes - (directory.incoming_bytes or 0)
    return Fill(
        used_bytes=used,
        total_bytes=total,
        used_ratio=None if used is None or not total else used / total,
        growth_bytes_per_s=None if growth is None else growth + sum(ramp.bytes_per_s for ramp in ramps),
        full_in_ms=None if left is None or growth is None else full_in_ms(left, growth, ramps),
    )
