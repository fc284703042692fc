"""``lower_retention``: lower a topic's retention; what it frees, where and when, what is lost, and the undo."""

from collections.abc import Iterator
from typing import Any

from logdirwatch.collect.kafka.answers import Quorum
from logdirwatch.model.actions.operations import Operation
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.actions.action_type import ActionType, FixRole, FollowUp, Relief, frees_as_much
from logdirwatch.plan.actions.progress import Progress, places_of, space_seen
from logdirwatch.plan.actions.topics.restore_retention import carry_over_limits, is_cut, propose_restore, sets_retention
from logdirwatch.plan.capacity.timing import in_time, place_target, time_to_full_ms
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.commands.operations import rendered, topic_config
from logdirwatch.plan.proposal import Policy, ProposedAction, effect
from logdirwatch.plan.retention.cut_conditions import cut_preconditions, cut_vetoes, keeps_too_little
from logdirwatch.plan.retention.limits import UNLIMITED, RetentionCut, bytes_under_any_limit, effective_after_ms
from logdirwatch.plan.vetoes import replica_vetoes
from logdirwatch.text.units import human_bytes, human_ms, human_parts
from logdirwatch.text.words import counted


def propose_cut(
    source: LogDir, cut: RetentionCut, snapshot: ClusterSnapshot, policy: Policy, now_ms: int, *, is_moving: bool
) -> ProposedAction:
    """Return the action for one cut; ``is_moving`` where another action for the alert moves the topic's replicas."""
    topic, frees = cut.topic.name, cut.frees_at(source.place)
    needs, before = effective_after_ms(cut.topic, snapshot), snapshot.layout.topic_bytes(source.place, topic)
    elsewhere = sum(cut.frees.values()) - frees
    beside = f", and {human_bytes(elsewhere)} in other directories" if elsewhere else ""
    part, whole = human_parts(frees, before)
    wins = _wins_ms(source, frees)
    return ProposedAction(
        kind=ActionKind.LOWER_RETENTION,
        target={**place_target(source), "topic": topic},
        reason=f"lower {cut.way.key} of {topic} {_from_to(cut)}: {_deletes(cut)} {part} of {whole} in "
        f"{source.path}{beside}; {_more(cut)}; {_stays(cut)}{_wins(wins)}",
        expected=cut_effect(
            cut,
            policy,
            frees_bytes=frees,
            frees_by_ms=now_ms + needs,
            needs_ms=needs,
            time_to_full_after_ms=time_to_full_ms(source, frees),
            wins_ms=wins,
            topic_bytes_before=before,
            keeps_bytes=before - int(frees / snapshot.on_disk_ratio(source.place)),
            floor_bytes=bytes_under_any_limit(cut, source.place, snapshot),
        ),
        preconditions=(in_time(source, needs), *cut_preconditions(cut, snapshot, policy, is_moving=is_moving)),
        vetoes=cut_vetoes(cut, snapshot, policy),
        operations=(operation := _operation(cut),),
        commands=rendered([operation], policy.tools),
        configs={topic: {cut.way.key: {"from": cut.old_value, "to": str(cut.new_value)}}},
        undo=cut_undo(cut, policy),
        data_loss=cut.way.loses_data,
    )


def propose_fleet_cut(
    cut: RetentionCut, useful_bytes: int, snapshot: ClusterSnapshot, policy: Policy, now_ms: int
) -> ProposedAction:
    """Return the action for a cut that serves several directories; ``useful_bytes`` are those that they need."""
    topic, everywhere = cut.topic.name, sum(cut.frees.values())
    needed = f", {human_bytes(useful_bytes)} of it where it is needed" if useful_bytes < everywhere else ""
    needs, before = (
        effective_after_ms(cut.topic, snapshot),
        sum(snapshot.layout.topic_bytes(p, topic) for p in cut.frees),
    )
    won = [_wins_ms(snapshot.directories[place], freed) for place, freed in cut.frees.items()]
    wins = min((time_ms for time_ms in won if time_ms is not None), default=None)
    return ProposedAction(
        kind=ActionKind.LOWER_RETENTION,
        target={"broker": None, "log_dir": None, "topic": topic},
        reason=f"lower {cut.way.key} of {topic} {_from_to(cut)}: {_deletes(cut)} {human_bytes(everywhere)} in "
        f"{counted(len(cut.frees), 'directory')}{needed}; {_more(cut)}; "
        f"{_stays(cut)}{_wins(wins, 'each', ' at least')}",
        expected=cut_effect(
            cut,
            policy,
            frees_bytes=useful_bytes,
            frees_by_ms=now_ms + needs,
            needs_ms=needs,
            wins_ms=wins,
            topic_bytes_before=before,
            keeps_bytes=before - sum(int(freed / snapshot.on_disk_ratio(p)) for p, freed in cut.frees.items()),
        ),
        preconditions=cut_preconditions(cut, snapshot, policy, is_moving=False),
        vetoes=cut_vetoes(cut, snapshot, policy),
        operations=(operation := _operation(cut),),
        commands=rendered([operation], policy.tools),
        configs={topic: {cut.way.key: {"from": cut.old_value, "to": str(cut.new_value)}}},
        undo=cut_undo(cut, policy),
        data_loss=cut.way.loses_data,
    )


