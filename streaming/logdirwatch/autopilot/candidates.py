"""Which actions and executions to consider, in which order, and what would happen to each now."""

from collections.abc import Iterable, Iterator, Sequence

from logdirwatch.autopilot.board import Board
from logdirwatch.autopilot.facts import MARK
from logdirwatch.autopilot.judge import refusal
from logdirwatch.autopilot.worker import Check
from logdirwatch.errors import UserError
from logdirwatch.execute.run import calls_of
from logdirwatch.execute.steps import steps_of
from logdirwatch.executions import is_left, is_running, unfinished_of
from logdirwatch.model.records import ActionRecord, ExecutionRecord
from logdirwatch.model.vocabulary import ActionStatus, Severity

STARTABLE = frozenset({ActionStatus.PROPOSED, ActionStatus.ACCEPTED})


def candidates(actions: Iterable[ActionRecord], cluster: str) -> list[ActionRecord]:
    """Return the actions that could start on a cluster: those of the severest alert first, in the planner's order."""
    found = [one for one in actions if one.cluster == cluster and one.status in STARTABLE]
    return sorted(found, key=_order)


def resumable(
    executions: Sequence[ExecutionRecord], cluster: str, name: str, left_behind: frozenset[str], now_ms: int
) -> list[ExecutionRecord]:
    """Return the executions to resume: those of this process, or left by an earlier autopilot process.

    None while somebody else carries one out, whose journal this would close.
    """
    found = _open(executions, cluster)
    ours = [one for one in found if one.by == name or one.execution_id in left_behind]
    return ours if all(one in ours or is_left(one, now_ms) for one in found) else []


def left_behind(executions: Sequence[ExecutionRecord], cluster: str) -> frozenset[str]:
    """Return the executions left by an earlier autopilot process."""
    return frozenset(one.execution_id for one in _open(executions, cluster) if one.by.startswith(MARK))


def _open(executions: Sequence[ExecutionRecord], cluster: str) -> list[ExecutionRecord]:
    unfinished = unfinished_of(one for one in executions if one.cluster == cluster)
    return [one for one in unfinished.values() if is_running(one)]


def _order(action: ActionRecord) -> tuple[int, int, int, str]:
    severity = action.alert.get("severity")
    rank = Severity(severity).rank if severity in set(Severity) else -1
    return -rank, action.position or 0, action.at_ms, action.action_id


def lines(board: Board, clusters: Iterable[str], check: Check, now_ms: int) -> Iterator[str]:
    """Yield what would happen to each open action of the clusters, by the last reading and the live clusters."""
    for cluster in clusters:
        facts, listed = board.facts(cluster, board.reading), candidates(board.reading.actions.values(), cluster)
        if not listed:
            yield f"{cluster}: no action is open"
        for action in listed:
            label = f"{cluster}: {action.kind} {action.action_id}"
            found = refusal(action, facts, now_ms)
            if found is not None:
                yield f"{label} {found.reason}"
            elif reasons := _against(action, check):
                yield f"{label} does not hold on the cluster: {'; '.join(reasons)}"
            else:
                yield f"{label} would start now"
                yield from (f"  {step}: {calls_of(step)}" for step in steps_of(action.operations, back=False))


def _against(action: ActionRecord, check: Check) -> list[str]:
    try:
        return check(action)
    except UserError as error:
        return [str(error)]
