"""The files of a plan: the model as CSV, the plan for Kafka's tool, and its waves."""

import csv
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from logdirwatch.plan.balance import waves as schedule
from logdirwatch.plan.balance.model.cluster import ClusterModel, Numbers
from logdirwatch.plan.balance.model.csv_lines import HEADER
from logdirwatch.plan.balance.planner import ClusterPlan
from logdirwatch.plan.balance.waves import Fill, Move, Wave
from logdirwatch.plan.cluster.assignment import ANY, Assignment, to_json
from logdirwatch.plan.commands.kafka_tools import Tools
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
    """Return the waves in order; each can be carried out once the previous one is done and its old files are deleted.

    ``worst_ratio`` is a directory's fill ratio with every copy of the wave there and nothing deleted yet. With the
    tools of a real cluster a wave has commands, which set its throttles and clear them at the end.
    """
    done: dict[int, int] = {}
    found = []
    for number, wave in enumerate(plan.waves, start=1):
        step = {"wave": number, **_step(plan, wave, done)}
        found.append(step if tools is None else {**step, "commands": _commands(plan, number, step, tools)})
        done |= {move.replica: move.target for move in wave.moves}
    return forms.steps(str(plan.task.mode), found)


def _step(plan: ClusterPlan, wave: Wave, done: dict[int, int]) -> dict[str, Any]:
    model, limits = plan.before, plan.task.limits
    is_within = [schedule.is_within_broker(model, move) for move in wave.moves]
    return forms.step(
        [_move(model, move) for move in wave.moves],
        [_fill(model, fill) for fill in wave.fills],
        assignments(model, wave.moves, done),
        needs_ms=schedule.needs_ms(model, wave, limits),
        log_dir_bytes_per_s=limits.log_dir_throttle_bytes_per_s if any(is_within) else None,
        replication_bytes_per_s=None if all(is_within) else limits.replication_throttle_bytes_per_s,
    )


def _commands(plan: ClusterPlan, number: int, step: Mapping[str, Any], tools: Tools) -> list[str]:
    """Return the commands of a wave.

    Kafka may create a new replica in another directory than planned; no throttle delays its way to the planned one.
    """
    name = f"logdirwatch-{plan.task.mode.kind.value}-wave-{number}.json"
    throttle = step["throttle"]
    return tools.reassign(
        step["reassignment"],
        name,
        log_dir_rate=throttle["log_dir_bytes_per_s"],
        rate=throttle["replication_bytes_per_s"],
    )


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
