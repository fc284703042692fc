"""Apply changes to a cluster and report their effect and cost."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from msgspec import Struct

from logdirwatch.plan.balance.from_snapshot import known
from logdirwatch.plan.balance.model.cluster import ClusterModel
from logdirwatch.plan.balance.model.task import Kind, Mode, Task
from logdirwatch.plan.balance.planner import ClusterPlan, make_plan
from logdirwatch.plan.balance.summary import summarise
from logdirwatch.plan.cluster.layout import LogDirId
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.proposal import Policy
from logdirwatch.plan.what_if.outlook import DirectoryOutlook, outlooks
from logdirwatch.plan.what_if.parse import Change
from logdirwatch.plan.what_if.scenario import Copies, Key, Scenario


class Moves(Struct, frozen=True, kw_only=True):
    """What has to be copied; ``needs_ms`` at the configured rates."""

    replicas: int
    bytes: int
    within_brokers_bytes: int
    between_brokers_bytes: int
    needs_ms: int


class Unplaced(Struct, frozen=True, kw_only=True):
    """Replicas without a place, the reason of the first, and partitions whose only copy is lost."""

    replicas: int
    bytes: int
    reason: str | None
    lost: list[str]


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
    return _outcome(before, after, tried)


def _balanced(scenario: Scenario, policy: Policy, mode: Mode | None) -> Scenario:
    at_ms = max(scenario.snapshot.state_at_ms or 0, scenario.snapshot.inventory_at_ms or 0)
    task = Task(mode or Mode(Kind.BALANCE_DISKS), policy.limits)
    model = known(scenario.snapshot, task.mode, policy, at_ms).model
    if mode is None:
        model = _only(model, {broker for broker, _ in scenario.new})
    made = make_plan(model, task)
    cost = summarise(made).moved
    copies = Copies(cost.replicas, cost.within_brokers_bytes, cost.between_brokers_bytes, cost.needs_ms)
    return scenario.moved(_places(made), copies)


def _only(model: ClusterModel, brokers: set[int]) -> ClusterModel:
    """Return the model with every replica of the other brokers kept in place."""
    wanted = np.isin(model.broker_ids[model.replica_broker], list(brokers))
    return replace(model, is_held=~(wanted & model.is_free))


def _places(plan: ClusterPlan) -> dict[Key, LogDirId]:
    model = plan.before
    found: dict[Key, LogDirId] = {}
    for replica in np.flatnonzero(model.replica_directory != plan.after.replica_directory):
        broker, _ = model.directory_name(int(model.replica_directory[replica]))
        partition = int(model.replica_partition[replica])
        topic = model.topics[int(model.partition_topic[partition])]
        key = broker, topic, int(model.partition_numbers[partition])
        found[key] = model.directory_name(int(plan.after.replica_directory[replica]))
    return found


def _outcome(before: Scenario, after: Scenario, changes: list[Change]) -> Outcome:
    copies, homeless = after.copies, after.homeless
    return Outcome(
        cluster=before.snapshot.cluster,
        what_if=[change.written for change in changes],
        state_at_ms=before.snapshot.state_at_ms,
        inventory_at_ms=before.snapshot.inventory_at_ms,
        moves=Moves(
            replicas=copies.replicas,
            bytes=copies.within_brokers_bytes + copies.between_brokers_bytes,
            within_brokers_bytes=copies.within_brokers_bytes,
            between_brokers_bytes=copies.between_brokers_bytes,
            needs_ms=copies.needs_ms,
        ),
        unplaced=Unplaced(
            replicas=homeless.replicas, bytes=homeless.size_bytes, reason=homeless.reason, lost=list(homeless.lost)
        ),
        notes=list(after.notes),
        directories=outlooks(before, after),
    )
