"""The accuracy of the actions by kind: how they ended, and their expected against their observed effect. Pure.

Only observations count: an action whose start was not observed has no time, one whose effect no inventory can show has
no bytes. Times are observed by inventories, so they are late by up to one inventory interval.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from rich.console import RenderableType
from rich.text import Text

from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionStatus
from logdirwatch.report.layout import listing
from logdirwatch.text.units import human_bytes, human_ms, human_ratio

ENDED = (ActionStatus.DONE, ActionStatus.FAILED)
_BYTES = ("frees_bytes", "copies_bytes")
"""What an action is expected to free or copy; observed under the same name."""


class Compared(NamedTuple):
    """Expected against observed, summed over the actions that have both."""

    actions: int
    expected: int
    observed: int

    @property
    def ratio(self) -> float | None:
        """Observed divided by expected; None if nothing was expected."""
        return self.observed / self.expected if self.expected else None


class Record(NamedTuple):
    """One kind of action."""

    kind: str
    proposed: int
    done: int
    failed: int
    rejected: int
    other: int
    open: int
    size: Compared | None
    time: Compared | None


def accuracy(revisions: Iterable[ActionRecord]) -> list[Record]:
    """Return the accuracy of every kind from all known revisions, each counted once.

    An action that was done and proposed again under its identity counts as often as it ended.
    """
    by_kind: defaultdict[str, dict[tuple[str, int], ActionRecord]] = defaultdict(dict)
    for action in revisions:
        by_kind[str(action.kind)][action.action_id, action.revision] = action
    return [_record(kind, by_kind[kind]) for kind in sorted(by_kind)]


def as_data(records: Iterable[Record]) -> list[dict[str, Any]]:
    """Return the accuracy for programs."""
    return [
        {**record._asdict(), "size": _compared_data(record.size), "time": _compared_data(record.time)}
        for record in records
    ]


def view(records: list[Record], width: int) -> RenderableType:
    """Return the accuracy for people, at most ``width`` columns wide."""
    rows = [
        (
            Text(record.kind),
            Text(f"{record.done} done, {record.failed} failed"),
            Text(_rest(record)),
            Text(_told(record.size, human_bytes)),
            Text(_told(record.time, human_ms)),
        )
        for record in records
    ]
    return listing(("action", "ended", "else", "bytes", "time"), rows, width)


def _record(kind: str, revisions: Mapping[tuple[str, int], ActionRecord]) -> Record:
    ended = [action for action in revisions.values() if action.status in ENDED]
    done = [action for action in ended if action.status is ActionStatus.DONE]
    latest = {identity: revisions[identity, revision] for identity, revision in sorted(revisions)}
    states = Counter(action.status for action in latest.values() if action.status not in ENDED)
    open_now = sum(states[status] for status in (ActionStatus.PROPOSED, ActionStatus.ACCEPTED, ActionStatus.RUNNING))
    return Record(
        kind=kind,
        proposed=len(latest),
        done=len(done),
        failed=len(ended) - len(done),
        rejected=states[ActionStatus.REJECTED],
        other=states.total() - open_now - states[ActionStatus.REJECTED],
        open=open_now,
        size=_compared([pair for action in done if (pair := _bytes(action)) is not None]),
        time=_compared([pair for action in done if (pair := _time(action)) is not None]),
    )


def _bytes(action: ActionRecord) -> tuple[int, int] | None:
    for name in _BYTES:
        expected, observed = action.expected.get(name), (action.observed or {}).get(name)
        if isinstance(expected, int) and expected > 0 and isinstance(observed, int):
            return expected, observed
    return None


def _time(action: ActionRecord) -> tuple[int, int] | None:
    expected, observed = action.expected.get("needs_ms"), (action.observed or {}).get("took_ms")
    return (expected, observed) if isinstance(expected, int) and isinstance(observed, int) else None


def _compared(pairs: list[tuple[int, int]]) -> Compared | None:
    if not pairs:
        return None
    return Compared(len(pairs), sum(expected for expected, _ in pairs), sum(observed for _, observed in pairs))


def _compared_data(found: Compared | None) -> dict[str, Any] | None:
    return None if found is None else {**found._asdict(), "ratio": found.ratio}


def _rest(record: Record) -> str:
    parts = ((record.open, "open"), (record.rejected, "rejected"), (record.other, "no longer needed"))
    return ", ".join(f"{count} {what}" for count, what in parts if count) or "-"


def _told(found: Compared | None, human: Any) -> str:
    if found is None:
        return "nothing observed"
    share = "" if found.ratio is None else f", {human_ratio(found.ratio, 0)}"
    times = "" if found.actions == 1 else f" over {found.actions}"
    return f"{human(found.observed)} of {human(found.expected)} expected{share}{times}"
