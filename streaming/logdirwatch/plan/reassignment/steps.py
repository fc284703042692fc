"""The format of ``logdirwatch plan --steps``, the same for every mode."""

from collections.abc import Iterable, Sequence
from typing import Any

from logdirwatch.plan.cluster.assignment import Assignment, to_json
from logdirwatch.plan.cluster.layout import LogDirId, TopicPartition

Step = dict[str, Any]


def steps(
    mode: str, waves: Iterable[Step], around: tuple[Sequence[str], Sequence[str]] | None = None
) -> dict[str, Any]:
    """Return all steps in their order, with the commands before the first and after the last one, if there are any."""
    commands = {} if around is None else {"commands_before": around[0], "commands_after": around[1]}
    return {"version": 1, "mode": mode, **commands, "waves": list(waves)}


def step(
    moves: Sequence[Step],
    fills: Sequence[Step],
    assignments: Iterable[Assignment],
    *,
    needs_ms: float | None,
    log_dir_bytes_per_s: float | None,
    replication_bytes_per_s: float | None,
) -> Step:
    """Return what is copied at the same time, and the fill of directories; None: unknown, or no limit."""
    return {
        "moved_bytes": sum(move["size_bytes"] for move in moves),
        "needs_ms": needs_ms,
        "throttle": {
            "log_dir_bytes_per_s": log_dir_bytes_per_s,
            "replication_bytes_per_s": replication_bytes_per_s,
        },
        "moves": list(moves),
        "directories": list(fills),
        "reassignment": to_json(assignments),
    }


def move(partition: TopicPartition, size_bytes: int, source: tuple[int, str | None], target: LogDirId) -> Step:
    """Return one replica's move between directories, each a broker and a path; ``any`` is for the broker to choose."""
    return {
        "topic": partition[0],
        "partition": partition[1],
        "size_bytes": size_bytes,
        "from_broker": source[0],
        "from_log_dir": source[1],
        "to_broker": target[0],
        "to_log_dir": target[1],
    }


def fill(place: LogDirId, size_bytes: int, before_bytes: float, worst_bytes: float, after_bytes: float) -> Step:
    """Return the fill of a directory before a step, with every copy written and nothing deleted, and after it."""
    return {
        "broker": place[0],
        "log_dir": place[1],
        "before_ratio": before_bytes / size_bytes,
        "worst_ratio": worst_bytes / size_bytes,
        "after_ratio": after_bytes / size_bytes,
    }
