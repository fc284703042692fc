"""The hold on a cluster after a stop, with a look at the cluster where its cause may be over."""

from collections.abc import Sequence

from logdirwatch.execute.admin import AdminCluster
from logdirwatch.execute.watch import is_over
from logdirwatch.executions import held_by, hold_of, may_pass
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model.records import ExecutionRecord


def why_held(records: Sequence[ExecutionRecord], watched: KafkaSettings, now_ms: int) -> str | None:
    """Return in one line who holds a cluster, why, and how to end it; None if nothing does.

    ``records`` are those of the cluster, in the order of the topic. Raises UserError when the cluster has to be looked
    at and does not answer.
    """
    hold = hold_of(records)
    if hold is None:
        return None
    if may_pass(hold):
        with clients.admin(watched) as admin:
            if is_over(hold, AdminCluster(admin)):
                return None
    return held_by(hold, now_ms)
