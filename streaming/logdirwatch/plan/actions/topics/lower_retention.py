"""The action that lowers a topic's retention: what it frees, where and when, what it loses, and how it is undone."""

from collections.abc import Iterator
from typing import Any

from logdirwatch.collect.kafka.answers import Quorum
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.actions.action_type import (
    ActionType,
    FixRole,
    FollowUp,
    Relief,
    frees_as_much,
)
from logdirwatch.plan.actions.progress import Progress, places_of, space_seen
from logdirwatch.plan.actions.topics.restore_retention import carry_over_limits, is_cut, propose_restore
from logdirwatch.plan.capacity.timing import in_time, place_target, time_to_full_ms
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir, Topic
from logdirwatch.plan.proposal import Policy, Precondition, ProposedAction, Veto, effect, owner_of
from logdirwatch.plan.retention.cut import RetentionCut, effective_after_ms, floor_bytes
from logdirwatch.plan.retention.limits import UNLIMITED, is_copy_delayed
from logdirwatch.plan.retention.retention_vetoes import slowest_reader, unread_goes, unread_text
from logdirwatch.plan.retention.still_needed import keeps_too_little
from logdirwatch.plan.retention.write_rates import wanted_ms
from logdirwatch.plan.vetoes import replica_vetoes
from logdirwatch.text.units import human_bytes, human_ms
from logdirwatch.text.words import counted


def propose_cut(
    source: LogDir, cut: RetentionCut, snapshot: ClusterSnapshot, policy: Policy, now_ms: int, *, is_moving: bool
) -> ProposedAction:
    """Return the action for one cut; ``is_moving`` where another action for the alert moves the topic's replicas."""
    topic, frees = cut.topic.name, cut.frees_at(source.place)
    needs, before = effective_after_ms(cut.topic, snapshot), snapshot.layout.topic_bytes(source.place, topic)
    elsewhere = sum(cut.frees.values()) - frees
    wins = _wins_ms(source, frees)
    return ProposedAction(
        kind=ActionKind.LOWER_RETENTION,
        target={**place_target(source), "topic": topic},
        reason=f"lower {cut.way.key} of {topic} {_from_to(cut)}: {_deletes(cut)} {human_bytes(frees)} of "
        f"{human_bytes(before)} in {source.path}, and {human_bytes(elsewhere)} in other directories; {_more(cut)}; "
        f"{_stays(cut)}{_wins(wins)}",
        expected=cut_effect(
            cut,
            policy,
            frees_bytes=frees,
            frees_by_ms=now_ms + needs,
            needs_ms=needs,
            time_to_full_after_ms=time_to_full_ms(source, frees),
            wins_ms=wins,
            topic_bytes_before=before,
            keeps_bytes=before - frees,
            floor_bytes=floor_bytes(cut, source.place, snapshot),
        ),
        preconditions=(in_time(source, needs), *cut_preconditions(cut, snapshot, policy, is_moving=is_moving)),
        vetoes=cut_vetoes(cut, snapshot, policy),
        commands=(policy.tools.set_topic_config(topic, cut.way.key, str(cut.new_value)),),
        configs={topic: {cut.way.key: {"from": cut.old_value, "to": str(cut.new_value)}}},
        undo=cut_undo(cut, policy),
        data_loss=cut.way.loses_data,
    )


def propose_fleet_cut(
    cut: RetentionCut, useful_bytes: int, snapshot: ClusterSnapshot, policy: Policy, now_ms: int
) -> ProposedAction:
    """Return the action for a cut that is made for many directories; ``useful_bytes`` are those that need them."""
    topic, everywhere = cut.topic.name, sum(cut.frees.values())
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
        f"{counted(len(cut.frees), 'directory')}, {human_bytes(useful_bytes)} of them where they are needed; "
        f"{_more(cut)}; "
        f"{_stays(cut)}{_wins(wins, 'each', ' at least')}",
        expected=cut_effect(
            cut,
            policy,
            frees_bytes=useful_bytes,
            frees_by_ms=now_ms + needs,
            needs_ms=needs,
            wins_ms=wins,
            topic_bytes_before=before,
            keeps_bytes=before - everywhere,
        ),
        preconditions=cut_preconditions(cut, snapshot, policy, is_moving=False),
        vetoes=cut_vetoes(cut, snapshot, policy),
        commands=(policy.tools.set_topic_config(topic, cut.way.key, str(cut.new_value)),),
        configs={topic: {cut.way.key: {"from": cut.old_value, "to": str(cut.new_value)}}},
        undo=cut_undo(cut, policy),
        data_loss=cut.way.loses_data,
    )


