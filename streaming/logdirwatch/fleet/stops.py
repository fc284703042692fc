"""``execution_stopped``: executions of ``apply`` and ``autopilot`` that are stuck, or that no process carries out.

An alert is about one action. It ends only when the action's execution has ended: resumed and done, undone, or released
by a person. Silence never ends it: that nothing is written any more is what opens one. It is measured by the clock of
the batch, by when records arrived, since the clocks of executors may differ.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from logdirwatch import executions
from logdirwatch.executions import ABANDONED_MS, is_running, ways_on
from logdirwatch.fleet import rules, wording
from logdirwatch.fleet.alerts import Claim, Details
from logdirwatch.fleet.context import ClusterContext
from logdirwatch.fleet.memory import FleetMemory, alert_key
from logdirwatch.model.evidence.clusters import ExecutionStoppedEvidence
from logdirwatch.model.identity import Origin
from logdirwatch.model.records import ExecutionRecord
from logdirwatch.model.vocabulary import ExecutionState, Rule, Severity

RULE = Rule.EXECUTION_STOPPED
STUCK, ABANDONED, RESUMED = "stuck", "abandoned", "resumed"


class Written(NamedTuple):
    """One record of ``logdir.executions``."""

    record: ExecutionRecord
    origin: Origin


def take(context: ClusterContext, batch: Iterable[Written], now_ms: int) -> None:
    """Judge a batch, in the order of the topic, as a whole: what it has ended raises no alert."""
    memory, ended = context.memory, dict[str, ExecutionRecord]()
    for record, origin in batch:
        executions.take(memory.unfinished, replace(record, operations=[]))
        if record.action_id in memory.unfinished:
            memory.heard[record.action_id] = str(origin), now_ms
        else:
            memory.heard.pop(record.action_id, None)
            ended[record.action_id] = record
    for action_id, record in ended.items():
        if action_id not in memory.unfinished:
            context.alerts.resolve(RULE, action_id, _end_of(record), record.at_ms, to_status=str(record.state))
    judge(context, now_ms)


def judge(context: ClusterContext, now_ms: int) -> None:
    """Raise and revise the alerts about what is unfinished."""
    memory = context.memory
    # The clock of the stream's host may have been set back.
    memory.heard = {action_id: (origin, min(at_ms, now_ms)) for action_id, (origin, at_ms) in memory.heard.items()}
    for action_id, record in memory.unfinished.items():
        origin, heard_ms = memory.heard[action_id]
        status = _status(record, now_ms - heard_ms)
        if status is None and context.alerts.get(RULE, action_id) is None:
            continue
        at_ms = now_ms if status == ABANDONED else record.at_ms
        claim = Claim(_severity(record, status), status or RESUMED, _figures(record))
        context.alerts.fire(RULE, action_id, claim, partial(_details, memory.cluster, record, claim), at_ms, origin)


def next_deadline_ms(memory: FleetMemory) -> Iterator[int]:
    """Yield when the process of each running execution is taken for dead."""
    for action_id, record in memory.unfinished.items():
        alert = memory.alerts.get(alert_key(RULE, action_id))
        if is_running(record) and (alert is None or alert.to_status != ABANDONED):
            yield memory.heard[action_id][1] + ABANDONED_MS


def _status(record: ExecutionRecord, silent_ms: int) -> str | None:
    if record.state is ExecutionState.STUCK:
        return STUCK
    return ABANDONED if silent_ms >= ABANDONED_MS else None


def _severity(record: ExecutionRecord, status: str | None) -> Severity:
    """Return critical while something of it may run without being monitored."""
    return Severity.CRITICAL if status == ABANDONED or (status == STUCK and record.limits) else Severity.WARNING


def _figures(record: ExecutionRecord) -> tuple[int, ...]:
    """Return what makes a revision due: another execution of the action, such as its undo."""
    return (int(record.back),)


def _details(cluster: str, record: ExecutionRecord, claim: Claim) -> Details:
    evidence = ExecutionStoppedEvidence(
        action_id=record.action_id,
        execution_id=record.execution_id,
        kind=str(record.kind),
        state=str(record.state),
        is_undo=record.back,
        by=record.by,
        reason=record.reason,
        throttles=[f"{one.entity} {one.name}: {one.key}={one.value}" for one in record.limits[: rules.EXAMPLES]],
        commands=ways_on(record),
    )
    return Details(evidence, {}, wording.execution_stopped(cluster, evidence, claim.to_status, claim.severity))


_ENDS: Mapping[ExecutionState, str] = {ExecutionState.DONE: "carried out", ExecutionState.ROLLED_BACK: "rolled back"}


def _end_of(record: ExecutionRecord) -> str:
    if record.reason is not None:
        return record.reason
    return "undone" if record.back and record.state is ExecutionState.DONE else _ENDS[record.state]
