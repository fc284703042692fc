"""The actions for a filling directory: a sequence that is in time and loses as little data as possible.

Actions without loss that are in time come first: moves that would overflow the directory are cancelled, replicas go to
other directories of the broker, then to other brokers; if these have no room, a cordoned directory is opened, or the
volume grows. Only what is still missing when the directory is full is deleted: by retention, then records where no
retention reaches. A remedy that is late does not count, but deletion only has to bridge the time until then. Besides
these, the reserve file and a producer quota win time when nothing is in time, and a cordon keeps new replicas out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from logdirwatch.model.vocabulary import MOVES
from logdirwatch.plan.actions.brokers.release_reserve import propose_release
from logdirwatch.plan.actions.brokers.restart_broker import propose_restart_for_retention
from logdirwatch.plan.actions.replicas.cancel_moves import propose_overflow_cancel
from logdirwatch.plan.actions.replicas.cordon_log_dir import propose_cordon
from logdirwatch.plan.actions.topics.delete_records import propose_deletion
from logdirwatch.plan.actions.topics.lower_retention import propose_cut
from logdirwatch.plan.actions.topics.throttle_producers import bridges_ms, propose_producer_throttle
from logdirwatch.plan.availability.impact import veto_predicted_harm
from logdirwatch.plan.capacity.growth_by_topic import filling_topics, has_runaway
from logdirwatch.plan.capacity.projected_use import Space, needed_bytes
from logdirwatch.plan.capacity.timing import is_full_within_the_hour, outlasts_new_room, time_to_full_ms
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.operator_decisions import apply_decisions
from logdirwatch.plan.proposal import Policy, ProposedAction, Veto, with_vetoes
from logdirwatch.plan.reassignment.running_copies import Copy, copies_to, ending, overflowing, without_copies
from logdirwatch.plan.relief.freed_bytes import (
    after,
    bytes_to_delete,
    freed_by,
    freed_in_time_bytes,
    hoped_bytes,
    is_in_time,
    promised_bytes,
)
from logdirwatch.plan.relief.order import (
    LONGER,
    NOT_ENOUGH,
    costs_others,
    in_order_of_relief,
    more_room,
    spare_others,
    with_reasons,
)
from logdirwatch.plan.relief.running_moves import RunningMoves, propose_watch, with_running_moves
from logdirwatch.plan.relief.stuck_deletion import (
    propose_cleaner_check,
    propose_retention_check,
    propose_segment_check,
    propose_stray_check,
    remote_copy_drafts,
    stray_bytes,
)
from logdirwatch.plan.relief.without_loss import (
    LosslessRelief,
    keeps_room_for_others,
    relieve_without_loss,
    short_bytes,
)
from logdirwatch.plan.retention.limits import RetentionCuts
from logdirwatch.plan.retention.planner import plan_cuts
from logdirwatch.text.units import human_parts

LITTLE = 0.1
"""Actions that together free no more than this share of what must be deleted win too little time: slow producers."""
LOSSLESS_FIRST = Veto(
    "lossless_first",
    "an action before this one is in time and loses no data; reject that action if it is refused or not possible",
)
"""Of what deletes data while others can still make room in time."""


@dataclass(frozen=True)
class SpaceNeed:
    """A directory with running moves taken into account: those that overflow it cancelled, those off it continued.

    ``needed_bytes`` must leave it to bring it under the target ratio; the bytes of strays are not counted, they go with
    the strays, nor those that retention deletes after the restart in ``overdue``, unless it is vetoed or time is short.
    ``lasting_bytes`` are what one under the target ratio lacks to last until there is more room, at most its
    own size: no data is deleted for these.
    """

    source: LogDir
    snapshot: ClusterSnapshot
    ended: tuple[ProposedAction, ...]
    running: RunningMoves
    needed_bytes: int
    overdue: tuple[ProposedAction, ...] = ()
    lasting_bytes: int = 0

    @property
    def asked_bytes(self) -> int:
        """What others are asked for without loss."""
        return self.needed_bytes or self.lasting_bytes


def space_need_of(directory: LogDir, snapshot: ClusterSnapshot, policy: Policy) -> SpaceNeed:
    """Return the need of a directory, with running moves taken into account.

    Copies to it are cancelled if they would overflow it, and before data would be deleted from it, unless cancelling
    loses a last copy, they are needed more, or there is time to add room for them. In a directory that is only filling
    they continue if nothing could be deleted anyway.
    """
    found = _need_with(directory, snapshot, policy, overflowing(directory, snapshot, policy))
    is_soon = not outlasts_new_room(found.source, policy)
    if found.ended or not (is_soon and copies_to([directory.place], snapshot)):
        return found
    lossless = relieve_without_loss(found.source, found.snapshot, policy, found.needed_bytes)
    lost = bytes_to_delete(
        found.source, lossless.proposals, found.needed_bytes, policy, hoped_bytes(lossless.proposals, found.source)
    )
    if lost <= 0 or not (found.source.is_urgent or plan_cuts(found.source, found.snapshot, policy, lost).cuts):
        return found
    return _need_with(directory, snapshot, policy, ending(directory, snapshot, lost, unneeded=True))


def _need_with(directory: LogDir, snapshot: ClusterSnapshot, policy: Policy, copies: Sequence[Copy]) -> SpaceNeed:
    """Return the need of a directory once ``copies`` are cancelled."""
    ended = apply_decisions(
        map(veto_predicted_harm, propose_overflow_cancel(directory, copies, snapshot, policy)), snapshot.decisions
    )
    snapshot = without_copies(copies, snapshot) if any(not proposal.vetoes for proposal in ended) else snapshot
    source, running = with_running_moves(snapshot.directories[directory.place], snapshot, policy)
    restarts = map(veto_predicted_harm, propose_restart_for_retention(source, snapshot, policy))
    overdue = tuple(apply_decisions(restarts, snapshot.decisions))
    gone = stray_bytes(source, snapshot) + sum(promised_bytes(one) for one in overdue if _is_relied_on(one, source))
    above = needed_bytes(source, Space(snapshot), policy) or 0
    needed, lasting = max(0, above - gone), 0
    if above + source.relief_bytes <= 0:
        lasting = min(short_bytes(source, policy), source.total_bytes or 0)
    return SpaceNeed(source, snapshot, tuple(ended), running, needed, overdue, lasting)


def _is_relied_on(restart: ProposedAction, source: LogDir) -> bool:
    """Tell whether a restart is waited for: how long it takes is not known, so not in the last hour."""
    return not restart.vetoes and not is_full_within_the_hour(source)


def propose_relief(directory: LogDir, snapshot: ClusterSnapshot, policy: Policy) -> list[ProposedAction]:
    """Return the actions for a filling directory; empty if nothing can be gained."""
    stand = space_need_of(directory, snapshot, policy)
    proposals = _answer(stand, policy)
    is_enough = stand.asked_bytes == 0
    watched = [propose_watch(stand.source, stand.running, policy, is_enough=is_enough)] if stand.running.reliefs else []
    strays = propose_stray_check(stand.source, stand.snapshot, policy)
    late = (n for n, one in enumerate(proposals) if one.kind in MOVES and not one.vetoes and is_in_time(one) is False)
    place = 0 if is_enough else next(late, len(proposals))
    found = [*strays, *stand.ended, *proposals[:place], *watched, *proposals[place:]]
    is_first = all(_is_relied_on(one, stand.source) for one in stand.overdue)
    return [*stand.overdue, *found] if is_first else [*found, *stand.overdue]


def _answer(stand: SpaceNeed, policy: Policy) -> list[ProposedAction]:
    """Return the actions that free the bytes that a directory needs, in order."""
    source, snapshot, needed, asked = stand.source, stand.snapshot, stand.needed_bytes, stand.asked_bytes
    if asked <= 0:
        return []
    being_cut_bytes = _being_cut_bytes(source, snapshot, policy, needed)
    lossless = relieve_without_loss(source, snapshot, policy, asked - being_cut_bytes)
    missing = asked - freed_by(lossless.proposals, source)
    grown = more_room(source, snapshot, policy, missing, lossless.proposals) if missing > 0 else []
    room = apply_decisions(grown, snapshot.decisions)
    others = [*lossless.proposals]
    left_ms = time_to_full_ms(source)
    if bytes_to_delete(source, [*others, *room], asked, policy) > 0 and source.is_urgent and left_ms is not None:
        others += apply_decisions(propose_release(source, policy), snapshot.decisions)
    gentle = [*others, *room]
    hoped = hoped_bytes(gentle, source)
    least = bytes_to_delete(source, gentle, needed, policy, hoped)
    wanted = least or bytes_to_delete(source, gentle, needed, policy)
    cuts, against = _cuts(source, snapshot, policy, wanted, lossless, gentle)
    # Records are deleted no sooner than a cut takes effect, so a late cut leaves no more to be lost.
    still = wanted - sum(cut.expected["frees_bytes"] or 0 for cut in cuts if not cut.vetoes)
    lost = [*cuts, *_losses(source, snapshot, policy, still, cuts)]
    is_room_in_time = _has_time_for(room, source, policy)
    if wanted > least or is_room_in_time:
        lost = [with_vetoes(one, LOSSLESS_FIRST) if one.data_loss else one for one in lost]
    waits = hoped or is_room_in_time
    brakes = [] if waits else _brakes(source, snapshot, policy, gentle, lost, asked, wanted)
    lost = spare_others(lost, brakes, filling_topics(source, snapshot), left_ms)
    freed = freed_by([*lossless.proposals, *cuts], source)
    instead = [*dict.fromkeys([*lossless.against, *against]), *_not_enough(freed, asked)]
    ordered = in_order_of_relief([*others, *with_reasons(room, instead), *lost, *brakes])
    checks = _checks(source, snapshot, policy)
    found = [*ordered, *checks] if is_full_within_the_hour(source) else [*checks, *ordered]
    return found if keeps_room_for_others(source, snapshot) else _cordoned(found, source, snapshot, policy)


def _being_cut_bytes(source: LogDir, snapshot: ClusterSnapshot, policy: Policy, needed: int) -> int:
    """Return what accepted cuts will free of what would have to be deleted."""
    cutting = snapshot.decisions.cutting
    if not cutting:
        return 0
    cuts = plan_cuts(source, snapshot, policy, bytes_to_delete(source, (), needed, policy)).cuts
    return sum(cut.frees_at(source.place) for cut in cuts if cut.topic.name in cutting)


def _not_enough(freed_bytes: int, needed: int) -> list[Veto]:
    """Return why room is made although other actions free something."""
    part, whole = human_parts(freed_bytes, needed)
    text = f"all other actions free {part} of the {whole} needed"
    return [Veto(NOT_ENOUGH, text)] if 0 < freed_bytes < needed else []


def _checks(source: LogDir, snapshot: ClusterSnapshot, policy: Policy) -> list[ProposedAction]:
    """Return what a person is to look at: why Kafka does not delete what it should."""
    checks = [
        *propose_retention_check(source, snapshot, policy),
        *propose_cleaner_check(source, snapshot, policy),
        *propose_segment_check(source, snapshot, policy),
        *remote_copy_drafts(source, snapshot),
    ]
    return apply_decisions(checks, snapshot.decisions)


def _cordoned(
    found: list[ProposedAction], source: LogDir, snapshot: ClusterSnapshot, policy: Policy
) -> list[ProposedAction]:
    """Return the actions with the cordon of the directory before the first move off it."""
    first = next((n for n, one in enumerate(found) if one.kind in MOVES and not one.vetoes), len(found))
    why = ": Kafka places new replicas by their number alone, not by free space"
    if first < len(found):
        why = " before anything is moved off it: Kafka places new replicas where the fewest are"
    cordon = propose_cordon(source, snapshot, policy, why, "the directory has room again")
    return [*found[:first], *cordon, *found[first:]]


def _brakes(
    source: LogDir,
    snapshot: ClusterSnapshot,
    policy: Policy,
    gentle: Sequence[ProposedAction],
    lost: Sequence[ProposedAction],
    needed: int,
    wanted: int,
) -> list[ProposedAction]:
    """Return the producer quota that wins time; empty if there is no need for one.

    What frees little in time does not help. In the last hour nobody's history is cut, and nobody waits for a remedy of
    unknown duration, before whoever writes was asked to write less; at no time is history cut because of a runaway,
    or that of topics that do not fill the directory: the time is won for what loses nothing.
    """
    left_ms, filling = time_to_full_ms(source), filling_topics(source, snapshot)
    if not source.is_urgent or left_ms is None:
        return []
    all_, is_cut = [*gentle, *lost], any(one.data_loss and not one.vetoes for one in lost)
    is_runaway = costs_others(lost, filling) or has_runaway(source, snapshot)
    is_little = sum(freed_in_time_bytes(one, source) for one in all_) <= LITTLE * wanted
    is_soon = is_full_within_the_hour(source) and freed_by(gentle, source) < needed
    if not (is_little or is_soon or (is_cut and is_runaway)):
        return []
    lasts_ms = bridges_ms([one for one in (all_ if is_little else gentle) if not freed_in_time_bytes(one, source)])
    lasts_ms = max(lasts_ms, LONGER * left_ms) if is_runaway else lasts_ms
    return apply_decisions(propose_producer_throttle(source, snapshot, policy, lasts_ms), snapshot.decisions)


def _has_time_for(room: Sequence[ProposedAction], source: LogDir, policy: Policy) -> bool:
    """Tell whether more room comes in time although nobody configured how long it takes: it takes days, not weeks."""
    is_possible = any(not one.vetoes and one.expected["needs_ms"] is None for one in room)
    return is_possible and outlasts_new_room(source, policy)


def _cuts(
    source: LogDir,
    snapshot: ClusterSnapshot,
    policy: Policy,
    wanted: int,
    ways: LosslessRelief,
    beside: Sequence[ProposedAction],
) -> tuple[list[ProposedAction], tuple[Veto, ...]]:
    """Return the cuts that free ``wanted`` bytes, preferably of topics without moves, and why there are not more."""
    if wanted <= 0:
        return [], ()
    moved = {topic for topic, _ in ways.taken}
    lasting = after(source, beside)

    def cut(beside_moves: bool) -> tuple[list[ProposedAction], tuple[Veto, ...]]:
        others = snapshot.without(ways.cut | (ways.taken if beside_moves else frozenset()))
        found: RetentionCuts = plan_cuts(lasting, others, policy, wanted)
        proposals = [
            propose_cut(lasting, one, snapshot, policy, is_moving=one.topic.name in moved) for one in found.cuts
        ]
        return apply_decisions(proposals, snapshot.decisions), found.vetoes

    apart = cut(beside_moves=True)
    if not moved or freed_by([*beside, *apart[0]], source) >= freed_by(beside, source) + wanted:
        return apart
    both = cut(beside_moves=False)
    return max(apart, both, key=lambda found: (freed_by([*beside, *found[0]], source), bool(found[0])))


def _losses(
    source: LogDir, snapshot: ClusterSnapshot, policy: Policy, missing: int, cuts: Sequence[ProposedAction]
) -> list[ProposedAction]:
    """Return the actions that lose data beyond retention, if cuts are not enough."""
    if missing <= 0 or not source.is_urgent:
        return []
    targets = [*(proposal.target for proposal in cuts), *(target for _, target in snapshot.decisions.rejected)]
    cut = {str(target["topic"]) for target in targets if "topic" in target}
    return apply_decisions(propose_deletion(source, snapshot, policy, missing, cut), snapshot.decisions)
