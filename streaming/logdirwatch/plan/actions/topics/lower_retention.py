"""``lower_retention``: lower a topic's retention; what it frees, where and when, what is lost, and the undo."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.actions.action_type import ActionType, FixRole, FollowUp, Relief, frees_as_much
from logdirwatch.plan.actions.parts import bytes_at, carried_out_by
from logdirwatch.plan.actions.progress import Progress, places_of, space_seen
from logdirwatch.plan.actions.topics.restore_retention import carry_over_limits, propose_restore, sets_retention
from logdirwatch.plan.capacity.timing import in_time, place_target, time_to_full_ms
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.commands.operations import topic_config
from logdirwatch.plan.proposal import Policy, ProposedAction, effect
from logdirwatch.plan.retention.cut_conditions import cut_preconditions, cut_vetoes, is_moved, keeps_too_little
from logdirwatch.plan.retention.limits import UNLIMITED, RetentionCut, bytes_under_any_limit, effective_after_ms
from logdirwatch.text.units import human_bytes, human_ms, human_parts
from logdirwatch.text.words import counted


def propose_cut(
    source: LogDir, cut: RetentionCut, snapshot: ClusterSnapshot, policy: Policy, *, is_moving: bool
) -> ProposedAction:
    """Return the action for one cut; ``is_moving`` where another action for the alert moves the topic's replicas."""
    place, freed = source.place, cut.frees_at(source.place)
    before, elsewhere = snapshot.layout.topic_bytes(place, cut.topic.name), sum(cut.frees.values()) - freed
    part, whole = human_parts(freed, before)
    beside = f", and {human_bytes(elsewhere)} in other directories" if elsewhere else ""
    wins = _wins_ms(source, freed)
    action = _lowered(
        cut,
        snapshot,
        policy,
        place_target(source),
        f"{part} of {whole} in {source.path}{beside}",
        "" if wins is None else f"; the directory is full {human_ms(wins)} later",
        is_moving=is_moving,
        frees_bytes=freed,
        time_to_full_after_ms=time_to_full_ms(source, freed),
        wins_ms=wins,
        topic_bytes_before=before,
        keeps_bytes=before - int(freed / snapshot.on_disk_ratio(place)),
        floor_bytes=bytes_under_any_limit(cut, place, snapshot),
    )
    return replace(action, preconditions=(in_time(source, action.expected["needs_ms"]), *action.preconditions))


def propose_fleet_cut(
    cut: RetentionCut, useful_bytes: int, snapshot: ClusterSnapshot, policy: Policy
) -> ProposedAction:
    """Return the action for a cut that serves several directories; ``useful_bytes`` are those that they need."""
    everywhere = sum(cut.frees.values())
    before = sum(snapshot.layout.topic_bytes(place, cut.topic.name) for place in cut.frees)
    needed = f", {human_bytes(useful_bytes)} of it where it is needed" if useful_bytes < everywhere else ""
    won = [_wins_ms(snapshot.directories[place], freed) for place, freed in cut.frees.items()]
    wins = min((time_ms for time_ms in won if time_ms is not None), default=None)
    return _lowered(
        cut,
        snapshot,
        policy,
        {"broker": None, "log_dir": None},
        f"{human_bytes(everywhere)} in {counted(len(cut.frees), 'directory')}{needed}",
        "" if wins is None else f"; each is full {human_ms(wins)} later at least",
        is_moving=False,
        frees_bytes=useful_bytes,
        wins_ms=wins,
        topic_bytes_before=before,
        keeps_bytes=before - sum(int(freed / snapshot.on_disk_ratio(p)) for p, freed in cut.frees.items()),
    )


