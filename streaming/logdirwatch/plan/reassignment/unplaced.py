"""Lost replicas without a place: why, and what would help."""

import re
from typing import Any

from logdirwatch.plan.proposal import Veto
from logdirwatch.plan.reassignment.replacement_replicas import Repair

EXAMPLES = 20
_CORDONED = re.compile(r"(?P<path>/.*) on broker (?P<broker>\d+) is cordoned$")
DEFAULT_REMEDY = "what stands against it gone"
REMEDIES = {
    "no_live_source": "the data itself, which only the lost copies hold: try to save this disk before it goes",
    "no_broker_left": "one broker more than the replication factor",
    "nothing_fits": "room on another broker: topics deleted, retention cut, a disk more or a bigger volume",
    "broker_not_alive": "bring back the brokers that are away",
    "partition_moving": "the end of the moves that run, or their cancelling",
    "partition_claimed": "the other reassignment done",
    "slower_than_writes": "a higher plan.replication_throttle_bytes_per_s, or fewer writes",
    "size_unknown": "an inventory that tells their sizes",
    "never_touch": "the configuration changed: plan.never_touch names them",
}


def unplaced(repair: Repair) -> dict[str, Any]:
    """Return which replicas cannot be rebuilt, why, and what would help, in the format of action records."""
    left = repair.unplaced
    return {
        "unplaced": [{"partition": one.label, **one.veto._asdict()} for one in left[:EXAMPLES]],
        "unplaced_count": len(left),
        "unplaced_bytes": None if any(one.size_bytes is None for one in left) else sum(_size(one) for one in left),
        "would_help": remedies(repair),
        "later": repair.later,
    }


def remedies(repair: Repair) -> list[str]:
    """Return what would help."""
    names = sorted({left.veto.name for left in repair.unplaced})
    vetoes = [left.veto for left in repair.unplaced if left.veto.name == "broker_not_alive"]
    away = {broker for veto in vetoes for broker in veto.about}
    closed = {found for left in repair.unplaced if (found := _CORDONED.match(left.veto.reason)) is not None}
    told = {
        "broker_not_alive": [f"bring broker {broker} back" for broker in sorted(away)],
        "nothing_fits": [
            f"uncordon {path} of broker {broker}, if the owner of the cordon agrees"
            for broker, path in sorted({(int(found["broker"]), found["path"]) for found in closed})
        ],
    }
    listed = (told.get(name) or [REMEDIES.get(name, DEFAULT_REMEDY)] for name in names)
    return list(dict.fromkeys(remedy for remedies in listed for remedy in remedies))


def nothing_fits(repair: Repair) -> str:
    """Say that no replica can be rebuilt, why, and what would help; empty if some can."""
    if repair.assignments or not repair.unplaced:
        return ""
    count = len(repair.unplaced) + repair.later
    none = "its only replica cannot" if count == 1 else f"none of its {count} replicas can"
    return f"; {none} be rebuilt elsewhere ({_reasons(repair)}). Would help: {'; '.join(remedies(repair))}"


def left_out(repair: Repair) -> str:
    """Say how many replicas are left to the next reassignment, and which have no place."""
    later = f"; {repair.later} more follow when these are done" if repair.later else ""
    if not repair.unplaced:
        return later
    return f"{later}; {len(repair.unplaced)} more cannot be rebuilt now ({_reasons(repair)})"


def _reasons(repair: Repair) -> str:
    by_name: dict[str, Veto] = {left.veto.name: left.veto for left in reversed(repair.unplaced)}
    return "; ".join(f"{name}: {veto.reason}" for name, veto in sorted(by_name.items()))


def _size(one: Any) -> int:
    return one.size_bytes or 0
