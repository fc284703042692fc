"""The judge of plans: it reads the files that a planner leaves and shares nothing with any planner.

    python bench/planner_judge.py BEFORE.csv AFTER.csv [--tolerance 0.09] [--reassignment R.json] [--steps S.json]

Bounds: to bring every unit within the tolerance of its mean, what lies above must leave and what is missing below must
come; one byte can do both, so no plan copies less than the larger of the two. As long as no replica leaves its rack,
this holds in each rack by itself.
"""

import argparse
import csv
import json
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

LIMIT = 0.85

Directory = tuple[int, str]
Partition = tuple[str, int]


class Replica(NamedTuple):
    broker: int
    path: str
    size: int


@dataclass
class Cluster:
    capacity: dict[Directory, int] = field(default_factory=dict)
    rack: dict[int, str] = field(default_factory=dict)
    replicas: dict[Partition, list[Replica]] = field(default_factory=dict)
    leader: dict[Partition, int] = field(default_factory=dict)

    def used(self) -> Counter[Directory]:
        found = Counter(dict.fromkeys(self.capacity, 0))
        for replicas in self.replicas.values():
            for replica in replicas:
                found[replica.broker, replica.path] += replica.size
        return found


@dataclass(frozen=True)
class Verdict:
    moves: int
    moved_bytes: int
    moved_between_brokers: int
    leaders_moved: int
    twice_on_a_broker: int
    racks_lost: int
    replicas_changed: int
    over_limit: int
    busiest_ms: float
    bound_disks: int
    bound_brokers: int
    bound_all: int
    bound_brokers_in_racks: int
    bound_all_in_racks: int
    outside_disks: int
    outside_brokers: int
    outside_all: int
    fullest_before: float
    fullest_after: float
    fullest_broker_before: float
    fullest_broker_after: float
    spread_after: float
    broker_spread_after: float


def read(path: Path) -> Cluster:
    cluster = Cluster()
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            broker, disk = int(row["broker"]), row["disk"]
            cluster.capacity[broker, disk] = int(row["capacity_bytes"])
            cluster.rack[broker] = row["rack"]
            if row["topic"]:
                key = row["topic"], int(row["partition"])
                if row["is_leader"] == "1":
                    cluster.leader[key] = broker
                cluster.replicas.setdefault(key, []).append(Replica(broker, disk, int(row["size_bytes"])))
    return cluster


def judge(before: Cluster, after: Cluster, tolerance: float, steps: Mapping[str, Any] | None = None) -> Verdict:
    old, new = before.used(), after.used()
    old_brokers, new_brokers, capacity = _brokers(old), _brokers(new), _brokers(before.capacity)
    fleet = sum(old.values()) / sum(before.capacity.values())
    own_before = {place: old_brokers[place[0]] / capacity[place[0]] for place in old}
    own_after = {place: new_brokers[place[0]] / capacity[place[0]] for place in old}
    everywhere, every_broker = dict.fromkeys(old, fleet), dict.fromkeys(capacity, fleet)
    own, racks = {place: place[0] for place in old}, {place: before.rack[place[0]] for place in old}
    fills = [new[place] / before.capacity[place] for place in old]
    broker_fills = [new_brokers[broker] / capacity[broker] for broker in capacity]
    return Verdict(
        **_moves(before, after),
        over_limit=0 if steps is None else over_limit(before, steps),
        busiest_ms=0 if steps is None else busiest_ms(before, steps),
        bound_disks=_bound(old, before.capacity, own_before, tolerance, own),
        bound_brokers=_bound(old_brokers, capacity, every_broker, tolerance, {}),
        bound_all=_bound(old, before.capacity, everywhere, tolerance, {}),
        bound_brokers_in_racks=_bound(old_brokers, capacity, every_broker, tolerance, before.rack),
        bound_all_in_racks=_bound(old, before.capacity, everywhere, tolerance, racks),
        outside_disks=_outside(new, before.capacity, own_after, tolerance),
        outside_brokers=_outside(new_brokers, capacity, every_broker, tolerance),
        outside_all=_outside(new, before.capacity, everywhere, tolerance),
        fullest_before=max(old[place] / before.capacity[place] for place in old),
        fullest_after=max(fills),
        fullest_broker_before=max(old_brokers[broker] / capacity[broker] for broker in capacity),
        fullest_broker_after=max(broker_fills),
        spread_after=statistics.pstdev(fills),
        broker_spread_after=statistics.pstdev(broker_fills),
    )


def over_limit(before: Cluster, steps: Mapping[str, Any]) -> int:
    """Count directories above the limit, or what they held, whenever a wave begins: its copies count at once.

    What they leave counts until the wave has ended, old files deleted.
    """
    used, limit = before.used(), {}
    for place, held in used.items():
        limit[place] = max(LIMIT * before.capacity[place], held)
    events = [(wave["begins_ms"] + wave["needs_ms"], 0, wave) for wave in steps["waves"]]
    events += [(wave["begins_ms"], 1, wave) for wave in steps["waves"]]
    found = 0
    for _, begins, wave in sorted(events, key=lambda event: event[:2]):
        for move in wave["moves"]:
            if begins:
                used[move["to_broker"], move["to_log_dir"]] += move["size_bytes"]
            else:
                used[move["from_broker"], move["from_log_dir"]] -= move["size_bytes"]
        places = {(move["to_broker"], move["to_log_dir"]) for move in wave["moves"]} if begins else set()
        found += sum(used[place] > limit[place] for place in places)
    return found


