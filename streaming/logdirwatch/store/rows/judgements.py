"""The newest judgement of each broker, which states have."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

from logdirwatch.parse.decoding import Decoder
from logdirwatch.store.rows.thin import Placed

Broker: TypeAlias = tuple[str, int]


class View(NamedTuple):
    """The judgement of a directory."""

    status: str
    since_ms: int | None


class Judgement(NamedTuple):
    """The judgement of a broker; ``views`` are those of its directories by path."""

    sequence: int
    status: str
    since_ms: int
    views: Mapping[str, View]


Judged: TypeAlias = Mapping[Broker, Judgement]


def is_changed(before: Judgement | None, now: Judgement | None) -> bool:
    """Whether a judgement differs from an earlier one; the number of the record does not matter."""
    return before is None or now is None or before[1:] != now[1:]


class _View(Struct):
    path: str
    status: str
    since_ms: int


class _Record(Struct):
    cluster: str
    broker: int
    sequence: int
    status: str
    since_ms: int
    log_dirs: list[_View]


_DECODER = Decoder(_Record)


def judgements(records: Iterable[str]) -> dict[Broker, Judgement]:
    """Return the judgements in state records, one per broker.

    Raises NotReadableError for anything else.
    """
    found = (_DECODER.decode(text) for text in records)
    return {(record.cluster, record.broker): _judgement(record) for record in found}


def essence(record: str) -> str:
    """Return a state record without what no judgement needs, which is nearly all of it."""
    return msgspec.json.encode(_DECODER.decode(record)).decode()


def _judgement(record: _Record) -> Judgement:
    views = {view.path: View(view.status, view.since_ms) for view in record.log_dirs}
    return Judgement(record.sequence, record.status, record.since_ms, views)


def judged_brokers(stored: Judged, states: Iterable[Placed]) -> dict[Broker, Judgement]:
    """Return the newest judgement of each broker: the stored one, or that of a new state."""
    return {**stored, **judgements(state.thin.record or "" for state in unstored(states, stored))}


def after_tombstones(states: Iterable[Placed], deleted: Iterable[Placed]) -> list[Placed]:
    """Return the states that no later tombstone of their broker voids."""
    gone = {(placed.thin.cluster, placed.thin.broker): placed.position.offset for placed in deleted}
    return [state for state in states if state.position.offset > gone.get((state.thin.cluster, state.thin.broker), -1)]


def unstored(states: Iterable[Placed], stored: Judged) -> list[Placed]:
    """Return the states that are newer than what ``broker_state`` has."""
    return [state for state in states if _is_newer(state, stored)]


def _is_newer(state: Placed, stored: Judged) -> bool:
    assert state.thin.cluster is not None
    assert state.thin.broker is not None
    known = stored.get((state.thin.cluster, state.thin.broker))
    return known is None or state.thin.rank > known.sequence
