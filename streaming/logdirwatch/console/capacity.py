"""The capacity page: use by topic and owner, and a form for what-if changes."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from logdirwatch.errors import UserError
from logdirwatch.plan.what_if.parse import KINDS
from logdirwatch.plan.what_if.planner import Outcome
from logdirwatch.report.capacity import what_if as words
from logdirwatch.report.capacity.usage import Usage, cost, growth

SHOWN = 50
LONGEST = 200
"""Characters of one change; topics have up to 249 and are rarely typed."""
LABELS = {
    "add-disks": "Add disks (BROKER:COUNTxSIZE)",
    "lose-broker": "Lose a broker (BROKER)",
    "retention": "Retention of a topic (TOPIC:DURATION)",
    "growth": "Growth (TIMES)",
}


class Field(NamedTuple):
    """One field of the form: a kind of change, the input, and an example."""

    name: str
    label: str
    value: str
    example: str


@dataclass(frozen=True)
class Capacity:
    """The sources of the page: ``usage`` of the present month, and the effect of changes to a cluster.

    Changes to a large cluster take seconds of processor time, so one request is computed at a time.
    """

    usage: Callable[[], Usage]
    what_if: Callable[[str, Sequence[str]], Outcome]
    lock: threading.Lock = field(default_factory=threading.Lock)

    def tried(self, cluster: str, changes: Sequence[str]) -> Outcome:
        """Return the effect of changes; raises UserError for an invalid change, or if another one is being computed."""
        if not self.lock.acquire(blocking=False):
            raise UserError("another what-if is being worked out: try again in a few seconds")
        try:
            return self.what_if(cluster, changes)
        finally:
            self.lock.release()


def content(capacity: Capacity, typed: Mapping[str, str], usage: Usage | None, names: Sequence[str]) -> dict[str, Any]:
    """Return the variables of the template for an input; ``usage`` is None if it cannot be read.

    ``names`` are the clusters of the tables.
    """
    fields = [
        Field(name, label, typed.get(name, "").strip()[:LONGEST], KINDS[name][1].partition("=")[2])
        for name, label in LABELS.items()
    ]
    cluster = typed.get("cluster") or (names[0] if names else "")
    changes = [f"{one.name}={one.value}" for one in fields if one.value]
    outcome, refused = None, None
    if changes:
        try:
            outcome = capacity.tried(cluster, changes)
        except UserError as error:
            refused = str(error).removeprefix("plan: ")
    return {
        "fields": fields,
        "names": names,
        "cluster": cluster,
        "outcome": outcome,
        "refused": refused,
        "told": [] if outcome is None else list(words.told(outcome)),
        "changed": [] if outcome is None else [one for one in outcome.directories if one.before != one.after],
        "usage": usage,
        "shown": SHOWN,
        "used": words.used,
        "full": words.full,
        "grown": growth,
        "cost": cost,
    }
