"""The action that lowers a topic's retention: what it frees, where and when, what it loses, and how it is undone."""

from typing import Any

from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.cut import Cut, effective_after_ms, floor_bytes
from logdirwatch.plan.draft import Draft, Policy, Precondition, effect
from logdirwatch.plan.facts import Directory, Facts, Topic
from logdirwatch.plan.parts import in_time, owner_of, place_target, time_to_full_ms
from logdirwatch.plan.relief_vetoes import slowest_reader, unread_text
from logdirwatch.plan.ways import UNLIMITED
from logdirwatch.report.units import human_bytes, human_ms

ESTIMATE = "about "


def cut_draft(source: Directory, cut: Cut, facts: Facts, policy: Policy, now_ms: int, *, is_moving: bool) -> Draft:
    """Return the action for one cut; ``is_moving`` where another action for the alert moves the topic's replicas."""
    topic, frees = cut.topic.name, cut.frees_at(source.place)
    needs = effective_after_ms(cut.topic, facts)
    elsewhere = sum(cut.frees.values()) - frees
    return Draft(
        kind=ActionKind.LOWER_RETENTION,
        target={**place_target(source), "topic": topic},
        reason=f"lower {cut.way.key} of {topic} {_from_to(cut)}: {_deletes(cut)} {human_bytes(frees)} in "
        f"{source.path}, and {human_bytes(elsewhere)} on other directories; {_more(cut)}",
        expected=cut_effect(
            cut,
            policy,
            frees_bytes=frees,
            frees_by_ms=now_ms + needs,
            needs_ms=needs,
            time_to_full_after_ms=time_to_full_ms(source, frees),
            topic_bytes_before=facts.layout.topic_bytes(source.place, topic),
            floor_bytes=floor_bytes(cut, source.place, facts),
        ),
        preconditions=(in_time(source, needs), *cut_preconditions(cut, facts, policy, is_moving=is_moving)),
        commands=(policy.tools.set_topic_config(topic, cut.way.key, str(cut.new_value)),),
        configs={topic: {cut.way.key: {"from": cut.old_value, "to": str(cut.new_value)}}},
        undo=cut_undo(cut, policy),
        data_loss=cut.way.loses_data,
    )


def fleet_cut_draft(cut: Cut, useful_bytes: int, facts: Facts, policy: Policy, now_ms: int) -> Draft:
    """Return the action for a cut that is made for many directories; ``useful_bytes`` are those that need them."""
    topic, everywhere = cut.topic.name, sum(cut.frees.values())
    needs = effective_after_ms(cut.topic, facts)
    return Draft(
        kind=ActionKind.LOWER_RETENTION,
        target={"broker": None, "log_dir": None, "topic": topic},
        reason=f"lower {cut.way.key} of {topic} {_from_to(cut)}: {_deletes(cut)} {human_bytes(everywhere)} in "
        f"{len(cut.frees)} directories, {human_bytes(useful_bytes)} of them where they are needed; {_more(cut)}",
        expected=cut_effect(
            cut,
            policy,
            frees_bytes=useful_bytes,
            frees_by_ms=now_ms + needs,
            needs_ms=needs,
            topic_bytes_before=sum(facts.layout.topic_bytes(place, topic) for place in cut.frees),
        ),
        preconditions=cut_preconditions(cut, facts, policy, is_moving=False),
        commands=(policy.tools.set_topic_config(topic, cut.way.key, str(cut.new_value)),),
        configs={topic: {cut.way.key: {"from": cut.old_value, "to": str(cut.new_value)}}},
        undo=cut_undo(cut, policy),
        data_loss=cut.way.loses_data,
    )


def cut_effect(cut: Cut, policy: Policy, **numbers: Any) -> dict[str, Any]:
    """Return what a cut brings: every directory that gains, the history that stays, whose it is."""
    return effect(
        on=[{"broker": b, "log_dir": path, "bytes": size} for (b, path), size in sorted(cut.frees.items())],
        keeps_ms_at_least=cut.keeps_ms,
        is_estimate=cut.way.is_estimate,
        owner=policy.limits.topic_rule(cut.topic.name).owner,
        **numbers,
    )


