"""The texts of alerts: what happened, how bad it is, and whether it can wait until morning."""

from collections.abc import Mapping, Sequence

from logdirwatch.detect.alerts import absence_messages, hints, offline_messages, urgency
from logdirwatch.detect.predicates import used_ratio
from logdirwatch.detect.state.broker_state import BrokerMemory, Change, LogDirMemory
from logdirwatch.model.capabilities import CapacitySource
from logdirwatch.model.evidence.brokers import LogDirImbalanceEvidence, StalledMoves
from logdirwatch.model.vocabulary import NOT_OF_A_DISK, OPEN_FILES, RAN_OUT, Cause, KernelTrouble, Rule, Severity
from logdirwatch.parse.broker_log.causes import cause_of
from logdirwatch.parse.kernel_log.lines import is_no_answer
from logdirwatch.text.units import human_bytes, human_in, human_ms, human_rate, human_ratio
from logdirwatch.text.words import CAN_WAIT, counted, some_of, until_morning, utc


def size(value: int | float | None) -> str:
    """Return bytes as actions and tables write them."""
    return "an unknown size" if value is None else human_bytes(value)


_HALTS = {
    "metadata_dir": "it is the directory of its metadata log",
    "last_dir": "it is its last directory",
    "migration": "it migrates from ZooKeeper to KRaft",
}
_ASKED_BY = {
    "forecast": "by its forecast",
    "moves_do_not_fit": "running moves add more than fits",
    "inodes": "its inodes run out",
}


def space(
    memory: BrokerMemory,
    path: str,
    log_dir: LogDirMemory,
    decided_by: str,
    halts: str | None,
    *,
    takes_new: bool | None = None,
    severity: Severity = Severity.WARNING,
) -> str:
    """Say how full a directory is, what decided its level, what keeps filling it, and how much time is left."""
    ratio = used_ratio(log_dir.total_bytes, log_dir.usable_bytes)
    percent = "an unknown share" if ratio is None else human_ratio(ratio)
    text = f"Broker {memory.broker} {path} is {log_dir.status}: {percent} of {size(log_dir.total_bytes)} used"
    if log_dir.capacity_source == CapacitySource.CONFIGURATION:
        text += " (estimated from the configured capacity and its replicas)"
    if decided_by in _ASKED_BY:
        text += f", {_ASKED_BY[decided_by]}"
    if decided_by == "inodes" and log_dir.used_inodes_ratio is not None:
        text += f" ({human_ratio(log_dir.used_inodes_ratio)} of them used)"
    left_ms = urgency.time_left_ms(log_dir)
    if left_ms is not None:
        text += f", full {human_in(left_ms)}"
    if halts is not None:
        text += f"; the whole broker halts with it: {_HALTS[halts]}"
    text += "".join(f"; {cause}" for cause in hints.growth(memory, log_dir, takes_new=takes_new))
    return f"{text}; {until_morning(urgency.waits(log_dir, severity))}"


def offline(memory: BrokerMemory, away: Sequence[str], severity: Severity = Severity.CRITICAL) -> str:
    """Say which directories went offline, why, and what is affected."""
    can_wait, why = absence_messages.waits_for_partitions(memory.partitions)
    if offline_messages.ignored(memory, away):
        can_wait, why = False, "its leaders stay and their clients get errors until it restarts"
    elif can_wait and severity is Severity.PAGE:
        can_wait, why = False, "partitions had no leader or too few in-sync replicas meanwhile"
    elif can_wait and not all(memory.log_dirs[path].decided_by for path in away):
        # The partitions are those of the poll before: what they lost with the directory no poll has shown yet.
        can_wait, why = False, "the next poll must show first what its partitions lost"
    return (
        f"{offline_messages.place_and_cause(memory, away)}; {offline_messages.replicas_there(memory, away)}"
        f"{offline_messages.ignored(memory, away)}{absence_messages.hurt(memory)}; "
        f"{until_morning((can_wait, why))}"
    )


def unconfirmed(memory: BrokerMemory) -> str:
    """Say that a broker reported a failure and no directory went offline."""
    return f"Broker {memory.broker} reported LogDirFailure, but no log directory went offline; nothing to do"


def merged(memory: BrokerMemory) -> str:
    """Say that another alert already covers this failure."""
    return f"Broker {memory.broker} reported LogDirFailure for a log directory that already has an open alert"


_OF_DISK = {KernelTrouble.MEDIUM_ERROR, KernelTrouble.DEVICE_ERROR}
_READ_ONLY = {"read_only", KernelTrouble.REMOUNTED_READ_ONLY}
_OF_EVERY_WRITE = {Cause.READ_ONLY, Cause.REMOUNT, Cause.FULL}
_EARLY = {
    str(KernelTrouble.POOL_LOW): "yes, while the pool has space, because no disk is suspect",
    str(KernelTrouble.RECORDED_ERROR): "yes, because the error is an earlier one; check it at the next stop",
    str(KernelTrouble.ARRAY_DEGRADED): (
        "yes, because the array goes on without the member that it lost; replace it before another one fails"
    ),
}
_RAN_OUT = {
    KernelTrouble.NO_SPACE: "writes fail until there is space",
    KernelTrouble.NO_MEMORY: "the file system gives up where the kernel has no memory for it; the disk is fine",
}
_UNANSWERED = "I/O fails while the storage does not answer; there is no evidence against the disk itself"
_PATH_KINDS = {str(trouble) for trouble in KernelTrouble if trouble.heals} - RAN_OUT


