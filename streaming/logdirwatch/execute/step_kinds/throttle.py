"""Throttles for the duration of the moves, each set only where none is set; those of others stay."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from logdirwatch.execute.calls import ChangeConfig, Do, Next, Reached
from logdirwatch.execute.seen import Seen
from logdirwatch.model.vocabulary import THROTTLED_REPLICAS
from logdirwatch.plan.commands.throttles import Limit, Limits

_ALL = "*"
"""All replicas of a topic, in place of a list (Kafka's ``ThrottledReplicaListValidator``)."""


@dataclass(frozen=True)
class Throttle:
    """Throttles for the duration of the moves."""

    limits: Limits

    def without(self, topics: Collection[str]) -> "Throttle":
        """Return it without the lists of some topics."""
        kept = {topic: lists for topic, lists in self.limits.topics.items() if topic not in topics}
        return Throttle(replace(self.limits, topics=kept))

    def __str__(self) -> str:
        return f"set throttles where none is set: {'; '.join(one.text for one in self.limits)}"


def decide(step: Throttle, seen: Seen, ours: Sequence[Limit]) -> Next:
    """Return what to do; ``ours`` are the throttles that this execution has recorded as its own.

    A list of throttled replicas gets our entries beside those of others. A broker that does not answer copies nothing.
    """
    shown = [one for one in step.limits if one.entity == "topics" or int(one.name) not in seen.silent]
    missing = [added for one in shown if (added := _missing(one, _value_of(one, seen))) is not None]
    if missing:
        return Do(tuple(_merged(one, _value_of(one, seen)) for one in missing), tuple(missing))
    foreign = [one for one in shown if _kept_of_others(one, _value_of(one, seen), ours)]
    return Reached(
        tuple(f"{one.key} of {one.name} is set by somebody else ({_value_of(one, seen)}) and stays" for one in foreign)
    )


def limits_to_clear(ours: Sequence[Limit], seen: Seen) -> list[ChangeConfig]:
    """Return the calls that delete our throttles that still have our value, and our entries of lists."""
    return [call for one in ours if (call := _cleared(one, _value_of(one, seen))) is not None]


def _missing(one: Limit, now: str | None) -> Limit | None:
    """Return what is not set of a throttle: all of it, or entries of its list."""
    if not now:
        return one
    if one.key not in THROTTLED_REPLICAS or _ALL in (now, one.value):
        return None
    left = [entry for entry in entries_of(one.value) if entry not in entries_of(now)]
    return one._replace(value=",".join(left)) if left else None


def _merged(one: Limit, now: str | None) -> ChangeConfig:
    return ChangeConfig(one.entity, one.name, one.key, f"{now},{one.value}" if now else one.value)


def _kept_of_others(one: Limit, now: str | None, ours: Sequence[Limit]) -> bool:
    if one.key not in THROTTLED_REPLICAS:
        return one not in ours or now != one.value
    own = {entry for limit in ours if limit[:3] == one[:3] for entry in entries_of(limit.value)}
    return not set(entries_of(one.value)) <= own or not set(entries_of(now or "")) <= own


def _cleared(one: Limit, now: str | None) -> ChangeConfig | None:
    if now is None or (one.key not in THROTTLED_REPLICAS and now != one.value):
        return None
    left = [entry for entry in entries_of(now) if entry not in entries_of(one.value)]
    if left == entries_of(now):
        return None
    return ChangeConfig(one.entity, one.name, one.key, ",".join(left) or None)


def entries_of(value: str) -> list[str]:
    """Return the entries of a list of throttled replicas."""
    return [entry for part in value.split(",") if (entry := part.strip())]


def _value_of(one: Limit, seen: Seen) -> str | None:
    return seen.configs.get((one.entity, one.name), {}).get(one.key)
