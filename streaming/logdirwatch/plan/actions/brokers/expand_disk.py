"""``expand_disk``: grow a volume when nothing less invasive frees enough."""

from dataclasses import replace

from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.actions.action_type import ActionType, FixRole, Relief, frees_as_much
from logdirwatch.plan.actions.parts import frees, host_notes
from logdirwatch.plan.actions.progress import Progress, directory_of, space_seen
from logdirwatch.plan.actions.strimzi_resources import POOL, WHOLE_POOL, grown_patch, kubectl_of, volume_of
from logdirwatch.plan.capacity.projected_use import Space, needed_bytes
from logdirwatch.plan.capacity.timing import place_target, room_in_time, time_to_full_ms
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.commands.kafka_tools import note
from logdirwatch.plan.proposal import Policy, Precondition, ProposedAction, Veto
from logdirwatch.text.units import human_bytes, human_in, human_ms

LEAST_GROWTH_RATIO = 0.1
"""A volume is not grown by a few bytes: clouds allow a change only every few hours."""


def expand_disk(directory: LogDir, policy: Policy, needed: int) -> ProposedAction:
    """Return the advice to grow the volume until the directory is under the target ratio.

    How far a volume can grow and how long that takes are configured per directory; without configuration both are
    unknown.
    """
    rule = policy.limits.log_dir_rule(directory.broker, directory.path)
    size = directory.total_bytes or 0
    least = int(needed / policy.limits.target_ratio) + 1
    wanted = max(least, int(LEAST_GROWTH_RATIO * size))
    more = wanted if rule.max_bytes is None else min(wanted, max(0, rule.max_bytes - size))
    # At its maximum there is a veto, and the text says what would be needed.
    by = more or wanted
    text = f"grow the volume under {directory.path} on broker {directory.broker} by {human_bytes(by)}"
    falls_short = f" ({human_bytes(least)} are needed; its maximum allows no more)" if 0 < more < least else ""
    # Kafka does not know what is below its directories: without configuration only a person can tell.
    may_grow = None if rule.max_bytes is None else more >= least
    return ProposedAction(
        kind=ActionKind.EXPAND_DISK,
        target=place_target(directory),
        reason=f"{text}, from {human_bytes(size)} to {human_bytes(size + by)}{falls_short}: no data is lost "
        f"or moved{_begin_now(directory, rule.growing_takes_ms)}",
        expected=frees(
            directory, more, needs_ms=rule.growing_takes_ms, total_bytes_before=size, total_bytes=size + more
        ),
        preconditions=(
            Precondition("volume_can_grow", "the volume may still be grown by this much", may_grow),
            *room_in_time(directory, rule.growing_takes_ms, "a bigger volume"),
        ),
        vetoes=_at_maximum(directory, rule.max_bytes),
        commands=host_notes(directory.broker, f"{text}, then the file system."),
        undo={"text": "a volume cannot be made smaller"},
    )


def grow_if_short(directory: LogDir, snapshot: ClusterSnapshot, policy: Policy) -> list[ProposedAction]:
    """Return the same if it is known what the directory lacks; empty if it lacks nothing."""
    needed = needed_bytes(directory, Space(snapshot), policy)
    return [] if needed is None or needed <= 1 else [expand_disk(directory, policy, needed)]


def _begin_now(directory: LogDir, takes_ms: int | None) -> str:
    left = time_to_full_ms(directory)
    if takes_ms is None or left is None:
        return ""
    when = f"it takes {human_ms(takes_ms)}, and the directory is full {human_in(left)}"
    verdict = ", so that is in time" if takes_ms < left else ": start now, the following actions gain the time"
    return f"; {when}{verdict}"


def _at_maximum(directory: LogDir, max_bytes: int | None) -> tuple[Veto, ...]:
    """Veto growing a volume that already has its configured maximum size."""
    if max_bytes is None or (directory.total_bytes or 0) < max_bytes:
        return ()
    text = f"the volume under {directory.path} is as large as it can be: {human_bytes(max_bytes)}"
    return (Veto("volume_at_maximum", text),)


def _progress(action: ActionRecord, snapshot: ClusterSnapshot) -> Progress | None:
    directory = directory_of(action, snapshot)
    before = action.expected.get("total_bytes_before")
    if directory is None or directory.total_bytes is None or before is None:
        return None
    # Any growth counts: a file system keeps a part of its volume, so the planned size is never exactly reached.
    has_grown = int(directory.total_bytes > before)
    return Progress(has_grown, has_grown, 1, space_seen(action, snapshot))


def _for_strimzi(proposal: ProposedAction, policy: Policy) -> ProposedAction:
    """Return a larger volume as a larger size in the KafkaNodePool."""
    broker, volume = proposal.target["broker"], volume_of(proposal.target["log_dir"])
    if volume is None:
        return replace(proposal, commands=(note("Set the size of the volume in its KafkaNodePool."),))
    kubectl = kubectl_of(policy)
    change = grown_patch(volume.id, proposal.expected["total_bytes"])
    return replace(
        proposal,
        reason=f"{proposal.reason}; {WHOLE_POOL}",
        commands=(kubectl.pool(broker), kubectl.patch("kafkanodepool", POOL, "json", change)),
        preconditions=(
            *proposal.preconditions,
            # Without it Strimzi leaves the claim as it is, and only logs a warning (PvcReconciler).
            Precondition("storage_class_expands", "the volume's storage class has allowVolumeExpansion: true", None),
        ),
    )


ACTION_TYPE = ActionType(
    kind=ActionKind.EXPAND_DISK,
    # In time it is the best: nothing moves, nothing is lost, no broker stops. Late, what frees something now comes
    # first.
    relief=Relief(if_in_time=0, if_not=4, begins_at_once=True),
    fix_role=FixRole.MAKES_ROOM,
    progress=_progress,
    covers=frees_as_much,
    needs_inventory=False,
    for_strimzi=_for_strimzi,
)
