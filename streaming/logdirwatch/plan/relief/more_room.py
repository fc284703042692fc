"""More space when nothing less invasive frees enough: a larger volume, or one more log directory."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from logdirwatch.plan.actions.brokers.add_log_dir import add_log_dir
from logdirwatch.plan.actions.brokers.expand_disk import expand_disk
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.proposal import Policy, ProposedAction, Veto


def more_room(directory: LogDir, snapshot: ClusterSnapshot, policy: Policy, needed: int) -> list[ProposedAction]:
    """Return the growth of the volume; if it cannot grow, one more directory beside it."""
    grow = expand_disk(directory, policy, needed)
    if not grow.vetoes:
        return [grow]
    return [grow, add_log_dir(directory, snapshot, policy, needed, instead=grow.vetoes)]


def with_reasons(room: Iterable[ProposedAction], instead: Sequence[Veto]) -> list[ProposedAction]:
    """Return proposals for more space with the reasons why nothing less invasive is proposed."""
    first = {veto.name: veto.reason for veto in reversed(instead)}
    more = Counter(veto.name for veto in instead)
    told = "".join(
        f"; {first[name]}" + (f" (and {count - 1} more like it)" if count > 1 else "") for name, count in more.items()
    )
    return [replace(proposal, reason=proposal.reason + told) for proposal in room]
