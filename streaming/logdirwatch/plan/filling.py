"""A directory that fills: what gives it room, the gentlest first, and what is left when nothing does.

In this order: moves of others that would overflow it are stopped; replicas go to other directories of the broker, then
to other brokers; retention is cut; records are deleted where no retention reaches them; idle topics are named. Where
all that does not do, the volume must grow, or the broker needs one more directory. Beside these stand what wins time
when nothing is in time (a brake on the producers, the reserve file), and a cordon, so that nothing new is put there.
"""

from collections.abc import Sequence

from logdirwatch.model.vocabulary import ActionKind, LogDirStatus
from logdirwatch.plan.brake import brake_drafts
from logdirwatch.plan.copies import overflow_drafts
from logdirwatch.plan.cordon import cordon_drafts
from logdirwatch.plan.cutting import cut_draft
from logdirwatch.plan.deletion import candidate_drafts, delete_records_drafts
from logdirwatch.plan.draft import Draft, Policy, Veto
from logdirwatch.plan.facts import Directory, Facts
from logdirwatch.plan.moves import Moves, needed_bytes, plan_moves
from logdirwatch.plan.offload import offload_drafts, plan_offload
from logdirwatch.plan.parts import place_target, time_to_full_ms
from logdirwatch.plan.reserve import release_drafts
from logdirwatch.plan.retention import Cuts, plan_cuts
from logdirwatch.plan.room import more_room
from logdirwatch.plan.said import heeded
from logdirwatch.plan.shifting import move_drafts
from logdirwatch.plan.space import Space
from logdirwatch.report.units import human_bytes

URGENT = frozenset({LogDirStatus.CRITICAL, LogDirStatus.SATURATED})


def filling_drafts(source: Directory, facts: Facts, policy: Policy, now_ms: int) -> list[Draft]:
    """Return what helps a filling directory; empty when there is nothing to gain."""
    needed = max(0, needed_bytes(source, Space(facts), policy) or 0)
    drafts, against = _reliefs(source, facts, policy, needed, now_ms)
    missing = needed - gained(drafts)
    if missing > 0:
        drafts += heeded(_losses(source, facts, policy, missing, drafts, now_ms), facts.said)
        missing = needed - gained(drafts)
    if missing > 0:
        instead = [*against, *_not_enough(drafts, needed)]
        drafts += heeded(more_room(source, facts, policy, missing, instead), facts.said)
    if source.status in URGENT and not _any_in_time(drafts, source):
        drafts += [*release_drafts(source, policy), *brake_drafts(source, facts, policy, drafts)]
    return [*drafts, *(_cordon(source, facts, policy) if needed > 0 else [])]


def _cordon(source: Directory, facts: Facts, policy: Policy) -> list[Draft]:
    why = (
        ", best before anything is moved off it: Kafka places new replicas where the fewest are, so in a directory "
        "that was just emptied"
    )
    return cordon_drafts(source, facts, policy, why, "the directory has room again")


def gained(drafts: Sequence[Draft]) -> int:
    """Return the bytes that the actions nothing speaks against give the directory together.

    A cut of a topic that is moved frees bytes that the move frees as well. What only might be deleted does not count.
    """
    counted = [d for d in drafts if not d.vetoes and d.kind is not ActionKind.DELETE_TOPIC_CANDIDATE]
    cuts = [draft for draft in counted if draft.kind is ActionKind.LOWER_RETENTION]
    moved = {entry["topic"] for draft in counted for entry in (draft.reassignment or {"partitions": ()})["partitions"]}
    beside = [draft for draft in cuts if draft.target["topic"] not in moved]
    others = [draft for draft in counted if draft.kind is not ActionKind.LOWER_RETENTION]
    return max(_freed([*others, *beside]), _freed(cuts))


def _freed(drafts: Sequence[Draft]) -> int:
    return sum(draft.expected["frees_bytes"] or 0 for draft in drafts)


def _reliefs(
    source: Directory, facts: Facts, policy: Policy, needed: int, now_ms: int
) -> tuple[list[Draft], list[Veto]]:
    """Return moves and cuts, and why there are not more of them."""
    moves = plan_moves(source, facts, policy) if _is_open(ActionKind.MOVE_LOG_DIR, source, facts) else Moves()
    drafts = [*overflow_drafts(source, facts, policy), *move_drafts(source, moves, facts, policy, now_ms)]
    cuts = plan_cuts(source, facts, policy, needed) if needed > 0 else Cuts()
    under_way = sum(cut.frees_at(source.place) for cut in cuts.cuts if cut.topic.name in facts.said.cutting)
    missing = needed - moves.moved_bytes - under_way
    taken = frozenset(assignment.key for assignment in moves.assignments)
    against = list(moves.vetoes)
    if missing > 0 and _is_open(ActionKind.REASSIGN, source, facts):
        offload = plan_offload(source, facts, policy, missing, taken)
        drafts += offload_drafts(source, offload, missing, facts, policy, now_ms)
        taken |= {assignment.key for assignment in (offload.repair.assignments if offload.repair else ())}
        against += offload.vetoes
    moved_topics = {topic for topic, _ in taken}
    drafts += [
        cut_draft(source, cut, facts, policy, now_ms, is_moving=cut.topic.name in moved_topics) for cut in cuts.cuts
    ]
    return heeded(drafts, facts.said), list(dict.fromkeys([*against, *cuts.vetoes]))


def _is_open(kind: ActionKind, source: Directory, facts: Facts) -> bool:
    return not facts.said.is_rejected(kind, place_target(source))


def _losses(
    source: Directory, facts: Facts, policy: Policy, missing: int, drafts: Sequence[Draft], now_ms: int
) -> list[Draft]:
    """Return what is lost for good, where what comes before is not enough."""
    targets = [*(draft.target for draft in drafts), *(target for _, target in facts.said.rejected)]
    cut = {str(target["topic"]) for target in targets if "topic" in target}
    deletions = delete_records_drafts(source, facts, policy, missing, cut, now_ms) if source.status in URGENT else []
    return [*deletions, *candidate_drafts(source, facts, policy, now_ms)]


def _not_enough(drafts: Sequence[Draft], needed: int) -> list[Veto]:
    return [
        Veto("not_enough", f"{human_bytes(gained(drafts))} of {human_bytes(needed)} is all that helps otherwise")
    ] * (gained(drafts) > 0)


def _any_in_time(drafts: Sequence[Draft], source: Directory) -> bool:
    """Tell whether something frees bytes before the directory is full; so it does where nobody knows when that is."""
    told = (p for draft in drafts if not draft.vetoes for p in draft.preconditions if p.name == "in_time")
    return time_to_full_ms(source) is None or any(precondition.holds for precondition in told)
