"""What the autopilot would do now, one line per action."""

from collections.abc import Iterable, Iterator

from logdirwatch.autopilot.board import Board
from logdirwatch.autopilot.candidates import candidates
from logdirwatch.autopilot.judge import refusal
from logdirwatch.autopilot.worker import Check
from logdirwatch.errors import UserError
from logdirwatch.execute.run import calls_of
from logdirwatch.execute.steps import steps_of
from logdirwatch.model.records import ActionRecord


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
                yield from (f"  {step}: {calls_of(step)}" for step in steps_of(action.operations or (), back=False))


def _against(action: ActionRecord, check: Check) -> list[str]:
    try:
        return check(action)
    except UserError as error:
        return [str(error)]
