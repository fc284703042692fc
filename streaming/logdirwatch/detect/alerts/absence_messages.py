"""The texts of alerts about a broker's absence: why it is away, what it does meanwhile, and whether it can wait."""

from logdirwatch.detect.alerts import hints, offline_messages
from logdirwatch.detect.predicates import has_metadata_log, used_ratio
from logdirwatch.detect.state.broker_state import BrokerMemory, Episode, LogDirMemory, Maintenance
from logdirwatch.detect.state.log_recovery import progress
from logdirwatch.detect.state.maintenance import running
from logdirwatch.model.broker_failures import BrokerFailureReason
from logdirwatch.model.capabilities import HIDES_LOG_DIRS
from logdirwatch.model.records import PartitionHealth
from logdirwatch.model.vocabulary import Cause, KernelTrouble, LogDirStatus, PollStatus
from logdirwatch.text.units import human_ms, human_ratio
from logdirwatch.text.words import some_of, until_morning, utc


def broker_unknown(memory: BrokerMemory) -> str:
    """Say that a broker does not answer and the controller has not fenced it."""
    kind, _, detail = (memory.reason or "").partition(": ")
    if kind == PollStatus.UNAUTHORIZED:
        text, why = "refuses to report its disks", detail
    elif detail == HIDES_LOG_DIRS:
        text, why = f"answers, but {detail}", ""
    else:
        for_ms = None if memory.seen_ms is None else memory.newest_ms - memory.seen_ms
        text = "does not answer" if for_ms is None else f"has not answered for {human_ms(for_ms)}"
        why = "" if kind == PollStatus.TIMEOUT else memory.reason or ""
    planned = _waits_as_planned(memory)
    act = ". Act now." if planned is None else f"; {until_morning(planned)}"
    said = f" ({why})" if why else ""
    return (
        f"Broker {memory.broker} {text}{said}{_recovers(memory)}{_log_says(memory)}{_hangs(memory)}; its disks are not "
        f"monitored{act}"
    )


def broker_unseen(memory: BrokerMemory, reason: str | None) -> str:
    """Say that no collector reports a broker any more that did not answer before."""
    before = f" ({reason})" if reason else ""
    waits = until_morning(_waits_as_planned(memory) or (False, "its disks are not monitored"))
    text = f"Broker {memory.broker} is unknown: it did not answer{before}, and now no collector reports it"
    return f"{text}{_log_says(memory)}; {waits}"


_WAITS_FOR_STORAGE = frozenset({KernelTrouble.SERVER_NOT_RESPONDING, KernelTrouble.TIMED_OUT, KernelTrouble.HUNG})


def hangs(memory: BrokerMemory) -> list[str]:
    """Return which storage does not answer, by the kernel's log of the host: what waits for it answers nobody either.

    A line counts until one says that it is over.
    """
    holders = [("", memory.troubles), *((f"{path}: ", held.troubles) for path, held in sorted(memory.log_dirs.items()))]
    return [
        f"{place}{trouble.text}"
        for place, held in holders
        for trouble in held.values()
        if trouble.kind in _WAITS_FOR_STORAGE
    ]


def _hangs(memory: BrokerMemory) -> str:
    found = hangs(memory)
    return f"; its storage does not answer ({some_of(found, 3)})" if found else ""


_UNEXPLAINED = frozenset({None, Cause.UNKNOWN})


def broker_offline(memory: BrokerMemory) -> str:
    """Say that the controller considers a broker offline, and the last known state of its directories."""
    recovers = _recovers(memory)
    state = "is starting" if recovers else "is offline"
    text = f"Broker {memory.broker} {state} ({memory.reason}){recovers}{_log_says(memory)}{_hangs(memory)}"
    waits = until_morning(_waits_as_planned(memory) or waits_for_partitions(memory.partitions))
    return f"{text}{_worst_directory(memory)}{hurt(memory)}; {waits}"


def _worst_directory(memory: BrokerMemory) -> str:
    """Name the directory that was worst when the broker was last seen; empty if all were online."""
    path, log_dir = max(
        memory.log_dirs.items(),
        key=lambda item: (item[1].known_status.rank, item[1].cause not in _UNEXPLAINED),
        default=("", LogDirMemory()),
    )
    status = log_dir.known_status
    if status.rank <= LogDirStatus.ONLINE.rank:
        return ""
    ratio = used_ratio(log_dir.total_bytes, log_dir.usable_bytes)
    kind = "metadata directory" if has_metadata_log(memory, path) else "directory"
    share = "" if ratio is None else f" at {human_ratio(ratio)}"
    why = offline_messages.why_offline(log_dir) if status is LogDirStatus.OFFLINE else None
    return f"; last seen: {kind} {path} {status}" + (f", {why}" if why else share)


def crash_loop(memory: BrokerMemory, restarts: int, within_ms: int, said: Episode) -> str:
    """Say how often a broker was away and came back, and why; ``said`` is the last absence whose reason is known."""
    is_stopped = said.reason == BrokerFailureReason.STOPPED
    why = f"its log says: {said.text}" if said.text else "why is not known"
    waits = (True, "it is asked to stop") if is_stopped else (False, "nothing shows that it will stay")
    return (
        f"Broker {memory.broker} went away and came back {restarts} times within {human_ms(within_ms)}; {why}"
        f"{_worst_directory(memory)}{hurt(memory)}; {until_morning(waits)}"
    )


def standing(memory: BrokerMemory) -> str | None:
    """Return the reason of a broker's status, the progress of its recovery, and its maintenance."""
    recovered, planned = progress(memory), running(memory)
    said = [
        f"{memory.reason}{_log_says(memory)}" if memory.reason else None,
        f"recovers its logs, {recovered}" if recovered else None,
        None if planned is None else _planned(planned),
    ]
    return "; ".join(text for text in said if text) or None


def _recovers(memory: BrokerMemory) -> str:
    recovered = progress(memory)
    return "" if recovered is None else f"; it is recovering its logs, {recovered}: do not restart it"


def _log_says(memory: BrokerMemory) -> str:
    return "" if memory.word is None else f"; its log says: {memory.word.text}"


def _planned(planned: Maintenance) -> str:
    return f"maintenance until {utc(planned.until_ms)} by {planned.by} ({planned.reason})"


def _waits_as_planned(memory: BrokerMemory) -> tuple[bool, str] | None:
    planned = running(memory)
    return None if planned is None else (True, f"it is planned: {_planned(planned)}")


def hurt(memory: BrokerMemory) -> str:
    """Name the topics and groups that are impacted, as a part of a sentence; empty if none are known."""
    found = memory.partitions
    return "" if found is None else hints.hurt(found.hurt_topics, found.hurt_groups)


def waits_for_partitions(partitions: PartitionHealth | None) -> tuple[bool, str]:
    """Return whether partitions can wait until morning, and why."""
    if partitions is None:
        return False, "the state of its partitions is unknown"
    if partitions.leaderless or partitions.under_min_isr:
        return False, "partitions have no leader or too few in-sync replicas"
    return True, "every partition still has a leader and enough in-sync replicas"
