"""One execution runs on a cluster at a time, whoever started it, and on a limited number of clusters at once.

After a stop none begins before that has ended; where its cause may be over, ``worker`` looks at the cluster.
"""

from logdirwatch.autopilot.facts import Facts
from logdirwatch.execute.journal import unknown_execution
from logdirwatch.executions import held_by, hold_of, may_pass
from logdirwatch.model.records import ActionRecord


def reason(action: ActionRecord, facts: Facts, now_ms: int) -> str | None:
    """Return what runs or has stopped already."""
    hold = hold_of(facts.executions_on(action.cluster))
    if hold is not None and not may_pass(hold):
        return f"waits: {held_by(hold, now_ms)}"
    if (unknown := facts.unknown_execution) is not None:
        return f"waits: {unknown_execution(unknown)}"
    if facts.running_elsewhere >= facts.settings.clusters_at_once:
        return "waits: actions run on as many clusters as may be (autopilot.clusters_at_once)"
    return None
