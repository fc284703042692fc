"""More room where nothing gentler helps: a bigger volume, or one more log directory."""

from collections.abc import Sequence

from logdirwatch.plan.actions.brokers.add_log_dir import add_log_dir
from logdirwatch.plan.actions.brokers.expand_disk import expand_disk
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.proposal import Policy, ProposedAction, Veto


def more_room(
    directory: LogDir, snapshot: ClusterSnapshot, policy: Policy, needed: int, instead: Sequence[Veto]
) -> list[ProposedAction]:
    """Return a bigger volume; where it cannot grow, one more directory beside it."""
    grow = expand_disk(directory, policy, needed, instead=instead)
    if not grow.vetoes:
        return [grow]
    return [grow, add_log_dir(directory, snapshot, policy, needed, instead=[*instead, *grow.vetoes])]