def cut_effect(cut: RetentionCut, policy: Policy, **numbers: Any) -> dict[str, Any]:
    """Return the effect of a cut: every directory that gains, the history that stays, and the topic's owner."""
    return effect(
        on=[{"broker": b, "log_dir": path, "bytes": size} for (b, path), size in sorted(cut.frees.items())],
        keeps_ms_at_least=cut.keeps_ms,
        is_estimate=cut.way.is_estimate,
        owner=policy.limits.topic_rule(cut.topic.name).owner,
        **numbers,
    )


def cut_undo(cut: RetentionCut, policy: Policy) -> dict[str, Any]:
    """Return how to set the old limit again, or delete an override that did not exist before."""
    topic, inverse = cut.topic.name, _operation(cut).inverse
    return {
        "configs": {topic: {cut.way.key: inverse.args.value}},
        "commands": list(rendered([inverse], policy.tools)),
        "text": "deleted records cannot be restored" if cut.way.loses_data else "local copies are not fetched again",
    }


def _operation(cut: RetentionCut) -> Operation:
    """Return the change itself; its inverse deletes an override that did not exist before."""
    old = cut.old_value
    new = str(cut.new_value)
    return topic_config(cut.topic.name, cut.way.key, new, now=old, old=old if cut.is_overridden else None)


def _from_to(cut: RetentionCut) -> str:
    new = human_ms(cut.new_value) if cut.way.is_estimate else f"{human_bytes(cut.new_value)} a partition"
    return f"from {_limit(cut.old_value, is_age=cut.way.is_estimate)} to {new}"


def _deletes(cut: RetentionCut) -> str:
    much = "about" if cut.way.is_estimate else "at least"
    if cut.way.loses_data:
        return f"deletes {much} its oldest"
    return f"deletes local copies only, {'at most' if cut.topic.remote_copy_lag_bytes is None else much} its oldest"


def _more(cut: RetentionCut) -> str:
    kept = "; remote storage has it"
    if cut.way.loses_data:
        kept = ""
    elif cut.topic.remote_copy_lag_bytes is None:
        kept = "; what waits for its copy to remote storage stays, and how much that is, is not known"
    if cut.way.is_estimate:
        return f"by the rate at which it is written now; nothing younger than the limit goes{kept}"
    return f"at most one segment a replica more{kept}"


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


def _wins(wins_ms: int | None, which: str = "the directory", at_least: str = "") -> str:
    return "" if wins_ms is None else f"; {which} is full {human_ms(wins_ms)} later{at_least}"


def _limit(value: str | None, *, is_age: bool) -> str:
    if value is None:
        return "an unknown value"
    if value == UNLIMITED:
        return "unlimited"
    if int(value) < 0:
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


def _restored(action: ActionRecord, snapshot: ClusterSnapshot, policy: Policy) -> ProposedAction | None:
    return propose_restore(action, snapshot, policy) if is_cut(action, snapshot) else None


def _moves(action: ActionRecord, snapshot: ClusterSnapshot, _quorum: Quorum | None) -> Iterator[str]:
    """Yield a veto if the topic moves: retention does not run on moving replicas."""
    topic = snapshot.topics.get(str(action.target.get("topic")))
    found = (replica_vetoes.partition_moving(snapshot, partition) for partition in (topic.partitions if topic else ()))
    yield from (veto.reason for veto in found if veto is not None)


ACTION_TYPE = ActionType(
    kind=ActionKind.LOWER_RETENTION,
    relief=Relief(if_in_time=4, if_not=2, begins_at_once=True),
    fix_role=FixRole.MAKES_ROOM_WITH_LOSS,
    progress=_progress,
    covers=frees_as_much,
    reasons_against=keeps_too_little,
    follow_up=FollowUp(_restored),
    live_check=_moves,
    carry_over=carry_over_limits,
    operator_reverts=True,
    executes=sets_retention,
)
