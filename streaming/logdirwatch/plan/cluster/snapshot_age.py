"""Whether a cluster's snapshot is recent enough to plan on."""

from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.proposal import Policy
from logdirwatch.text.units import human_ms


def unusable(snapshot: ClusterSnapshot | None, policy: Policy, now_ms: int) -> str | None:
    """Return why the snapshot cannot be planned on now; None if it can."""
    why = too_old(snapshot, policy, now_ms)
    return None if why is None else f"{why}; the full action follows"


def too_old(snapshot: ClusterSnapshot | None, policy: Policy, now_ms: int) -> str | None:
    """Return why a snapshot is too old to plan on; None if it is not."""
    if snapshot is None:
        return "nothing is known of the cluster's replicas yet"
    if snapshot.inventory_at_ms is None:
        return "no inventory of the cluster has been seen yet"
    age_ms = now_ms - snapshot.inventory_at_ms
    if age_ms < -policy.facts_max_age_ms:
        return f"the last inventory is {human_ms(-age_ms)} ahead of the clock"
    return f"the last inventory is {human_ms(age_ms)} old" if age_ms > policy.facts_max_age_ms else None