def suspect(
    memory: BrokerMemory,
    path: str | None,
    suspicions: Mapping[str, str],
    severity: Severity = Severity.WARNING,
    refused_partitions: int = 0,
) -> str:
    """Say why a directory or broker that Kafka reports as healthy is suspect."""
    texts = "; ".join(suspicions.values())
    waits = _waits_for_disk(suspicions, severity)
    if refused_partitions:
        waits = f"no, because writes to {counted(refused_partitions, 'partition')} are refused because of this disk"
    return f"{_place(memory, path)} is suspect: {texts}; {CAN_WAIT}: {waits}"


def _waits_for_disk(suspicions: Mapping[str, str], severity: Severity) -> str:
    kinds = suspicions.keys()
    if (fails := _next_write_fails(suspicions)) is not None:
        return f"no, because {fails}"
    if severity.rank >= Severity.CRITICAL.rank:
        is_late = is_no_answer(kinds, suspicions.get(KernelTrouble.DEVICE_ERROR))
        return f"no, because {_UNANSWERED if is_late else 'a disk that behaves like this may be failing'}"
    if kinds <= NOT_OF_A_DISK:
        return "yes, while its directories have space, because no disk is suspect"
    if len(kinds) == 1 and (early := _EARLY.get(next(iter(kinds)))):
        return early
    if kinds <= _PATH_KINDS:
        return "yes, because Kafka has not taken it offline and no disk is suspect; check the path to it first"
    return "yes, because Kafka has not taken it offline; but a disk that behaves like this may be failing"


def fails_next_write(kind: str, text: str) -> bool:
    """Tell whether a suspicion is that nothing can be written; the probe met what the broker's next write meets."""
    return kind in _READ_ONLY | {"no_directory"} or (kind == "probe" and cause_of(text) in _OF_EVERY_WRITE)


def _next_write_fails(suspicions: Mapping[str, str]) -> str | None:
    """Return why the next write fails whatever the disk is like; None if nothing says so."""
    kinds = suspicions.keys()
    if "no_directory" in kinds:
        return "Kafka can create no file there, and the next one that it tries takes the directory offline"
    if OPEN_FILES in kinds:
        return "its directories go offline at the next file that they cannot open"
    if kinds == {KernelTrouble.POOL_FULL}:
        return "writes wait or fail until the pool has space"
    if kinds & _OF_DISK:
        return None
    if ran_out := [text for kind, text in _RAN_OUT.items() if kind in kinds]:
        return ran_out[0]
    is_last = any(fails_next_write(*one) for one in suspicions.items())
    return "the next write takes the directory offline" if is_last else None


def changed(memory: BrokerMemory, path: str, change: Change, log_dir: LogDirMemory, severity: Severity) -> str:
    """Say that a directory has another size, is on another volume, or holds less, than before."""
    total_bytes = log_dir.total_bytes
    text = {
        "capacity": f"has another size: {size(change.total_bytes)} before, {size(total_bytes)} now",
        "volume": "is on another volume than before",
        "root_volume": "is on the root volume, which it was not before: its mount is gone",
        "emptied": (
            f"came back empty: its replicas hold {size(log_dir.replica_bytes)}, {size(change.replica_bytes)} before; "
            "check its mount (findmnt): the data may be on a volume that is not mounted now. What other brokers have "
            "is copied again"
        ),
        "reserve": "has no reserve file of the configured size: there is nothing to release when it is full",
    }[change.why]
    if severity is Severity.CRITICAL:
        waits = "no, because the broker may be writing to another disk than its own"
    elif change.why == "emptied":
        waits = "yes, because the broker is in maintenance"
    else:
        waits = "yes, because no space was lost; check that it was intended"
    return f"{_place(memory, path)} {text}; {CAN_WAIT}: {waits}"


def unaccounted(memory: BrokerMemory, path: str, unaccounted_bytes: int, total_bytes: int) -> str:
    """Say how much of a volume no replica accounts for."""
    return (
        f"{_place(memory, path)}: {size(unaccounted_bytes)} ({human_ratio(unaccounted_bytes / total_bytes)} of the "
        "volume) belong to no replica: files that are not Kafka's, stray and deleted replicas that stay, "
        "deleted files still open, or blocks that the file system preallocated; "
        f"{CAN_WAIT}: yes, because nothing fails because of it, but retention does not free them"
    )


def placement_reports_stuck(memory: BrokerMemory, queued: int) -> str:
    """Say that the controller does not know in which directories replicas are."""
    return (
        f"Broker {memory.broker} cannot report the directories of {queued} replicas to the controller; "
        f"{CAN_WAIT}: yes, because they still serve; but they would not fail over if their directory failed"
    )


