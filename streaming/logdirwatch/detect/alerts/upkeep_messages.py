"""The sentences about balance, moves and throttles."""

from collections.abc import Mapping

from logdirwatch.detect.alerts import hints
from logdirwatch.detect.alerts.messages import size
from logdirwatch.detect.state.broker_state import BrokerMemory, LogDirMemory
from logdirwatch.model.evidence.brokers import LogDirImbalanceEvidence, StalledMoves
from logdirwatch.text.words import some_of

_WAITS = "can wait until morning"
_NAMED = 3


def unequal(memory: BrokerMemory, found: LogDirImbalanceEvidence) -> str:
    """Say how unequally the directories of a broker are filled."""
    ends = ", ".join(
        f"{disk.log_dir} at {disk.used_ratio or 0:.1%}" for disk in (found.fullest, found.emptiest) if disk
    )
    return (
        f"Broker {memory.broker} has its directories filled unequally: {ends}; "
        f"{size(found.move_bytes or 0)} would have to move for all to be equally full; "
        f"{_WAITS}: yes, because space is left; a directory that runs out of it has an alert of its own"
    )


def uncleanable(
    memory: BrokerMemory, path: str | None, log_dir: LogDirMemory | None, named: list[str], *, fills: bool
) -> str:
    """Say on which partitions the log cleaner gave up, and what comes of it."""
    given_up = None if log_dir is None else hints.uncleanable(log_dir)
    what = given_up or f"its log cleaner gave up on {some_of(named, _NAMED)}"
    where = f"Broker {memory.broker} {path}" if path else f"Broker {memory.broker}"
    waits = "no, because the directory fills" if fills else "yes, while the directory has room"
    return f"{where}: {what}; what is no longer compacted only grows until the broker restarts; {_WAITS}: {waits}"


def moves_held_up(memory: BrokerMemory, found: Mapping[str, StalledMoves], at_ms: int) -> str:
    """Say which moves do not arrive, and what holds them back."""
    told = [f"{path}: {_held_up(move, at_ms)}" for path, move in list(found.items())[:_NAMED]]
    more = f" and {len(found) - _NAMED} more directories" if len(found) > _NAMED else ""
    return (
        f"Broker {memory.broker} waits for replicas that do not arrive: {'; '.join(told)}{more}; "
        f"{_WAITS}: yes, because the replicas that move still serve where they were; but both copies take space, and "
        "a move between directories holds retention back"
    )


def throttles_left(memory: BrokerMemory, limits: dict[str, int], listed: int) -> str:
    """Say which limits are still set though nothing moves."""
    told = [f"{key}={size(value)}/s" for key, value in sorted(limits.items())]
    if listed:
        told.append(f"{listed} of its replicas are on the topics' lists of throttled ones")
    return (
        f"Broker {memory.broker} still has limits set for moves, and nothing moves: {', '.join(told)}; "
        f"{_WAITS}: yes, because nothing fails by it; but replicas that fell behind catch up slowly"
    )


def _held_up(move: StalledMoves, at_ms: int) -> str:
    left, limit = f"{size(move.remaining_bytes or 0)} still to come", f"{size(move.throttle_bytes_per_s or 0)}/s"
    if move.verdict == "queued":
        return f"{left}, queued until one of the broker's other copies ends"
    if move.verdict == "stands_still":
        text = f"{left}, no progress for {_minutes(at_ms - (move.progress_ms or at_ms))}"
    elif move.ends_in_ms is None:
        text = f"{left}, and it does not get less"
    else:
        text = f"{left}, {move.ends_in_ms / 3_600_000:.0f} h at the present pace"
    if move.is_throttled_below_writes:
        return f"{text}: its limit of {limit} is below what is written"
    return f"{text}, under a limit of {limit}" if move.throttle else text


def _minutes(ms: int) -> str:
    return f"{ms // 60_000} min"
