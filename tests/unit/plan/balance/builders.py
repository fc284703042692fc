"""Clusters small enough to read, and what a plan's files do to them, worked out on plain dictionaries."""

import re
from collections import Counter
from functools import cache

from logdirwatch.plan.balance.model.cluster import ClusterModel, Placed
from logdirwatch.plan.balance.model.task import Task, parse_mode
from logdirwatch.plan.balance.planner import make_plan
from logdirwatch.plan.settings import PlanSettings


def at(broker, path="/a", capacity=1000, rack=None, **replicas):
    """A directory and what is in it: ``t0=300`` is partition 0 of topic t, with 300 bytes. Each broker is a rack."""
    return broker, path, capacity, f"r{broker}" if rack is None else rack, replicas


def cluster(*directories):
    """A model; a partition's replicas are in the order in which they are named, the first one leads."""
    rows = [(_named(name), d[:2], size) for d in directories for name, size in d[4].items()]
    led = set()
    return ClusterModel.of(
        {d[0]: d[3] for d in directories},
        {d[:2]: d[2] for d in directories},
        [Placed(key, place, size, not (key in led or led.add(key))) for key, place, size in rows],
    )


def _named(name):
    topic, number = re.fullmatch(r"(.*?)(\d+)", name).groups()
    return topic, int(number)


def planned(model, mode, tolerance=0.09, **limits):
    return make_plan(model, Task(parse_mode(mode), PlanSettings(**limits), tolerance))


def layout(model):
    """By partition, in the order of preference: broker, path and size of each replica."""
    return {
        model.partition_name(partition): [
            (*model.directory_name(int(model.replica_directory[r])), int(model.replica_bytes[r]))
            for r in model.replicas_of(partition)
        ]
        for partition in range(len(model.partition_topic))
    }


def moved(plan):
    """What moves: partition, from where, to where, as ``t0 1/a 1/b``."""
    found = []
    for move in plan.moves:
        topic, number = plan.before.partition_name(int(plan.before.replica_partition[move.replica]))
        (source, source_path), (target, path) = map(plan.before.directory_name, (move.source, move.target))
        found.append(f"{topic}{number} {source}{source_path} {target}{path}")
    return sorted(found)


def used(model):
    """By broker and path: the bytes in a directory."""
    return {model.directory_name(d): int(model.used_bytes[d]) for d in range(len(model.capacity_bytes))}


def applied(placed, reassignment):
    """Carry a reassignment out as Kafka's tool does: a broker that stays keeps its replica where ``any`` is asked."""
    after = dict(placed)
    for entry in reassignment["partitions"]:
        before = placed[entry["topic"], entry["partition"]]
        kept = {broker: (path, size) for broker, path, size in before}
        gone = [size for broker, _, size in before if broker not in entry["replicas"]]
        after[entry["topic"], entry["partition"]] = [
            (broker, kept[broker][0] if path == "any" else path, kept[broker][1] if broker in kept else gone.pop(0))
            for broker, path in zip(entry["replicas"], entry["log_dirs"], strict=True)
        ]
    return after


def worst_fills(placed, wave):
    """By broker and path: the bytes with every copy of a wave there and nothing deleted yet."""
    worst = Counter()
    for replicas in placed.values():
        for broker, path, size in replicas:
            worst[broker, path] += size
    for move in wave["moves"]:
        worst[move["to_broker"], move["to_log_dir"]] += move["size_bytes"]
    return worst


def most_born(placed, wave, brokers):
    """By broker and path: the most bytes that Kafka may create there in a wave and that belong elsewhere.

    Every order of the new replicas and every tie is tried; a new replica's copy may count in its target or not.
    """
    found = Counter()
    for broker, paths in brokers.items():
        logs = Counter(path for replicas in placed.values() for number, path, _ in replicas if number == broker)
        coming = tuple(
            (move["size_bytes"], move["to_log_dir"])
            for move in wave["moves"]
            if move["to_broker"] == broker != move["from_broker"]
        )
        for path in paths:
            counts = tuple(sorted((other, logs[other]) for other in paths))
            found[broker, path] = _most_born(counts, tuple(sorted(coming)), path)
    return found


@cache
def _most_born(counts, coming, path):
    fewest = min(count for _, count in counts)
    most = 0
    for at, (size, target) in enumerate(coming):
        left = coming[:at] + coming[at + 1 :]
        for born, count in counts:
            if count == fewest:
                bytes_there = size if born == path != target else 0
                for raised in ({born}, {born, target}):
                    after = tuple((other, number + (other in raised)) for other, number in counts)
                    most = max(most, bytes_there + _most_born(after, left, path))
    return most