def cut_effect(cut: RetentionCut, policy: Policy, **numbers: Any) -> dict[str, Any]:
    """Return what a cut brings: every directory that gains, the history that stays, whose it is."""
    return effect(
        on=[{"broker": b, "log_dir": path, "bytes": size} for (b, path), size in sorted(cut.frees.items())],
        keeps_ms_at_least=cut.keeps_ms,
        is_estimate=cut.way.is_estimate,
        owner=policy.limits.topic_rule(cut.topic.name).owner,
        **numbers,
    )


def cut_preconditions(
    cut: RetentionCut, snapshot: ClusterSnapshot, policy: Policy, *, is_moving: bool
) -> tuple[Precondition, ...]:
    """Return what must hold of the topic: its consumers, owner, history, and that nothing holds its segments."""
    topic = cut.topic.name
    moves = f"no replica of {topic} is moved meanwhile: its retention would stand still"
    agrees = Precondition("owner_agrees", f"{owner_of(topic, policy)} agrees to lose it", None)
    consumers = consumers_done(cut.topic, snapshot, spared=cut.spares_unread)
    return (
        *((consumers, agrees) if cut.way.loses_data else (_remote_copied(cut.topic),)),
        _min_retention(cut, policy),
        Precondition("no_move", moves, None if is_moving else True),
        *_held_back(cut),
    )


def cut_vetoes(cut: RetentionCut, snapshot: ClusterSnapshot, policy: Policy) -> tuple[Veto, ...]:
    """Refuse a cut that by its own numbers leaves less than must stay; nothing here plans one but by configuration."""
    history = _min_retention(cut, policy)
    found = [
        Veto("min_retention", f"of {cut.topic.name}, {history.text}") if history.holds is False else None,
        unread_goes(cut.topic, snapshot, is_spared=cut.spares_unread),
    ]
    return tuple(veto for veto in found if veto is not None)


def consumers_done(topic: Topic, snapshot: ClusterSnapshot, *, spared: bool) -> Precondition:
    """Return that no consumer loses what it has to read, as far as committed offsets tell.

    ``spared``: what goes is no part of what groups have to read. Consumers without a group commit nothing.
    """
    text = f"no consumer of {topic.name} still needs what is deleted"
    if not all(partition.is_unread_known for partition in topic.partitions):
        return Precondition("consumers_done", f"{text}; what groups have read is not known", None)
    slowest = slowest_reader(topic, snapshot)
    if slowest is None or spared:
        groups = max((partition.groups or 0 for partition in topic.partitions), default=0)
        who = "every consumer group has read it" if groups else "no consumer group reads the topic"
        return Precondition("consumers_done", f"{text}; {who}", True)
    return Precondition("consumers_done", f"{text}; {unread_text(slowest, snapshot)}", False)


def cut_undo(cut: RetentionCut, policy: Policy) -> dict[str, Any]:
    """Return how the limit of before is set again, or the override taken away that was not there."""
    topic, old = cut.topic.name, cut.old_value if cut.is_overridden else None
    return {
        "configs": {topic: {cut.way.key: old}},
        "commands": [policy.tools.set_topic_config(topic, cut.way.key, old)],
        "text": "what was deleted does not come back" if cut.way.loses_data else "local copies are not fetched again",
    }


