"""The input of ``fleet``: state records and tombstones, and the part of them that it keeps."""

from typing import NamedTuple

from logdirwatch.fleet.memory import BrokerDigest, DirDigest
from logdirwatch.fleet.restarts import absences
from logdirwatch.model.identity import Origin
from logdirwatch.model.record_part import in_common
from logdirwatch.model.records import LogDirView, StateRecord

_of_broker = in_common(StateRecord, BrokerDigest)
_of_log_dir = in_common(LogDirView, DirDigest)


class Seen(NamedTuple):
    """One record of ``logdir.state``; without a state it is a tombstone, and the broker was removed."""

    broker: int
    state: StateRecord | None
    origin: Origin


def is_newer(state: StateRecord, known: tuple[int, int] | None) -> bool:
    """Tell whether a record is newer than the one with that sequence and time.

    The sequence decides. When ``detect`` has lost its checkpoint, it counts from 1 again, and the time decides.
    """
    return known is None or state.sequence > known[0] or state.at_ms > known[1]


def digest(state: StateRecord, before: BrokerDigest | None, now_ms: int) -> BrokerDigest:
    """Return what is kept of a state record; an ongoing silence began when it was first seen."""
    since_ms = before.silent_at_ms if before is not None and before.is_silent else now_ms
    return BrokerDigest(
        **_of_broker(state)
        | {
            "log_dirs": [DirDigest(**_of_log_dir(view)) for view in state.log_dirs],
            "silent_at_ms": None if state.is_reported else since_ms,
            "away_since_ms": _away_since_ms(state, before),
            "flush_ms": _flush_ms(state, before),
            "absence_alerts": state.absence_alerts or {},
        }
    )


def _flush_ms(state: StateRecord, before: BrokerDigest | None) -> float | None:
    """Return the last known flush time of the broker: a missing metric does not make its disks faster."""
    return before.flush_ms if state.flush_ms is None and before is not None else state.flush_ms


def _away_since_ms(state: StateRecord, before: BrokerDigest | None) -> int | None:
    found = absences(state, None if before is None else before.away_since_ms)
    return found[-1].since_ms if found and found[-1].until_ms is None else None
