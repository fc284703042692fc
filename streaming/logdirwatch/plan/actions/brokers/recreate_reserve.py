"""``recreate_reserve``: create the reserve file again once its log directory has room (KIP-928)."""

import posixpath

from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind, LogDirStatus
from logdirwatch.plan.actions.action_type import ActionType, frees_as_much
from logdirwatch.plan.actions.parts import bytes_at
from logdirwatch.plan.actions.progress import Progress, directory_of, in_one_step
from logdirwatch.plan.capacity.timing import place_target
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.commands.kafka_tools import on_host
from logdirwatch.plan.proposal import Policy, ProposedAction, Veto, effect
from logdirwatch.text.units import human_bytes, human_ratio
from logdirwatch.text.words import counted

RESERVE_BYTES_PER_PARTITION = 10_000


def propose_recreation(directory: LogDir, policy: Policy, after: str | None = None) -> ProposedAction | None:
    """Return the action that creates the reserve file again; None if none is configured any more.

    ``after`` is the action that released it, if there was one.
    """
    reserve = reserve_of(directory, policy)
    if reserve is None:
        return None
    path, size = reserve
    # About 10 KB per partition, 40 MB for 4,000 (KIP-928).
    advised = None if directory.replica_count is None else directory.replica_count * RESERVE_BYTES_PER_PARTITION
    return ProposedAction(
        kind=ActionKind.RECREATE_RESERVE,
        target={**place_target(directory), **({} if after is None else {"after": after})},
        reason=f"make the reserve file {path} on broker {directory.broker} again: {human_bytes(size)} to give to the "
        f"next full disk{_too_small(directory, size, advised)}",
        expected=effect(
            needs_ms=0,
            on=bytes_at({directory.place: -size}),
            takes_bytes=size,
            advised_bytes=advised,
            unaccounted_bytes_before=directory.unaccounted_bytes,
        ),
        vetoes=_too_full(directory, size, policy),
        commands=tuple(on_host(policy.tools, directory.broker, make_file(path, size))),
        undo={"commands": on_host(policy.tools, directory.broker, ["rm", "--", path])},
    )


def _too_small(directory: LogDir, size: int, advised: int | None) -> str:
    if advised is None or size >= advised:
        return ""
    partitions = counted(directory.replica_count or 0, "partition")
    return f"; for its {partitions} {human_bytes(advised)} are advised (plan.log_dirs, reserve_bytes)"


def _too_full(directory: LogDir, size: int, policy: Policy) -> tuple[Veto, ...]:
    used, total, limit = directory.used_bytes, directory.total_bytes, policy.limits.target_ratio
    # Above the target ratio the file itself would soon open the alert again that released it.
    if directory.status is LogDirStatus.ONLINE and used is not None and total and used + size <= limit * total:
        return ()
    text = f"{directory.path} has no room for {human_bytes(size)} below {human_ratio(limit, 0)}"
    return (Veto("not_enough_room", text),)


MOSTLY = 0.9
"""The share of the expected bytes that must be visible: other files come and go meanwhile."""


def reserve_progress(action: ActionRecord, snapshot: ClusterSnapshot) -> Progress | None:
    """Return whether a reserve file was released or created again, inferred from the used bytes."""
    directory, before = directory_of(action, snapshot), action.expected.get("unaccounted_bytes_before")
    if directory is None or before is None or directory.unaccounted_bytes is None:
        return None
    # No answer of Kafka lists files that are not its own: the file only shows in the bytes that no replica explains.
    freed, taken = before - directory.unaccounted_bytes, action.expected.get("takes_bytes")
    is_seen = freed >= MOSTLY * action.expected["frees_bytes"] if taken is None else -freed >= MOSTLY * taken
    return in_one_step(bool(is_seen), snapshot)


def reserve_of(directory: LogDir, policy: Policy) -> tuple[str, int] | None:
    """Return the path and size in bytes of a directory's reserve file; None if none is configured."""
    reserve = policy.limits.log_dir_rule(directory.broker, directory.path).reserve
    return None if reserve is None else (posixpath.join(directory.path, reserve[0]), reserve[1])


def make_file(path: str, size: int) -> list[str]:
    """Return the command that creates the file with its blocks allocated."""
    # Not truncate: a sparse file occupies no blocks, so deleting it would free nothing.
    return ["fallocate", "-l", str(size), "--", path]


ACTION_TYPE = ActionType(
    kind=ActionKind.RECREATE_RESERVE,
    progress=reserve_progress,
    covers=frees_as_much,
    changes_declared=False,
)
