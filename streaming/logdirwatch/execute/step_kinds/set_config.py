"""Setting one configuration value, only if its present value is the one that was planned on."""

from collections.abc import Sequence
from dataclasses import dataclass

from logdirwatch.execute.calls import ChangeConfig, Do, Next, Reached, Stuck
from logdirwatch.execute.seen import Seen


@dataclass(frozen=True)
class SetConfig:
    """One configuration value; ``before`` are the values that it may replace.

    None: the entity has no value of its own.
    """

    entity: str
    name: str
    key: str
    value: str | None
    before: tuple[str | None, ...]

    def __str__(self) -> str:
        what = f"{self.key} of {self.entity.removesuffix('s')} {self.name}"
        return f"delete {what}" if self.value is None else f"set {what} to {self.value}"


def decide(step: SetConfig, seen: Seen) -> Next:
    """Return what to do."""
    now = seen.configs.get((step.entity, step.name), {}).get(step.key)
    if _same(now, step.value):
        return Reached()
    if not any(_same(now, before) for before in step.before):
        return Stuck(
            f"{step.key} of {step.name} is {now or 'not set'}, not {_any_of(step.before)} as planned: somebody "
            "changed it, and it stays"
        )
    return Do((ChangeConfig(step.entity, step.name, step.key, step.value),))


def _same(found: str | None, wanted: str | None) -> bool:
    """Compare two values; Kafka shows a list that is deleted as an empty text."""
    return (found or None) == (wanted or None)


def _any_of(values: Sequence[str | None]) -> str:
    return " or ".join(value or "unset" for value in values)