def _remote_copied(topic: Topic) -> Precondition:
    """Return that remote storage has what goes: Kafka deletes nothing else, so the lag only says how much goes.

    A lag of 0 is no proof before Kafka 4.3: the gauge may stand still while copies fail (KAFKA-19995).
    """
    text = f"what goes of {topic.name} locally is in remote storage"
    lag = topic.remote_copy_lag_bytes
    if lag is None:
        return Precondition("remote_copied", f"{text}: RemoteCopyLagBytes is not known; what waits stays", None)
    if is_copy_delayed(topic):
        return Precondition("remote_copied", f"{text}: copies are delayed by remote.copy.lag.*; what waits stays", None)
    waits = f"{human_bytes(lag)} wait for their copy and stay; before Kafka 4.3 it may be more, if copies fail"
    return Precondition("remote_copied", f"{text}: {waits}", True)


def _held_back(cut: RetentionCut) -> list[Precondition]:
    """Return what may keep segments that the limit would delete; nothing where nothing does.

    Kafka waits for the high watermark, and looks at a segment's largest timestamp (``UnifiedLog.deletableSegments``).
    """
    found = []
    needed = cut.topic.number("min.insync.replicas", 1)
    stuck = [p.label for p in cut.topic.partitions if p.leader is None or len(p.isr) < needed]
    if stuck:
        text = (
            f"the high watermark of {', '.join(stuck[:5])} moves on: it may wait for a leader, or for replicas in sync"
        )
        found.append(Precondition("high_watermark_moves", text, None))
    if cut.way.is_estimate:
        is_logged = cut.topic.configs.get("message.timestamp.type") == "LogAppendTime"
        text = f"no record of {cut.topic.name} has a time in the future: it would hold its segment"
        found.append(Precondition("timestamps", text, True if is_logged else None))
    return found


def _min_retention(cut: RetentionCut, policy: Policy) -> Precondition:
    """Return that enough history stays: known as soon as the rate is at which the topic is written."""
    kept, wanted = cut.keeps_ms, wanted_ms(cut.topic, policy)
    text = f"{human_ms(wanted)} of history should stay; "
    if not cut.way.is_history_known:
        return Precondition("min_retention", f"{text}whether it does is not known, nor how fast it is written", None)
    if kept is None:
        return Precondition("min_retention", f"{text}nothing is written now, so it does", True)
    return Precondition("min_retention", f"{text}at least {human_ms(kept)} does", kept >= wanted)


def _from_to(cut: RetentionCut) -> str:
    new = human_ms(cut.new_value) if cut.way.is_estimate else f"{human_bytes(cut.new_value)} a partition"
    return f"from {_limit(cut.old_value, is_age=cut.way.is_estimate)} to {new}"


def _deletes(cut: RetentionCut) -> str:
    much = "about" if cut.way.is_estimate else "at least"
    return f"deletes {much} its oldest" if cut.way.loses_data else f"deletes local copies only, {much} its oldest"


def _more(cut: RetentionCut) -> str:
    kept = "" if cut.way.loses_data else "; remote storage has it"
    if cut.way.is_estimate:
        return f"by the rate at which it is written now; nothing younger than the limit goes{kept}"
    return f"at most one segment a replica more{kept}"


def _stays(cut: RetentionCut) -> str:
    """Say how much history stays."""
    if not cut.way.is_history_known:
        return "how far back the rest goes is not known, as its write rate is not"
    if cut.keeps_ms is None:
        return "nothing is written to it now"
    return f"every partition keeps at least {human_ms(cut.keeps_ms)}"


def _wins_ms(directory: LogDir, freed_bytes: int) -> int | None:
    """Return how much later a directory is full."""
    growth = directory.growth_bytes_per_s
    return int(freed_bytes / growth * 1000) if growth is not None and growth > 0 else None


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
    """Count the limit as begun once it is set, and as reached once half of the bytes are gone: retention runs late."""
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


def _moves(action: ActionRecord, snapshot: ClusterSnapshot, quorum: Quorum | None) -> Iterator[str]:
    """Yield what moves: its retention stands still."""
    del quorum
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
)
