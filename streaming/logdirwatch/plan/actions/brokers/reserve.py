"""The space of last resort: a plain file in a log directory that is given up when it is full (KIP-928).

Kafka knows nothing of it. It must be a file: an unknown folder in a log directory stops a broker's start (Kafka 4.3.1
``LogManager.loadLogs``).
"""

import posixpath

from logdirwatch.model.vocabulary import ActionKind, LogDirStatus
from logdirwatch.plan.capacity.timing import place_target, time_to_full_ms
from logdirwatch.plan.cluster.snapshot import Directory
from logdirwatch.plan.commands.configs import on_host
from logdirwatch.plan.proposal import Draft, Policy, Precondition, Veto, effect
from logdirwatch.plan.retention import retention_vetoes
from logdirwatch.report.units import human_bytes
from logdirwatch.report.words import counted

RESERVE_BYTES_PER_PARTITION = 10_000


def reserve_of(directory: Directory, policy: Policy) -> tuple[str, int] | None:
    """Return the path and size of a directory's reserve file; None where none is configured."""
    reserve = policy.limits.log_dir_rule(directory.broker, directory.path).reserve
    return None if reserve is None else (posixpath.join(directory.path, reserve[0]), reserve[1])


def release_drafts(directory: Directory, policy: Policy) -> list[Draft]:
    """Return the release of the reserve, where one is configured."""
    reserve = reserve_of(directory, policy)
    if reserve is None:
        return []
    path, size = reserve
    gone = retention_vetoes.reserve_gone(directory, size)
    return [
        Draft(
            kind=ActionKind.RELEASE_RESERVE,
            target=place_target(directory),
            reason=f"delete the reserve file {path} on broker {directory.broker}: {human_bytes(size)} are free at "
            "once; it wins time and nothing more, and there is no second one",
            expected=effect(
                frees_bytes=size,
                needs_ms=0,
                on=[{"broker": directory.broker, "log_dir": directory.path, "bytes": size}],
                time_to_full_after_ms=time_to_full_ms(directory, size),
                unaccounted_bytes_before=directory.unaccounted_bytes,
            ),
            preconditions=(
                Precondition("reserve_there", f"{path} is there: it is not Kafka's, so nobody lists it", None),
            ),
            vetoes=() if gone is None else (gone,),
            commands=tuple(on_host(policy.tools, directory.broker, ["rm", "--", path])),
            undo={
                "commands": on_host(policy.tools, directory.broker, _make(path, size)),
                "text": "when there is room again; recreate_reserve follows once the alert is over",
            },
        )
    ]


def recreate_draft(directory: Directory, policy: Policy, after: str | None = None) -> Draft | None:
    """Return how the reserve is made anew once there is room; None where none is configured any more.

    ``after`` is the action that gave it up, where one did.
    """
    reserve = reserve_of(directory, policy)
    if reserve is None:
        return None
    path, size = reserve
    advised = advised_bytes(directory)
    return Draft(
        kind=ActionKind.RECREATE_RESERVE,
        target={**place_target(directory), **({} if after is None else {"after": after})},
        reason=f"make the reserve file {path} on broker {directory.broker} anew: {human_bytes(size)} to give to the "
        f"next full disk{_too_small(directory, size, advised)}",
        expected=effect(
            needs_ms=0,
            on=[{"broker": directory.broker, "log_dir": directory.path, "bytes": -size}],
            takes_bytes=size,
            advised_bytes=advised,
            unaccounted_bytes_before=directory.unaccounted_bytes,
        ),
        vetoes=_too_full(directory, size, policy),
        commands=tuple(on_host(policy.tools, directory.broker, _make(path, size))),
        undo={"commands": on_host(policy.tools, directory.broker, ["rm", "--", path])},
    )


def advised_bytes(directory: Directory) -> int | None:
    """Return the size of the reserve that is advised: about 10 KB a partition, 40 MB for 4,000 of them (KIP-928)."""
    return None if directory.replica_count is None else directory.replica_count * RESERVE_BYTES_PER_PARTITION


def _too_small(directory: Directory, size: int, advised: int | None) -> str:
    if advised is None or size >= advised:
        return ""
    partitions = counted(directory.replica_count or 0, "partition")
    return f"; for its {partitions} {human_bytes(advised)} are advised (plan.log_dirs, reserve_bytes)"


def _make(path: str, size: int) -> list[str]:
    """Return the command that makes the file and really takes the blocks."""
    return ["fallocate", "-l", str(size), "--", path]


def _too_full(directory: Directory, size: int, policy: Policy) -> tuple[Veto, ...]:
    used, total, limit = directory.used_bytes, directory.total_bytes, policy.limits.target_ratio
    if directory.status is LogDirStatus.ONLINE and used is not None and total and used + size <= limit * total:
        return ()
    return (Veto("not_enough_room", f"{directory.path} has no room for {human_bytes(size)} below {limit:.0%}"),)