def cut_preconditions(cut: Cut, facts: Facts, policy: Policy, *, is_moving: bool) -> tuple[Precondition, ...]:
    """Return what must hold of the topic: its consumers, owner, history, and that nothing holds its segments."""
    topic = cut.topic.name
    moves = f"no replica of {topic} is moved meanwhile: its retention would stand still"
    agrees = Precondition("owner_agrees", f"{owner_of(topic, policy)} agrees to lose it", None)
    consumers = consumers_done(cut.topic, facts, spared=policy.limits.spare_unread)
    copied = Precondition("remote_copied", _COPIED.format(topic), True if _is_copied(cut) else None)
    return (
        *((consumers, agrees) if cut.way.loses_data else (copied,)),
        _min_retention(cut, policy),
        Precondition("no_move", moves, None if is_moving else True),
        *_held_back(cut),
    )


def consumers_done(topic: Topic, facts: Facts, *, spared: bool) -> Precondition:
    """Return that no consumer loses what it has to read, as far as committed offsets tell.

    ``spared``: what goes is no part of what groups have to read. Consumers without a group commit nothing.
    """
    text = f"no consumer of {topic.name} still needs what is deleted"
    if not all(partition.is_unread_known for partition in topic.partitions):
        return Precondition("consumers_done", f"{text}; what groups have read is not known", None)
    slowest = slowest_reader(topic, facts)
    if slowest is None or spared:
        groups = max((partition.groups or 0 for partition in topic.partitions), default=0)
        who = "every consumer group has read it" if groups else "no consumer group reads the topic"
        return Precondition("consumers_done", f"{text}; {who}", True)
    return Precondition("consumers_done", f"{text}; {unread_text(slowest, facts)}", False)


def cut_undo(cut: Cut, policy: Policy) -> dict[str, Any]:
    """Return how the limit of before is set again, or the override taken away that was not there."""
    topic, old = cut.topic.name, cut.old_value if cut.is_overridden else None
    return {
        "configs": {topic: {cut.way.key: old}},
        "commands": [policy.tools.set_topic_config(topic, cut.way.key, old)],
        "text": "what was deleted does not come back" if cut.way.loses_data else "local copies are not fetched again",
    }


_COPIED = "what goes of {} locally is in remote storage: RemoteCopyLagBytes is 0"


def _is_copied(cut: Cut) -> bool:
    return cut.topic.remote_copy_lag_bytes == 0


def _held_back(cut: Cut) -> list[Precondition]:
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


def _min_retention(cut: Cut, policy: Policy) -> Precondition:
    configured = policy.limits.topic_rule(cut.topic.name).min_retention_ms
    kept, wanted = cut.keeps_ms, policy.limits.min_retention_ms if configured is None else configured
    known = "an unknown time" if kept is None else f"at least {human_ms(kept)}"
    text = f"{human_ms(wanted)} of history should stay; {known} does"
    # The bound is a lower one: below the wanted time nobody knows, unless the topic alone makes the growth.
    return Precondition("min_retention", text, True if kept is not None and kept >= wanted else None)


def _from_to(cut: Cut) -> str:
    new = human_ms(cut.new_value) if cut.way.is_estimate else f"{human_bytes(cut.new_value)} a partition"
    return f"from {_limit(cut.old_value, is_age=cut.way.is_estimate)} to {new}"


def _deletes(cut: Cut) -> str:
    what = "its oldest" if cut.way.loses_data else "from the local disk only, as remote storage has it, its oldest"
    return f"deletes {ESTIMATE}{what}" if cut.way.is_estimate else f"deletes at least {what}"


def _more(cut: Cut) -> str:
    if cut.way.is_estimate:
        return "by the rate at which it is written now; nothing younger than the limit goes"
    return "at most one segment a replica more"


def _limit(value: str | None, *, is_age: bool) -> str:
    if value is None:
        return "an unknown value"
    if value == UNLIMITED:
        return "unlimited"
    if int(value) < 0:
        return "the remote limit"
    return human_ms(int(value)) if is_age else human_bytes(int(value))
