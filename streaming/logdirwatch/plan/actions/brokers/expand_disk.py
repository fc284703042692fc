"""``expand_disk``: grow a volume when nothing less invasive frees enough."""

from dataclasses import replace

from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.actions.action_type import ActionType, FixRole, Relief, always_valid, frees_as_much
from logdirwatch.plan.actions.progress import Progress, directory_of, space_seen
from logdirwatch.plan.actions.strimzi_resources import POOL, WHOLE_POOL, grown_patch, kubectl_of, volume_of
from logdirwatch.plan.capacity.timing import end_in_words, in_time, place_target, time_to_full_ms
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.commands.kafka_tools import note
from logdirwatch.plan.proposal import Policy, Precondition, ProposedAction, Veto, effect
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
    veto = _at_maximum(directory, rule.max_bytes)
    by = more or wanted
    text = f"grow the volume under {directory.path} on broker {directory.broker} by {human_bytes(by)}"
    falls_short = f" ({human_bytes(least)} are needed; its maximum allows no more)" if 0 < more < least else ""
    return ProposedAction(
        kind=ActionKind.EXPAND_DISK,
        target=place_target(directory),
        reason=f"{text}, from {human_bytes(size)} to {human_bytes(size + by)}{falls_short}: no data is lost "
        f"or moved{_begin_now(directory, rule.growing_takes_ms)}",
        expected=effect(
            frees_bytes=more,
            needs_ms=rule.growing_takes_ms,
            on=[{"broker": directory.broker, "log_dir": directory.path, "bytes": more}],
            time_to_full_after_ms=time_to_full_ms(directory, more),
            total_bytes_before=size,
            total_bytes=size + more,
        ),
        preconditions=(_can_grow(more, least, rule.max_bytes), *_waits(directory, rule.growing_takes_ms)),
        vetoes=() if veto is None else (veto,),
        commands=(note(f"On broker {directory.broker}'s host: {text}, then the file system."),),
        undo={"text": "a volume cannot be made smaller"},
    )


def _begin_now(directory: LogDir, takes_ms: int | None) -> str:
    left = time_to_full_ms(directory)
    if takes_ms is None or left is None:
        return ""
    when = f"it takes {human_ms(takes_ms)}, and the directory is full {human_in(left)}"
    verdict = ", so that is in time" if takes_ms < left else ": start now, the following actions gain the time"
    return f"; {when}{verdict}"


def _at_maximum(directory: LogDir, max_bytes: int | None) -> Veto | None:
    """Veto growing a volume that already has its configured maximum size."""
    if max_bytes is None or (directory.total_bytes or 0) < max_bytes:
        return None
    return Veto(
        "volume_at_maximum", f"the volume under {directory.path} is as large as it can be: {human_bytes(max_bytes)}"
    )


def _can_grow(more: int, least: int, max_bytes: int | None) -> Precondition:
    text = "the volume may still be grown by this much"
    return Precondition("volume_can_grow", text, None if max_bytes is None else more >= least)


def _waits(directory: LogDir, takes_ms: int | None) -> tuple[Precondition, ...]:
    """Return whether a larger volume comes in time; unknown unless the time to grow it is configured."""
    left = time_to_full_ms(directory)
    if takes_ms is None:
        if left is None and not directory.ramps:
            return ()
        text = f"{end_in_words(directory)}; how long a bigger volume takes is not configured"
        return (Precondition("in_time", text, None),)
    return (in_time(directory, takes_ms, "a bigger volume takes"),)


def _progress(action: ActionRecord, snapshot: ClusterSnapshot) -> Progress | None:
    directory = directory_of(action, snapshot)
    before = action.expected.get("total_bytes_before")
    if directory is None or directory.total_bytes is None or before is None:
        return None
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
            Precondition("storage_class_expands", "the volume's storage class has allowVolumeExpansion: true", None),
        ),
    )


ACTION_TYPE = ActionType(
    kind=ActionKind.EXPAND_DISK,
    relief=Relief(if_in_time=0, if_not=4, begins_at_once=True),
    fix_role=FixRole.MAKES_ROOM,
    progress=_progress,
    covers=frees_as_much,
    reasons_against=always_valid,
    follow_up=None,
    needs_inventory=False,
    for_strimzi=_for_strimzi,
)
