"""Where Kafka may create a new replica, and how many bytes that adds where the plan does not want them.

``kafka-reassign-partitions`` changes the assignment first and the directories afterwards. Kafka creates a new replica
in the directory of its broker with the fewest logs (Kafka 4.3.1 ``LogManager.nextLogDirs``) unless the broker already
knows the wanted one, and then copies it from there at the rate that ``replica.alter.log.dirs.io.max.bytes.per.second``
leaves. :func:`passing_bytes` decides this for snapshots (``capacity.projected_use``) and for models alike.
"""

from collections.abc import Mapping, Sequence
from typing import TypeVar

Dir = TypeVar("Dir")
"""A directory of one broker: its path, or its index in a model."""


def passing_bytes(counts: Mapping[Dir, int], landed: Sequence[tuple[int, Dir | None]]) -> dict[Dir, int]:
    """Return, by directory of one broker, the most bytes created there for replicas meant for other directories.

    ``counts`` are the logs that Kafka counts in each directory that is not cordoned; ``landed`` are the new replicas of
    one wave, each its size in bytes and its intended directory (None: any). Such a replica takes its full size where it
    is created until it has moved.
    """
    return {directory: sum(passing_sizes(counts, landed, directory)) for directory in counts}


def passing_sizes(counts: Mapping[Dir, int], landed: Sequence[tuple[int, Dir | None]], directory: Dir) -> list[int]:
    """Return the sizes of the replicas that, at worst, are created in a directory and meant for another."""
    births = most_births(counts, targets(counts, landed), directory, len(landed))
    return sorted((size for size, target in landed if target != directory), reverse=True)[:births]


def targets(counts: Mapping[Dir, int], landed: Sequence[tuple[int, Dir | None]]) -> dict[Dir, int]:
    """Return how many of the new replicas are meant for each directory."""
    found = dict.fromkeys(counts, 0)
    for _, target in landed:
        if target is not None and target in found:
            found[target] += 1
    return found


def most_births(counts: Mapping[Dir, int], targeted: Mapping[Dir, int], directory: Dir, new: int) -> int:
    """Return how many of ``new`` replicas can at most be created in a directory.

    Kafka takes the directory with the fewest logs each time, ties in any order; meanwhile copies to ``targeted``
    directories raise their counts. The n-th creation there requires that every other directory has reached its count.
    """
    births = 0
    while births < new:
        level = counts[directory] + births
        elsewhere = sum(
            max(0, level - count - targeted[other]) for other, count in counts.items() if other != directory
        )
        if elsewhere + births + 1 > new:
            break
        births += 1
    return births