def busiest_ms(before: Cluster, steps: Mapping[str, Any]) -> float:
    """Return how long the busiest broker receives, sends or copies within itself at the rates of the steps."""
    found: Counter[tuple[str, int]] = Counter()
    for wave in steps["waves"]:
        within, between = wave["throttle"]["log_dir_bytes_per_s"], wave["throttle"]["replication_bytes_per_s"]
        for move in wave["moves"]:
            to, leader = move["to_broker"], before.leader[move["topic"], move["partition"]]
            if to == move["from_broker"]:
                found["within", to] += move["size_bytes"] * 1000 / within
            else:
                found["receives", to] += move["size_bytes"] * 1000 / between
                found["sends", leader] += move["size_bytes"] * 1000 / between
    return max(found.values(), default=0)


def applied(before: Cluster, reassignment: Mapping[str, Any]) -> dict[Partition, list[Replica]]:
    """Carry a reassignment out: a broker that keeps its replica keeps its directory too where ``any`` is asked."""
    found = dict(before.replicas)
    for entry in reassignment["partitions"]:
        now = before.replicas[entry["topic"], entry["partition"]]
        paths = {replica.broker: replica.path for replica in now}
        found[entry["topic"], entry["partition"]] = [
            Replica(broker, paths[broker] if path == "any" else path, old.size)
            for broker, path, old in zip(entry["replicas"], entry["log_dirs"], now, strict=True)
        ]
    return found


def _moves(before: Cluster, after: Cluster) -> dict[str, int]:
    found: Counter[str] = Counter()
    racks = len(set(before.rack.values()))
    for key, old in before.replicas.items():
        new = after.replicas.get(key, [])
        places, brokers = {(r.broker, r.path) for r in old}, {r.broker for r in old}
        gone = [replica for replica in new if (replica.broker, replica.path) not in places]
        found["moves"] += len(gone)
        found["moved_bytes"] += sum(replica.size for replica in gone)
        found["moved_between_brokers"] += sum(replica.broker not in brokers for replica in gone)
        found["leaders_moved"] += not new or old[0].broker != new[0].broker
        found["twice_on_a_broker"] += len({replica.broker for replica in new}) < len(new)
        held = len({before.rack[replica.broker] for replica in old}) == min(len(old), racks)
        found["racks_lost"] += held and len({before.rack[replica.broker] for replica in new}) < min(len(old), racks)
        found["replicas_changed"] += Counter(r.size for r in old) != Counter(r.size for r in new)
    found["replicas_changed"] += len(after.replicas.keys() ^ before.replicas.keys())
    names = ("moves", "moved_bytes", "moved_between_brokers", "leaders_moved")
    return {name: found[name] for name in (*names, "twice_on_a_broker", "racks_lost", "replicas_changed")}


def _brokers(amounts: Mapping[Directory, int]) -> Counter[int]:
    found: Counter[int] = Counter()
    for (broker, _), amount in amounts.items():
        found[broker] += amount
    return found


def _bound(
    used: Mapping[Any, int],
    capacity: Mapping[Any, int],
    mean: Mapping[Any, float],
    tolerance: float,
    group: Mapping[Any, object],
) -> int:
    over: defaultdict[object, float] = defaultdict(float)
    under: defaultdict[object, float] = defaultdict(float)
    for unit, held in used.items():
        over[group.get(unit)] += max(0.0, held - mean[unit] * (1 + tolerance) * capacity[unit])
        under[group.get(unit)] += max(0.0, mean[unit] * (1 - tolerance) * capacity[unit] - held)
    return int(sum(max(over[name], under[name]) for name in over))


def _outside(used: Mapping[Any, int], capacity: Mapping[Any, int], mean: Mapping[Any, float], tolerance: float) -> int:
    return sum(abs(held / capacity[unit] - mean[unit]) > tolerance * mean[unit] + 1e-9 for unit, held in used.items())


def main(arguments: Iterable[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--tolerance", type=float, default=0.09)
    parser.add_argument("--reassignment", type=Path)
    parser.add_argument("--steps", type=Path)
    chosen = parser.parse_args(arguments)
    before, after = read(chosen.before), read(chosen.after)
    steps = json.loads(chosen.steps.read_text()) if chosen.steps else None
    for name, value in asdict(judge(before, after, chosen.tolerance, steps)).items():
        print(f"{name:24}{value:>20}" if isinstance(value, int) else f"{name:24}{value:>20.4f}")
    if chosen.reassignment:
        is_same = applied(before, json.loads(chosen.reassignment.read_text())) == after.replicas
        print(f"the reassignment applied to BEFORE gives {'AFTER' if is_same else 'SOMETHING ELSE'}")


if __name__ == "__main__":
    main()
