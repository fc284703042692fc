"""A plan as files (the model as CSV, the moves for Kafka's tool, its waves), and as the operation of ``apply``."""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from logdirwatch.model.actions.operations import Operation, Rolling, RollingCopy, Room
from logdirwatch.plan.balance.model.cluster import ClusterModel, Numbers
from logdirwatch.plan.balance.model.csv_reader import HEADER
from logdirwatch.plan.balance.planner import ClusterPlan
from logdirwatch.plan.balance.schedule import Fill, Move, is_within_broker
from logdirwatch.plan.cluster.assignment import ANY, Assignment, to_json
from logdirwatch.plan.commands.kafka_tools import Tools
from logdirwatch.plan.commands.operations import reassign
from logdirwatch.plan.commands.throttles import Limits, joined, of_plan
from logdirwatch.plan.reassignment import steps as forms

Row = tuple[object, ...]


def write_model(model: ClusterModel, path: Path) -> None:
    """Write a model as CSV: replicas in the order in which they were read, then directories without any."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        partition = model.replica_partition
        topics = [model.topics[topic] for topic in model.partition_topic[partition].tolist()]
        numbers, sizes = model.partition_numbers[partition].tolist(), model.replica_bytes.tolist()
        leads = model.is_leader.astype(np.int64).tolist()
        places = _places(model, model.replica_directory)
        writer.writerows((*row, *more) for row, *more in zip(places, topics, numbers, sizes, leads, strict=True))
        is_empty = np.bincount(model.replica_directory, minlength=len(model.capacity_bytes)) == 0
        writer.writerows((*row, "", "", "", "") for row in _places(model, np.flatnonzero(is_empty)))


def _places(model: ClusterModel, directories: Numbers) -> Iterator[Row]:
    """Yield a line's first four fields."""
    known = [
        (broker_id, model.racks[rack], path, capacity)
        for broker_id, rack, path, capacity in zip(
            model.broker_ids[model.directory_broker].tolist(),
            model.broker_rack[model.directory_broker].tolist(),
            model.directory_paths,
            model.capacity_bytes.tolist(),
            strict=True,
        )
    ]
    return (known[directory] for directory in directories.tolist())


def reassignment(plan: ClusterPlan) -> dict[str, Any]:
    """Return the whole plan as the content of ``kafka-reassign-partitions.sh --reassignment-json-file``."""
    return to_json(assignments(plan.before, plan.moves, {}))


def steps(plan: ClusterPlan, tools: Tools | None = None) -> dict[str, Any]:
    """Return the waves in order; each may begin once those that it names are done and their old files are deleted.

    ``worst_ratio`` is a directory's fill ratio with every copy of the wave, and of those that may still run, there and
    nothing deleted yet. With the tools of a real cluster there are commands: those of the waves, and before and after
    them those of the throttles.
    """
    name, limits = f"{name_of(plan)}.json", throttles(plan)
    waves, done = list[dict[str, Any]](), dict[int, int]()
    for number, wave in enumerate(plan.waves, start=1):
        waves.append(_step(plan, number, done, tools))
        done |= {move.replica: move.target for move in wave.moves}
    around = None if tools is None else (tools.set_limits(limits, name), tools.clear_limits(limits, name))
    return forms.steps(str(plan.task.mode), waves, around)


def name_of(plan: ClusterPlan) -> str:
    """Return what the files of a plan's commands begin with."""
    return f"logdirwatch-{plan.task.mode.kind.value}"


def throttles(plan: ClusterPlan) -> Limits:
    """Return the throttles of a plan and of its undo."""
    model, limits = plan.before, plan.task.limits
    within = [move for move in plan.moves if is_within_broker(model, move)]
    between = [move for move in plan.moves if not is_within_broker(model, move)]
    return joined(
        of_plan(to_json(side(model, moves, {})), **rates)
        for moves, rates in (
            (within, {"log_dir_rate": limits.log_dir_throttle_bytes_per_s, "rate": None}),
            (between, {"log_dir_rate": None, "rate": limits.replication_throttle_bytes_per_s}),
        )
        for side in (assignments, assignments_before)
    )


