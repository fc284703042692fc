"""Stalled moves: ask the owner to raise a throttle that is too low, cancel moves that cannot complete."""

from collections.abc import Mapping

from logdirwatch.model.evidence import read_as
from logdirwatch.model.evidence.brokers import MoveStalledEvidence, StalledMoves
from logdirwatch.model.records import AlertRecord
from logdirwatch.plan.actions.brokers.investigate import Runbook, ask_to_raise, describe_log_dirs, list_reassignments
from logdirwatch.plan.actions.replicas.cancel_moves import cancel_moves, propose_copy_cancel, why_hopeless
from logdirwatch.plan.capacity.copy_rates import ABOVE_WRITES
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.proposal import Policy, ProposedAction
from logdirwatch.plan.reassignment.running_copies import copies_to, dead_ends
from logdirwatch.plan.responses.response import Response, Situation
from logdirwatch.text.units import human_bytes


def _asked(alert: AlertRecord, snapshot: ClusterSnapshot, policy: Policy) -> list[ProposedAction]:
    """Return the request to raise a throttle below the write rate, under which a move never completes.

    The throttle may protect something that is not visible here, so no command changes it.
    """
    asked: dict[str, tuple[int, int]] = {}
    for path, move in sorted(read_as(alert.evidence, MoveStalledEvidence).moves.items()):
        key, limit = move.throttle, move.throttle_bytes_per_s
        if alert.broker is None or key is None or limit is None or not move.is_throttled_below_writes:
            continue
        directory = snapshot.directories.get((alert.broker, path))
        written = 0.0 if directory is None else max(0.0, directory.growth_bytes_per_s or 0.0)
        usual = policy.limits.log_dir_throttle_bytes_per_s
        # Above the limit and above what is written: only the difference to the writes is left for the copy to catch up.
        wanted = int(max(usual, ABOVE_WRITES * limit, ABOVE_WRITES * written))
        asked[key] = (limit, max(wanted, asked.get(key, (limit, 0))[1]))
    if alert.broker is None or not asked:
        return []
    limits = {(alert.broker, key, limit): wanted for key, (limit, wanted) in asked.items()}
    then = "under it the running moves never end, as their partitions are written faster"
    return [ask_to_raise({"broker": alert.broker, "log_dir": None}, limits, then, policy)]


STANDS_STILL = "stands_still"
"""The verdict of ``detect`` on moves that no longer copy anything."""


def propose(situation: Situation) -> list[ProposedAction]:
    """Return the actions for stalled moves to a broker: cancel those that cannot complete, ask for higher throttles."""
    alert, snapshot, policy = situation.alert, situation.snapshot, situation.policy
    asked = _asked(alert, snapshot, policy)
    broker, told = alert.broker, read_as(alert.evidence, MoveStalledEvidence).moves
    # The alert is about what moves to this broker; others have alerts of their own.
    hopeless = [one for one in dead_ends(snapshot) if broker in (one.partition.adding or ())]
    limits = sorted({f"{found.throttle}={found.throttle_bytes_per_s}" for found in told.values() if _held(found)})
    why = f"the limit {', '.join(limits)} holds them back: ask its owner to raise it first" if limits else None
    if broker is None:
        return [*asked, situation.look]
    if not hopeless:
        return [*asked, *_stalled(broker, told, snapshot, policy), situation.look_because(why)]
    moves = [one.partition for one in hopeless]
    return [
        *asked,
        cancel_moves(broker, None, moves, snapshot, policy, why_hopeless(hopeless)),
        situation.look_because(why),
    ]


def _stalled(
    broker: int, told: Mapping[str, StalledMoves], snapshot: ClusterSnapshot, policy: Policy
) -> list[ProposedAction]:
    """Return the cancellation of stalled copies that could complete; a request about a throttle comes first."""
    # A copy that is held by a throttle is not stuck: its owner may raise it, and a cancelled copy starts at 0 again.
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
        "see which move stands still and under which throttle; a move throttled below the write rate never ends",
        (list_reassignments, describe_log_dirs),
    ),
    propose=propose,
    ends_when="the moves make progress again, or none is running",
)