def _lowered(
    cut: RetentionCut,
    snapshot: ClusterSnapshot,
    policy: Policy,
    target: Mapping[str, Any],
    what: str,
    wins: str,
    *,
    is_moving: bool,
    **numbers: Any,
) -> ProposedAction:
    """Return a cut with all that it says of the topic, wherever it is needed: ``what`` goes, and what that ``wins``."""
    topic, key, old, new = cut.topic.name, cut.way.key, cut.old_value, str(cut.new_value)
    needs = effective_after_ms(cut.topic, snapshot)
    # Where there was no override before, undoing the cut deletes the one that it makes.
    operation = topic_config(topic, key, new, now=old, old=old if cut.is_overridden else None)
    stays = "deleted records cannot be restored" if cut.way.loses_data else "local copies are not fetched again"
    return ProposedAction(
        kind=ActionKind.LOWER_RETENTION,
        target={**target, "topic": topic},
        reason=f"lower {key} of {topic} {_from_to(cut)}: {_deletes(cut)} {what}{_kept(cut)}; {_stays(cut)}{wins}",
        expected=effect(
            needs_ms=needs,
            on=bytes_at(cut.frees),
            keeps_ms_at_least=cut.keeps_ms,
            is_estimate=cut.way.is_estimate,
            owner=policy.limits.topic_rule(topic).owner,
            **numbers,
        ),
        preconditions=cut_preconditions(cut, snapshot, policy, is_moving=is_moving),
        vetoes=cut_vetoes(cut, snapshot, policy),
        configs={topic: {key: {"from": old, "to": new}}},
        data_loss=cut.way.loses_data,
        **carried_out_by(
            policy, operation, before={"configs": {topic: {key: operation.inverse.args.value}}}, text=stays
        ),
    )


def _from_to(cut: RetentionCut) -> str:
    new = human_ms(cut.new_value) if cut.way.is_estimate else f"{human_bytes(cut.new_value)} a partition"
    return f"from {_limit(cut.old_value, is_age=cut.way.is_estimate)} to {new}"


def _deletes(cut: RetentionCut) -> str:
    much = "about" if cut.way.is_estimate else "at least"
    if cut.way.loses_data:
        return f"deletes {much} its oldest"
    return f"deletes local copies only, {'at most' if cut.topic.remote_copy_lag_bytes is None else much} its oldest"


def _kept(cut: RetentionCut) -> str:
    if cut.way.loses_data:
        return ""
    if cut.topic.remote_copy_lag_bytes is None:
        return "; what waits for its copy to remote storage stays, and how much that is, is not known"
    return "; remote storage has it"


def _stays(cut: RetentionCut) -> str:
    """Say how much history stays."""
    if not cut.way.is_history_known:
        return "how much history remains is unknown, because the write rate is"
    if cut.keeps_ms is None:
        return "nothing is written to it now"
    return f"every partition keeps at least {human_ms(cut.keeps_ms)}"


def _wins_ms(directory: LogDir, freed_bytes: int) -> int | None:
    """Return how much later the directory is full; None: that is not known, or never."""
    left_ms, later_ms = time_to_full_ms(directory), time_to_full_ms(directory, freed_bytes)
    return None if left_ms is None or later_ms is None else later_ms - left_ms


def _limit(value: str | None, *, is_age: bool) -> str:
    if value is None:
        return "an unknown value"
    if value == UNLIMITED:
        return "unlimited"
    if int(value) < 0:
        # local.retention.* is -2 where it follows retention.* (KIP-405).
        return "the remote limit"
    return human_ms(int(value)) if is_age else human_bytes(int(value))


def _progress(action: ActionRecord, snapshot: ClusterSnapshot) -> Progress | None:
    """Count the cut as begun once its limit is set, and as done once half of the bytes are gone.

    Retention runs late.
    """
    name = str(action.target["topic"])
    topic, changes = snapshot.topics.get(name), (action.configs or {})[name]
    if topic is None:
        return None
    is_set = all(topic.configs.get(key) == change["to"] for key, change in changes.items())
    before = action.expected.get("topic_bytes_before")
    now = sum(snapshot.layout.topic_bytes(place, name) for place in places_of(action))
    freed = None if before is None else before - now
    is_freed = is_set and freed is not None and freed * 2 >= (action.expected["frees_bytes"] or 0)
    observed = {"is_set": is_set, "frees_bytes": freed, **space_seen(action, snapshot)}
    return Progress(int(is_set), int(is_freed), 1, observed)


ACTION_TYPE = ActionType(
    kind=ActionKind.LOWER_RETENTION,
    # Ranks of cuts that only remove local copies (KIP-405): those that lose data have a stage of their own.
    relief=Relief(if_in_time=4, if_not=2, begins_at_once=True),
    fix_role=FixRole.MAKES_ROOM_WITH_LOSS,
    progress=_progress,
    covers=frees_as_much,
    reasons_against=keeps_too_little,
    follow_up=FollowUp(propose_restore),
    live_check=is_moved,
    carry_over=carry_over_limits,
    operator_reverts=True,
    executes=sets_retention,
)
