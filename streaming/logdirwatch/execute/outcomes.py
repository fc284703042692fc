"""What can come of looking at a step: calls, a wait, its end, or that a person has to look."""

from dataclasses import dataclass

from logdirwatch.execute.calls import Call
from logdirwatch.plan.commands.throttles import Limit


@dataclass(frozen=True)
class Progress:
    """Bytes of the copies of one step, and its partitions that are where they are to be."""

    copied_bytes: int
    total_bytes: int
    reached: int
    of: int


@dataclass(frozen=True)
class Do:
    """Make these calls, in this order; ``limits`` are those that they set."""

    calls: tuple[Call, ...]
    limits: tuple[Limit, ...] = ()


@dataclass(frozen=True)
class Wait:
    """Look again later; ``progress`` None where nothing is copied."""

    progress: Progress | None
    why: str | None = None


@dataclass(frozen=True)
class Reached:
    """The step is done; ``told`` are lines for people."""

    told: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stuck:
    """Nothing may be done: a person has to look."""

    reason: str


Next = Do | Wait | Reached | Stuck


def not_shown(partition: str) -> str:
    """Say that Kafka does not list a partition: it hides what a user may not describe, and calls it unknown."""
    return f"{partition} does not exist any more, or the ACL Describe on its topic is missing"
