"""One execution runs on a cluster at a time, whoever started it, and on a limited number of clusters at once."""

from logdirwatch.autopilot.facts import Facts
from logdirwatch.execute.journal import unknown_execution
from logdirwatch.execute.run import is_running
from logdirwatch.model.records import ActionRecord


def reason(action: ActionRecord, facts: Facts, now_ms: int) -> str | None:
    """Return what runs already."""
    del now_ms
    running = [one for one in facts.executions if one.cluster == action.cluster and is_running(one)]
    if running:
        one = running[-1]
        return f"waits: {one.by} is carrying out {one.kind} {one.action_id}"
    if (unknown := facts.unknown_execution) is not None:
        return f"waits: {unknown_execution(unknown)}"
    if facts.running_elsewhere >= facts.settings.clusters_at_once:
        return "waits: actions run on as many clusters as may be (autopilot.clusters_at_once)"
    return None
