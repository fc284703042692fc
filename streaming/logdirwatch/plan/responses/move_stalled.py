"""Moves that do not get on: a limit that is too low is raised, what cannot end is cancelled."""

from collections.abc import Mapping

from logdirwatch.model.evidence import read_as
from logdirwatch.model.evidence.brokers import MoveStalledEvidence, StalledMoves
from logdirwatch.model.records import AlertRecord
from logdirwatch.plan.actions.brokers.investigate import Runbook, describe_log_dirs, list_reassignments
from logdirwatch.plan.actions.replicas.cancel_moves import cancel_moves, propose_copy_cancel, why_hopeless
from logdirwatch.plan.actions.replicas.clear_throttles import propose_raise
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.proposal import Policy, ProposedAction
from logdirwatch.plan.reassignment.running_copies import copies_to
from logdirwatch.plan.reassignment.running_reassignments import dead_ends
from logdirwatch.plan.responses.response import Response, Situation
from logdirwatch.text.units import human_bytes

RAISED_BY = 2


def _raised(alert: AlertRecord, snapshot: ClusterSnapshot, policy: Policy) -> list[ProposedAction]:
    """Return higher limits for moves that one below what is written to them holds back: they never end else."""
    proposals: dict[str, ProposedAction] = {}
    for path, move in sorted(read_as(alert.evidence, MoveStalledEvidence).moves.items()):
        key, limit = move.throttle, move.throttle_bytes_per_s
        if alert.broker is None or key is None or not limit or not move.is_throttled_below_writes:
            continue
        directory = snapshot.directories.get((alert.broker, path))
        written = 0.0 if directory is None else max(0.0, directory.growth_bytes_per_s or 0.0)
        usual = policy.limits.log_dir_throttle_bytes_per_s
        wanted = int(max(usual, RAISED_BY * limit, RAISED_BY * written))
        proposals.setdefault(key, propose_raise(alert.broker, key, limit, wanted, policy))
    return list(proposals.values())


STANDS_STILL = "stands_still"
"""The verdict of ``detect`` on moves of which nothing is copied any more."""


def propose(situation: Situation) -> list[ProposedAction]:
    """Return what to do about moves to a broker that stand still: cancel what cannot end; a limit may be raised."""
    alert, snapshot, policy = situation.alert, situation.snapshot, situation.policy
    raised = _raised(alert, snapshot, policy)
    broker, told = alert.broker, read_as(alert.evidence, MoveStalledEvidence).moves
    hopeless = [one for one in dead_ends(snapshot) if broker in (one.partition.adding or ())]
    limits = sorted({f"{found.throttle}={found.throttle_bytes_per_s}" for found in told.values() if _held(found)})
    why = f"the limit {', '.join(limits)} holds them back: raise it first" if limits else None
    if broker is None:
        return [*raised, situation.look]
    if not hopeless:
        return [*raised, *_stalled(broker, told, snapshot, policy), situation.look_because(why)]
    moves = [one.partition for one in hopeless]
    return [
        *raised,
        cancel_moves(broker, None, moves, snapshot, policy, why_hopeless(hopeless)),
        situation.look_because(why),
    ]


def _stalled(
    broker: int, told: Mapping[str, StalledMoves], snapshot: ClusterSnapshot, policy: Policy
) -> list[ProposedAction]:
    """Return the cancelling of copies that stand still though they could end; where a limit is set it comes first."""
    held_up = [path for path, found in sorted(told.items()) if found.verdict == STANDS_STILL and not _held(found)]
    proposals = []
    for place in ((broker, path) for path in held_up):
        copies = copies_to([place], snapshot)
        if copies and place in snapshot.directories:
            left = human_bytes(sum(copy.remaining_bytes for copy in copies))
            why = f"{len(copies)} copies to {place[1]} of broker {broker} stand still, {left} before their end"
            proposals.append(propose_copy_cancel(snapshot.directories[place], copies, snapshot, policy, why))
    return proposals


def _held(found: StalledMoves) -> bool:
    return found.throttle is not None


RESPONSE = Response(
    runbook=Runbook(
        "see which move stands still and under which throttle; a throttle below the write rate never ends",
        (list_reassignments, describe_log_dirs),
    ),
    propose=propose,
)
