"""A directory that fills: move replicas within the broker, cut retention, grow the volume."""

from collections.abc import Mapping, Sequence
from typing import Any

from logdirwatch.model.identity import identity
from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.assignment import to_json
from logdirwatch.plan.commands import note
from logdirwatch.plan.draft import Draft, Policy, Precondition, Veto, effect
from logdirwatch.plan.facts import Directory, Facts, Place
from logdirwatch.plan.moves import Moves, copy_growth, needed_bytes, plan_moves
from logdirwatch.plan.retention import (
    DELETE_DELAY_MS,
    RETENTION_BYTES,
    UNLIMITED,
    Cut,
    Cuts,
    effective_after_ms,
    plan_cuts,
)
from logdirwatch.plan.space import Space
from logdirwatch.report.units import human_bytes, human_ms


def filling_drafts(source: Directory, facts: Facts, policy: Policy, now_ms: int) -> list[Draft]:
    """Return what helps a filling directory, the gentlest first; empty when nothing does."""
    moves = plan_moves(source, facts, policy)
    needed = needed_bytes(source, Space(facts), policy) or 0
    cuts = plan_cuts(source, facts, policy, needed) if needed > 0 else Cuts()
    drafts = [_move(source, moves, facts, policy, now_ms)] if moves.assignments or _is_worth_saying(moves) else []
    moved_topics = {assignment.topic for assignment in moves.assignments}
    drafts += [_cut(source, cut, facts, policy, now_ms, is_moving=cut.topic.name in moved_topics) for cut in cuts.cuts]
    if needed > 0 and all(draft.vetoes for draft in drafts):
        drafts.append(expand_disk(source, policy, needed, instead=[*moves.vetoes, *cuts.vetoes]))
    return drafts


def expand_disk(directory: Directory, policy: Policy, needed: int, instead: Sequence[Veto] = ()) -> Draft:
    """Return the advice to grow the volume until the directory is under the target ratio.

    ``instead`` are the reasons why nothing gentler is advised.
    """
    more = int(needed / policy.limits.target_ratio) + 1
    size = directory.total_bytes or 0
    text = f"grow the volume under {directory.path} on broker {directory.broker} by {human_bytes(more)}"
    return Draft(
        kind=ActionKind.EXPAND_DISK,
        target={"broker": directory.broker, "log_dir": directory.path},
        reason=f"{text}, from {human_bytes(size)} to {human_bytes(size + more)}: nothing is lost and nothing is moved"
        + "".join(f"; {veto.reason}" for veto in instead),
        expected=effect(
            frees_bytes=more,
            on=[{"broker": directory.broker, "log_dir": directory.path, "bytes": more}],
            time_to_full_after_ms=time_to_full_ms(directory, more),
            total_bytes_before=size,
            total_bytes=size + more,
        ),
        preconditions=(Precondition("volume_can_grow", "the volume may still be grown by this much", None),),
        commands=(note(f"On broker {directory.broker}'s host: {text}, then the file system."),),
        undo={"text": "a volume cannot be made smaller"},
    )


def time_to_full_ms(directory: Directory, freed_bytes: int) -> int | None:
    """Return how long the directory lasts at its present growth once ``freed_bytes`` are there."""
    growth = directory.growth_bytes_per_s
    if growth is None or growth <= 0 or directory.usable_bytes is None:
        return None
    return int((directory.usable_bytes + freed_bytes) / growth * 1000)


def _is_worth_saying(moves: Moves) -> bool:
    """Tell a veto that stands against every move, as the move is what people try first."""
    return any(veto.name in {"log_dir_offline", "log_dir_unknown", "slower_than_writes"} for veto in moves.vetoes)


def _move(source: Directory, moves: Moves, facts: Facts, policy: Policy, now_ms: int) -> Draft:
    target = {"broker": source.broker, "log_dir": source.path}
    if not moves.assignments:
        return Draft(
            kind=ActionKind.MOVE_LOG_DIR,
            target=target,
            reason=f"moving replicas off {source.path} is what would help, but it must not be done now",
            expected=effect(),
            vetoes=moves.vetoes,
        )
    rate = policy.limits.log_dir_throttle_bytes_per_s
    growth = copy_growth(source.growth_bytes_per_s, moves.moved_bytes, policy)
    delay = effective_delay_ms(source.broker, facts)
    needs = (moves.moved_bytes + growth) * 1000 // rate + delay
    plan, name = to_json(moves.assignments), file_name(ActionKind.MOVE_LOG_DIR, source.place)
    run = policy.tools.reassign(plan, name, log_dir_rate=rate, rate=None)
    before = to_json(moves.before)
    destinations = ", ".join(path for _, path in sorted(moves.bytes_in or {}))
    enough = "enough" if moves.moved_bytes >= moves.needed_bytes else f"{human_bytes(moves.needed_bytes)} are needed"
    return Draft(
        kind=ActionKind.MOVE_LOG_DIR,
        target=target,
        reason=f"move {human_bytes(moves.moved_bytes)} in {len(moves.assignments)} replicas from {source.path} to "
        f"{destinations} of the same broker ({enough}); no other broker is touched and no data is lost",
        expected=effect(
            frees_bytes=moves.moved_bytes,
            frees_by_ms=now_ms + needs,
            needs_ms=needs,
            on=_changes(source.place, moves.moved_bytes, moves.bytes_in or {}),
            time_to_full_after_ms=time_to_full_ms(source, moves.moved_bytes),
        ),
        preconditions=(in_time(source, needs), nothing_runs(), no_retention_cut()),
        commands=tuple(run),
        reassignment=plan,
        undo=way_back(before, name, policy, log_dir_rate=rate),
    )


