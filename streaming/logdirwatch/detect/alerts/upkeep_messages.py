"""The texts of alerts about balance, moves and throttles."""

from collections.abc import Mapping

from logdirwatch.detect.alerts import hints
from logdirwatch.detect.alerts.messages import size
from logdirwatch.detect.state.broker_state import BrokerMemory, LogDirMemory
from logdirwatch.model.evidence.brokers import LogDirImbalanceEvidence, StalledMoves
from logdirwatch.text.units import human_in, human_ms, human_rate, human_ratio
from logdirwatch.text.words import some_of

_WAITS = "can wait until morning"
_NAMED = 3


def unequal(memory: BrokerMemory, found: LogDirImbalanceEvidence) -> str:
    """Say how much the use of a broker's directories differs."""
    ends = ", ".join(
        f"{disk.log_dir} at {human_ratio(disk.used_ratio or 0)}" for disk in (found.fullest, found.emptiest) if disk
    )
    return (
        f"Broker {memory.broker} uses its directories unequally: {ends}; "
        f"{size(found.move_bytes or 0)} would have to move to balance them; "
        f"{_WAITS}: yes, because space is left; a directory that runs out of it has its own alert"
    )


def uncleanable(
    memory: BrokerMemory, path: str | None, log_dir: LogDirMemory | None, named: list[str], *, fills: bool
) -> str:
    """Say which partitions the log cleaner does not compact any more, and the consequences."""
    given_up = None if log_dir is None else hints.uncleanable(log_dir)
    what = given_up or f"its log cleaner gave up on {some_of(named, _NAMED)}"
    where = f"Broker {memory.broker} {path}" if path else f"Broker {memory.broker}"
    waits = "no, because the directory fills" if fills else "yes, while the directory has room"
    return f"{where}: {what}; they are not compacted and only grow until the broker restarts; {_WAITS}: {waits}"


def moves_held_up(memory: BrokerMemory, found: Mapping[str, StalledMoves], at_ms: int) -> str:
    """Say which moves make no progress, and why."""
    told = [f"{path}: {_held_up(move, at_ms)}" for path, move in list(found.items())[:_NAMED]]
    more = f" and {len(found) - _NAMED} more directories" if len(found) > _NAMED else ""
    return (
        f"Broker {memory.broker} has stalled moves of replicas: {'; '.join(told)}{more}{hints.dead_copies(memory)}; "
        f"{_WAITS}: yes, because the moving replicas still serve from their old place; but both copies take space, and "
        "a move between directories delays retention"
    )


def throttles_left(memory: BrokerMemory, limits: dict[str, int], listed: int) -> str:
    """Say which throttles are still set although nothing moves."""
    told = [f"{key}={human_rate(value)}" for key, value in sorted(limits.items())]
    if listed:
        told.append(f"{listed} of its replicas are in the topics' lists of throttled replicas")
    return (
        f"Broker {memory.broker} still has throttles set for moves, and nothing moves: {', '.join(told)}; "
        f"{_WAITS}: yes, because nothing fails because of it; but replicas that fell behind catch up slowly"
    )


def _held_up(move: StalledMoves, at_ms: int) -> str:
    left, limit = f"{size(move.remaining_bytes or 0)} still to come", f"{human_rate(move.throttle_bytes_per_s or 0)}"
    if move.verdict == "queued":
        return f"{left}, queued until one of the broker's other copies ends"
    if move.verdict == "stands_still":
        text = f"{left}, no progress for {human_ms(at_ms - (move.progress_ms or at_ms))}"
    elif move.ends_in_ms is None:
        text = f"{left}, and the rest does not shrink"
    else:
        text = f"{left}, ends {human_in(move.ends_in_ms)} at the present rate"
    if move.is_throttled_below_writes:
        return f"{text}: its limit of {limit} is below what is written"
    return f"{text}, under a limit of {limit}" if move.throttle else text