def _step(plan: ClusterPlan, number: int, done: dict[int, int], tools: Tools | None) -> dict[str, Any]:
    model, limits, wave = plan.before, plan.task.limits, plan.waves[number - 1]
    is_within = [is_within_broker(model, move) for move in wave.moves]
    step = forms.step(
        [_move(model, move) for move in wave.moves],
        [_fill(model, fill) for fill in wave.fills],
        assignments(model, wave.moves, done),
        needs_ms=wave.ends_ms - wave.begins_ms,
        log_dir_bytes_per_s=limits.log_dir_throttle_bytes_per_s if any(is_within) else None,
        replication_bytes_per_s=None if all(is_within) else limits.replication_throttle_bytes_per_s,
    )
    found = {"wave": number, "after": [one + 1 for one in wave.after], "begins_ms": wave.begins_ms, **step}
    if tools is None:
        return found
    name = f"{name_of(plan)}-wave-{number}.json"
    return {**found, "commands": tools.reassign(step["reassignment"], name, limits=Limits(), beside=number > 1)}


def _move(model: ClusterModel, move: Move) -> dict[str, Any]:
    partition = model.partition_name(int(model.replica_partition[move.replica]))
    source, target = map(model.directory_name, (move.source, move.target))
    return forms.move(partition, move.size_bytes, source, target)


def _fill(model: ClusterModel, fill: Fill) -> dict[str, Any]:
    place, capacity = model.directory_name(fill.directory), int(model.capacity_bytes[fill.directory])
    sizes = {"before_bytes": fill.before_bytes, "worst_bytes": fill.worst_bytes, "after_bytes": fill.after_bytes}
    return forms.fill(place, capacity, **sizes)


def assignments(model: ClusterModel, moves: Iterable[Move], done: dict[int, int]) -> list[Assignment]:
    """Return the partitions that moves change, with their new assignment; ``done`` are directories of earlier moves."""
    targets = {move.replica: move.target for move in moves}
    partitions = dict.fromkeys(int(model.replica_partition[replica]) for replica in targets)
    return [_assignment(model, partition, targets, done) for partition in partitions]


def assignments_before(model: ClusterModel, moves: Iterable[Move], done: dict[int, int]) -> list[Assignment]:
    """Return the partitions that moves change as they are before them, with the directories that replicas leave."""
    return assignments(model, (move._replace(target=move.source) for move in moves), done)


def _assignment(model: ClusterModel, partition: int, targets: dict[int, int], done: dict[int, int]) -> Assignment:
    topic, number = model.partition_name(partition)
    replicas = model.replicas_of(partition)
    now = [targets.get(r, done.get(r, int(model.replica_directory[r]))) for r in replicas]
    brokers = tuple(model.directory_name(directory)[0] for directory in now)
    paths = tuple(model.directory_paths[d] if r in targets else ANY for r, d in zip(replicas, now, strict=True))
    return Assignment(topic, number, brokers, paths)


EXACT_COPIES = 10_000
"""Of more copies the sizes are rounded: the journal has room for 100,000 that differ in 8 bits, not in 40."""


def operations(plan: ClusterPlan) -> list[Operation]:
    """Return the operation of a plan: its copies in the order in which they begin, its undo in the opposite one."""
    model, moves = plan.before, plan.moves
    there, here = assignments(model, moves, {}), assignments_before(model, moves, {})
    limits = throttles(plan)
    return [
        reassign(
            to_json(there),
            to_json(here),
            f"{name_of(plan)}.json",
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
    most = model.limits_bytes(limits.destination_max_ratio)
    for move in plan.moves:
        size_bytes = size_of(move.size_bytes)
        for place, more in ((move.source, size_bytes), (move.target, -size_bytes)):
            before.setdefault(place, int(most[place] - model.used_bytes[place]))
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