def _cut(source: Directory, cut: Cut, facts: Facts, policy: Policy, now_ms: int, *, is_moving: bool) -> Draft:
    topic, frees = cut.topic.name, cut.frees_at(source.place)
    needs = effective_after_ms(cut.topic, facts)
    old = cut.old_value
    tools = policy.tools
    elsewhere = sum(cut.frees.values()) - frees
    return Draft(
        kind=ActionKind.LOWER_RETENTION,
        target={"broker": source.broker, "log_dir": source.path, "topic": topic},
        reason=f"lower {RETENTION_BYTES} of {topic} from {_limit(old)} to {human_bytes(cut.new_value)} a partition: "
        f"deletes at least its oldest {human_bytes(frees)} in {source.path}, and {human_bytes(elsewhere)} on other "
        f"directories; at most one segment a replica more",
        expected=effect(
            frees_bytes=frees,
            frees_by_ms=now_ms + needs,
            needs_ms=needs,
            on=[{"broker": b, "log_dir": path, "bytes": size} for (b, path), size in sorted(cut.frees.items())],
            time_to_full_after_ms=time_to_full_ms(source, frees),
            keeps_ms_at_least=_kept_ms(source, cut),
            topic_bytes_before=facts.layout.topic_bytes(source.place, topic),
        ),
        preconditions=(
            in_time(source, needs),
            Precondition("consumers_done", f"no consumer of {topic} still needs what is deleted", None),
            Precondition("owner_agrees", f"the owner of {topic} agrees to lose it", None),
            _min_retention(source, cut, policy),
            Precondition(
                "no_move",
                f"no replica of {topic} is moved meanwhile: its retention would stand still",
                None if is_moving else True,
            ),
        ),
        commands=(tools.set_topic_config(topic, RETENTION_BYTES, str(cut.new_value)),),
        configs={topic: {RETENTION_BYTES: {"from": old, "to": str(cut.new_value)}}},
        undo={
            "configs": {topic: {RETENTION_BYTES: old if cut.is_overridden else None}},
            "commands": [tools.set_topic_config(topic, RETENTION_BYTES, old if cut.is_overridden else None)],
            "text": "what was deleted does not come back",
        },
        data_loss=True,
    )


def effective_delay_ms(broker: int, facts: Facts) -> int:
    """Return how long a broker keeps deleted files."""
    found = facts.brokers[broker].configs.get("log.segment.delete.delay.ms") if broker in facts.brokers else None
    return DELETE_DELAY_MS if found is None else int(found)


def in_time(source: Directory, needs_ms: int) -> Precondition:
    """Whether the action takes effect before the directory is full."""
    left = time_to_full_ms(source, 0)
    left_text = "an unknown time" if left is None else human_ms(left)
    text = f"takes effect in {human_ms(needs_ms)}; {source.path} is full in {left_text}"
    return Precondition("in_time", text, None if left is None else left > needs_ms)


def nothing_runs() -> Precondition:
    """Kafka's tool refuses a second reassignment."""
    return Precondition("no_reassignment_runs", "no other reassignment is running; the tool refuses otherwise", None)


def no_retention_cut() -> Precondition:
    """Retention of a moving replica stands still until it has moved."""
    return Precondition("no_retention_cut", "no retention cut of a moved topic is waiting for its effect", None)


def way_back(before: Mapping[str, Any], name: str, policy: Policy, **rates: int | None) -> dict[str, Any]:
    """Return the undo of a reassignment: stop it while it runs, or put the replicas back where they were."""
    throttles = {"log_dir_rate": None, "rate": None, **rates}
    return {
        "while_running": [policy.tools.cancel(name)],
        "commands": policy.tools.reassign(before, f"undo-{name}", **throttles),
        "reassignment": before,
    }


def file_name(kind: ActionKind, place: Place) -> str:
    """Return the name of a reassignment's file: the same for the same action, in the working directory."""
    return f"logdirwatch-{kind}-{identity(str(place[0]), place[1])[:8]}.json"


def _changes(source: Place, freed: int, bytes_in: Mapping[Place, int]) -> list[dict[str, Any]]:
    taken = [{"broker": b, "log_dir": path, "bytes": -size} for (b, path), size in sorted(bytes_in.items())]
    return [{"broker": source[0], "log_dir": source[1], "bytes": freed}, *taken]


def _limit(value: str | None) -> str:
    if value is None:
        return "an unknown value"
    return "unlimited" if value == UNLIMITED else human_bytes(int(value))


def _kept_ms(source: Directory, cut: Cut) -> int | None:
    """Return the history that stays at least: at worst all growth of the directory is one replica's."""
    growth = source.growth_bytes_per_s
    return None if growth is None or growth <= 0 else int(cut.new_value / growth * 1000)


def _min_retention(source: Directory, cut: Cut, policy: Policy) -> Precondition:
    kept, wanted = _kept_ms(source, cut), policy.limits.min_retention_ms
    known = "an unknown time" if kept is None else f"at least {human_ms(kept)}"
    text = f"{human_ms(wanted)} of history should stay; {known} does"
    # The bound is a lower one: below the wanted time nobody knows, unless the topic alone makes the growth.
    return Precondition("min_retention", text, True if kept is not None and kept >= wanted else None)
