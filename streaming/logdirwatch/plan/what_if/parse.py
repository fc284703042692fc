"""The supported changes by name; they are applied in this order, whatever order they are given in."""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from logdirwatch.plan.proposal import Policy
from logdirwatch.plan.what_if import changes
from logdirwatch.plan.what_if.scenario import Scenario, refused
from logdirwatch.text.words import did_you_mean

MOST_CHANGES = 20


class Change(Protocol):
    """One change to a cluster."""

    @property
    def written(self) -> str:
        """The change as it was given."""

    def apply(self, scenario: Scenario, policy: Policy) -> Scenario:
        """Return the cluster after the change; raises UserError if it does not fit this cluster."""


# What is there is settled before what is lost: a new disk takes what a lost broker held.
KINDS: Mapping[str, tuple[Callable[[str, str], Change], str]] = {
    "growth": (changes.parse_growth, changes.GROWTH_EXAMPLE),
    "retention": (changes.parse_retention, changes.RETENTION_EXAMPLE),
    "add-disks": (changes.parse_disks, changes.DISKS_EXAMPLE),
    "lose-broker": (changes.parse_broker, changes.BROKER_EXAMPLE),
}
EXAMPLES = ", ".join(example for _, example in KINDS.values())


def parse(texts: Iterable[str]) -> list[Change]:
    """Read changes such as ``lose-broker=7``; raises UserError, one line, for an invalid one."""
    found = [_parsed(text.strip()) for text in texts]
    if len(found) > MOST_CHANGES:
        raise refused(f"({len(found)} of them)", f"at most {MOST_CHANGES} at once")
    order = list(KINDS)
    return [change for _, change in sorted(found, key=lambda one: order.index(one[0]))]


def _parsed(text: str) -> tuple[str, Change]:
    name, separator, value = text.partition("=")
    if name not in KINDS or not separator:
        raise refused(text, f"there is no such change{did_you_mean(name, KINDS)}; write one such as {EXAMPLES}")
    parse_value, _ = KINDS[name]
    return name, parse_value(value.strip(), text)