def partitions_failed(memory: BrokerMemory, failed: list[str]) -> str:
    """Say which partitions failed according to the broker's log, and where they are; blocked coordinators first."""
    named = [f"{label} in {memory.failed_in[label]}" if label in memory.failed_in else label for label in failed]
    waits = "yes, while other replicas are in sync"
    if memory.coordinators:
        stopped = some_of(sorted(memory.coordinators), 3)
        waits = f"no, because groups or transactions that belong to {stopped} may be blocked"
    return (
        f"Broker {memory.broker} reports failed partitions, not a failed directory: {some_of(named, 3)}; "
        f"{CAN_WAIT}: {waits}"
    )


def held(memory: BrokerMemory, path: str | None, rule: Rule, times: int, calm: tuple[int, int]) -> str:
    """Say that a flapping alert is held open although nothing is wrong now, since when, and until when."""
    since_ms, until_ms = calm
    what = "answers again" if rule in {Rule.BROKER_OFFLINE, Rule.BROKER_UNKNOWN} else f"has had no {rule}"
    return (
        f"{_place(memory, path)} {what} since {utc(since_ms)}; flapping: ended {times} times within an hour, held open "
        f"until {utc(until_ms)}"
    )


def flapping(memory: BrokerMemory, path: str | None, rule: Rule, times: int, hold_ms: int, summary: str) -> str:
    """Say of an alert that its fault comes and goes: true whether it is there at the moment or not."""
    return (
        f"{_place(memory, path)} is flapping: {rule} ended {times} times within an hour, and stays open until it has "
        f"been well for {human_ms(hold_ms)}; last: {summary}"
    )


def ended(reason: str) -> str:
    """Say why an alert ended; recovery needs no further words."""
    return reason if reason == "recovered" else f"resolved, {reason}"


def resolved(memory: BrokerMemory, path: str | None, reason: str, rule: Rule) -> str:
    """Say that an alert ended and why; for a directory that is offline now, name the alert about that."""
    if path is not None and reason == "offline" and rule is not Rule.LOG_DIR_OFFLINE:
        return f"{_place(memory, path)}: {offline_messages.closed(memory, path, rule)}"
    return f"{_place(memory, path)}: {ended(reason)}"


def _place(memory: BrokerMemory, path: str | None) -> str:
    return f"Broker {memory.broker} {path}" if path else f"Broker {memory.broker}"


_NAMED = 3


def unequal(memory: BrokerMemory, found: LogDirImbalanceEvidence) -> str:
    """Say how much the use of a broker's directories differs."""
    ends = ", ".join(
        f"{disk.log_dir} at {human_ratio(disk.used_ratio or 0)}" for disk in (found.fullest, found.emptiest) if disk
    )
    return (
        f"Broker {memory.broker} uses its directories unequally: {ends}; "
        f"{size(found.move_bytes or 0)} would have to move to balance them; "
        f"{CAN_WAIT}: yes, because space is left; a directory that runs out of it has its own alert"
    )


def uncleanable(
    memory: BrokerMemory, path: str | None, log_dir: LogDirMemory | None, named: list[str], *, fills: bool
) -> str:
    """Say which partitions the log cleaner does not compact any more, and the consequences."""
    given_up = None if log_dir is None else hints.uncleanable(log_dir)
    what = given_up or f"its log cleaner gave up on {some_of(named, _NAMED)}"
    where = f"Broker {memory.broker} {path}" if path else f"Broker {memory.broker}"
    waits = "no, because the directory fills" if fills else "yes, while the directory has room"
    return f"{where}: {what}; they are not compacted and only grow until the broker restarts; {CAN_WAIT}: {waits}"


def moves_held_up(memory: BrokerMemory, found: Mapping[str, StalledMoves], at_ms: int) -> str:
    """Say which moves make no progress, and why."""
    told = [f"{path}: {_held_up(move, at_ms)}" for path, move in list(found.items())[:_NAMED]]
    more = f" and {len(found) - _NAMED} more directories" if len(found) > _NAMED else ""
    return (
        f"Broker {memory.broker} has stalled moves of replicas: {'; '.join(told)}{more}{hints.dead_copies(memory)}; "
        f"{CAN_WAIT}: yes, because the moving replicas still serve from their old place; but both copies take space, "
        "and a move between directories delays retention"
    )


def throttles_left(memory: BrokerMemory, limits: dict[str, int], listed: int) -> str:
    """Say which throttles are still set although nothing moves."""
    told = [f"{key}={human_rate(value)}" for key, value in sorted(limits.items())]
    if listed:
        told.append(f"{listed} of its replicas are in the topics' lists of throttled replicas")
    return (
        f"Broker {memory.broker} still has throttles set for moves, and nothing moves: {', '.join(told)}; "
        f"{CAN_WAIT}: yes, because nothing fails because of it; but replicas that fell behind catch up slowly"
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
