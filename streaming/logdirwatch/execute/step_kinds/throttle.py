"""Throttles for the duration of the moves, each set only where none is set; those of others stay."""

from collections.abc import Sequence
from dataclasses import dataclass

from logdirwatch.execute.calls import ChangeConfig
from logdirwatch.execute.outcomes import Do, Next, Reached
from logdirwatch.execute.seen import Seen
from logdirwatch.plan.commands.throttles import Limit, Limits


@dataclass(frozen=True)
class Throttle:
    """Throttles for the duration of the moves."""

    limits: Limits

    def __str__(self) -> str:
        return f"set throttles where none is set: {'; '.join(one.text for one in self.limits)}"


def decide(step: Throttle, seen: Seen, ours: Sequence[Limit]) -> Next:
    """Return what to do; ``ours`` are the throttles that this execution has recorded as its own."""
    missing = [one for one in step.limits if _value_of(one, seen) is None]
    if missing:
        return Do(tuple(ChangeConfig(*one) for one in missing), tuple(missing))
    foreign = [one for one in step.limits if one not in ours or _value_of(one, seen) != one.value]
    return Reached(
        tuple(f"{one.key} of {one.name} is set by somebody else ({_value_of(one, seen)}) and stays" for one in foreign)
    )


def limits_to_clear(ours: Sequence[Limit], seen: Seen) -> list[ChangeConfig]:
    """Return the calls that delete our throttles that still have our value."""
    return [ChangeConfig(one.entity, one.name, one.key, None) for one in ours if _value_of(one, seen) == one.value]


def _value_of(one: Limit, seen: Seen) -> str | None:
    return seen.configs.get((one.entity, one.name), {}).get(one.key)
