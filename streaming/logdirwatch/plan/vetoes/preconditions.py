"""Keep preconditions and vetoes of an action consistent: a veto makes its precondition false."""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from logdirwatch.plan.proposal import Precondition, ProposedAction

DENIED_BY: Mapping[str, frozenset[str]] = {
    "writes_go_on": frozenset({"min_isr_lost", "last_in_sync_replica", "leaderless_after", "under_min_isr_after"}),
    "quorum_safe": frozenset({"quorum_unsafe"}),
    "room_for_recovery": frozenset({"no_room_for_recovery"}),
    "no_move": frozenset({"partition_moving", "move_waits"}),
    "no_retention_cut": frozenset({"retention_waits"}),
    "min_retention": frozenset({"min_retention", "owner_minimum"}),
    "consumers_done": frozenset({"consumers_unread"}),
    "remote_copied": frozenset({"remote_copy_lags"}),
    "high_watermark_moves": frozenset({"high_watermark_stands"}),
    "volume_can_grow": frozenset({"volume_at_maximum"}),
    "metadata_version": frozenset({"cordon_not_enforced"}),
    "danger_over": frozenset({"not_over"}),
    "cannot_come_back": frozenset({"may_come_back"}),
}
"""By precondition: the vetoes that contradict it."""


def agreed(proposal: ProposedAction) -> Iterable[Precondition]:
    """Return the preconditions of a proposal; those that one of its vetoes contradicts are false."""
    named = {veto.name for veto in proposal.vetoes}
    return (
        replace(precondition, holds=False) if named & DENIED_BY.get(precondition.name, frozenset()) else precondition
        for precondition in proposal.preconditions
    )
