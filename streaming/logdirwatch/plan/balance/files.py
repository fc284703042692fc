"""A plan as files (the model as CSV, the moves for Kafka's tool, its waves), and as the operation of ``apply``."""

import csv
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from logdirwatch.model.actions.operations import Operation, Rolling, RollingCopy, Room
from logdirwatch.plan.balance.model.cluster import ClusterModel
from logdirwatch.plan.balance.model.csv_reader import HEADER
from logdirwatch.plan.balance.planner import ClusterPlan
from logdirwatch.plan.balance.schedule import Move, Wave
from logdirwatch.plan.cluster.assignment import ANY, Assignment, to_json
from logdirwatch.plan.commands.kafka_tools import Tools
from logdirwatch.plan.commands.operations import reassign
from logdirwatch.plan.commands.throttles import Limits, joined, of_plan
from logdirwatch.plan.reassignment import steps as forms


def write_model(model: ClusterModel, path: Path) -> None:
    """Write a model as CSV: replicas in the order in which they were read, then directories without any."""
    racks = [model.racks[rack] for rack in model.broker_rack[model.directory_broker].tolist()]
    named = [model.directory_name(directory) for directory in range(len(racks))]
    capacities = zip(named, racks, model.capacity_bytes.tolist(), strict=True)
    places = [(broker, rack, path, capacity) for (broker, path), rack, capacity in capacities]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        partition = model.replica_partition
        topics = [model.topics[topic] for topic in model.partition_topic[partition].tolist()]
        numbers, sizes = model.partition_numbers[partition].tolist(), model.replica_bytes.tolist()
        leads, directories = model.is_leader.astype(np.int64).tolist(), model.replica_directory.tolist()
        rows = zip(directories, topics, numbers, sizes, leads, strict=True)
        writer.writerows((*places[directory], *more) for directory, *more in rows)
        is_empty = np.bincount(model.replica_directory, minlength=len(places)) == 0
        writer.writerows((*places[directory], "", "", "", "") for directory in np.flatnonzero(is_empty).tolist())


def reassignment(plan: ClusterPlan) -> dict[str, Any]:
    """Return the whole plan as the content of ``kafka-reassign-partitions.sh --reassignment-json-file``."""
    return to_json(assignments(plan.before, plan.moves))


def steps(plan: ClusterPlan, tools: Tools | None = None) -> dict[str, Any]:
    """Return the waves in order; each may begin once those that it names are done and their old files are deleted.

    ``worst_ratio`` is a directory's fill ratio with every copy of the wave, and of those that may still run, there and
    nothing deleted yet. With the tools of a real cluster there are commands: those of the waves, and before and after
    them those of the throttles.
    """
    name, limits = f"{name_of(plan)}.json", throttles(plan)
    waves, done = list[dict[str, Any]](), dict[int, int]()
    for number, wave in enumerate(plan.waves, start=1):
        step = {"wave": number, "after": [one + 1 for one in wave.after], **_step(plan, wave, done)}
        if tools is not None:
            file = f"{name_of(plan)}-wave-{number}.json"
            step["commands"] = tools.reassign(step["reassignment"], file, limits=Limits(), beside=number > 1)
        waves.append(step)
        done |= {move.replica: move.target for move in wave.moves}
    around = None if tools is None else (tools.set_limits(limits, name), tools.clear_limits(limits, name))
    return forms.steps(str(plan.task.mode), waves, around)


def name_of(plan: ClusterPlan) -> str:
    """Return what the files of a plan's commands begin with."""
    return f"logdirwatch-{plan.task.mode.kind.value}"


def throttles(plan: ClusterPlan) -> Limits:
    """Return the throttles of a plan and of its undo."""
    limits = plan.task.limits
    within = [move for move in plan.moves if move.is_within]
    between = [move for move in plan.moves if not move.is_within]
    return joined(
        of_plan(to_json(assignments(plan.before, moves)), **rates)
        for one_way, rates in (
            (within, {"log_dir_rate": limits.log_dir_throttle_bytes_per_s, "rate": None}),
            (between, {"log_dir_rate": None, "rate": limits.replication_throttle_bytes_per_s}),
        )
        for moves in (one_way, _back(one_way))
    )


def _back(moves: Iterable[Move]) -> list[Move]:
    return [replace(move, target=move.source) for move in moves]


def _step(plan: ClusterPlan, wave: Wave, done: Mapping[int, int]) -> dict[str, Any]:
    model, limits = plan.before, plan.task.limits
    name = model.directory_name
    moves = [
        forms.move(model.partition_name(move.partition), move.size_bytes, name(move.source), name(move.target))
        for move in wave.moves
    ]
    fills = [
        forms.fill(name(fill.directory), int(model.capacity_bytes[fill.directory]), *fill[1:]) for fill in wave.fills
    ]
    is_within = [move.is_within for move in wave.moves]
    step = forms.step(
        moves,
        fills,
        assignments(model, wave.moves, done),
        needs_ms=wave.ends_ms - wave.begins_ms,
        log_dir_bytes_per_s=limits.log_dir_throttle_bytes_per_s if any(is_within) else None,
        replication_bytes_per_s=None if all(is_within) else limits.replication_throttle_bytes_per_s,
    )
    return {"begins_ms": wave.begins_ms, **step}


def assignments(model: ClusterModel, moves: Iterable[Move], done: Mapping[int, int] | None = None) -> list[Assignment]:
    """Return the partitions that moves change, with their new assignment; ``done`` are directories of earlier moves."""
    targets = {move.replica: move.target for move in moves}
    there = {**(done or {}), **targets}
    found = []
    for partition in dict.fromkeys(int(model.replica_partition[replica]) for replica in targets):
        replicas = model.replicas_of(partition)
        now = [model.directory_name(there.get(r, int(model.replica_directory[r]))) for r in replicas]
        paths = tuple(path if r in targets else ANY for r, (_, path) in zip(replicas, now, strict=True))
        found.append(Assignment(*model.partition_name(partition), tuple(broker for broker, _ in now), paths))
    return found


EXACT_COPIES = 10_000
"""Of more copies the sizes are rounded: the journal has room for 100,000 that differ in 8 bits, not in 40."""


def operations(plan: ClusterPlan) -> list[Operation]:
    """Return the operation of a plan: its copies in the order in which they begin, its undo in the opposite one."""
    there, here = (to_json(assignments(plan.before, moves)) for moves in (plan.moves, _back(plan.moves)))
    limits, rolling = throttles(plan), _rolling(plan)
    name, settle_ms = f"{name_of(plan)}.json", plan.before.delete_delay_ms
    return [reassign(there, here, name, limits=limits, back=limits, rolling=rolling, settle_ms=settle_ms)]


def _rolling(plan: ClusterPlan) -> tuple[Rolling, Rolling]:
    """Return what decides when each partition begins, and on the way back, after all of it."""
    model, limits = plan.before, plan.task.limits
    size_of = _rounded if len(plan.moves) > EXACT_COPIES else int
    number_of = {name: number for number, name in enumerate(dict.fromkeys(move.partition for move in plan.moves))}
    copies, before, after = list[RollingCopy](), dict[int, int](), Counter[int]()
    most = model.limits_bytes(limits.destination_max_ratio)
    for move in plan.moves:
        size_bytes, at = size_of(move.size_bytes), model.replicas_of(move.partition).index(move.replica)
        copies.append(RollingCopy(partition=number_of[move.partition], replica=at, bytes=size_bytes))
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
