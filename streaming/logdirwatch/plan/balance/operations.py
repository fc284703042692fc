"""A plan as the operation that ``apply`` carries out; its files describe the same moves."""

from collections import Counter
from collections.abc import Mapping

from logdirwatch.model.actions.operations import Operation, Rolling, RollingCopy, Room
from logdirwatch.plan.balance import files
from logdirwatch.plan.balance.planner import ClusterPlan
from logdirwatch.plan.cluster.assignment import to_json
from logdirwatch.plan.commands.operations import reassign

EXACT_COPIES = 10_000
"""Of more copies the sizes are rounded: the journal has room for 100,000 that differ in 8 bits, not in 40."""


def operations(plan: ClusterPlan) -> list[Operation]:
    """Return the operation of a plan: its copies in the order in which they begin, its undo in the opposite one."""
    model, moves = plan.before, plan.moves
    there, here = files.assignments(model, moves, {}), files.assignments_before(model, moves, {})
    limits = files.throttles(plan)
    return [
        reassign(
            to_json(there),
            to_json(here),
            f"{files.name_of(plan)}.json",
            limits=limits,
            back=limits,
            rolling=_rolling(plan),
            settle_ms=model.delete_delay_ms,
        )
    ]


def _rolling(plan: ClusterPlan) -> tuple[Rolling, Rolling]:
    """Return what decides when each partition begins, and on the way back, after all of it."""
    model, limits = plan.before, plan.task.limits
    partitions = dict.fromkeys(int(model.replica_partition[move.replica]) for move in plan.moves)
    size_of = _rounded if len(plan.moves) > EXACT_COPIES else int
    number_of = {partition: number for number, partition in enumerate(partitions)}
    copies = [
        RollingCopy(
            partition=number_of[partition := int(model.replica_partition[move.replica])],
            replica=model.replicas_of(partition).index(move.replica),
            bytes=size_of(move.size_bytes),
        )
        for move in plan.moves
    ]
    before, after = dict[int, int](), Counter[int]()
    for move in plan.moves:
        size_bytes = size_of(move.size_bytes)
        for place, more in ((move.source, size_bytes), (move.target, -size_bytes)):
            used = int(model.used_bytes[place])
            before.setdefault(
                place, max(int(limits.destination_max_ratio * int(model.capacity_bytes[place])) - used, 0)
            )
            after[place] += more
        # What is planned still fits in its order.
        before[move.target] += size_bytes - move.size_bytes
    left = {place: size + after[place] for place, size in before.items()}
    return _of(plan, copies, before), _of(plan, copies[::-1], left)


def _rounded(size_bytes: int) -> int:
    """Return a size, less than 1 % larger, with 8 significant bits."""
    digits = max(size_bytes.bit_length() - 8, 0)
    return -(-size_bytes >> digits) << digits


def _of(plan: ClusterPlan, copies: list[RollingCopy], room: Mapping[int, int]) -> Rolling:
    named = [(*plan.before.directory_name(place), size) for place, size in sorted(room.items())]
    return Rolling(
        copies=copies,
        room=[Room(broker=broker, log_dir=path, bytes=size) for broker, path, size in named],
        log_dir_bytes_per_s=plan.task.limits.log_dir_throttle_bytes_per_s,
        replication_bytes_per_s=plan.task.limits.replication_throttle_bytes_per_s,
    )
