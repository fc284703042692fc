"""A broker that is offline or not reported: start it, make room first, or rebuild its replicas elsewhere."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

from logdirwatch.model.broker_failures import BrokerFailureReason
from logdirwatch.model.evidence import read_as
from logdirwatch.model.evidence.brokers import BrokerAwayEvidence, KnownLogDir
from logdirwatch.model.vocabulary import Cause, LogDirStatus
from logdirwatch.plan.actions.brokers.expand_disk import grow_if_short
from logdirwatch.plan.actions.brokers.investigate import (
    UNAVAILABLE,
    UNDER_MIN_ISR,
    UNDER_REPLICATED,
    Runbook,
    free_while_stopped,
    quorum_status,
)
from logdirwatch.plan.actions.brokers.raid_arrays import array_of, look_at_array
from logdirwatch.plan.actions.brokers.replace_disk import NOTHING_SAID, replace_disk
from logdirwatch.plan.actions.brokers.restart_broker import repair_file_system, start_broker
from logdirwatch.plan.actions.brokers.startup_failures import as_its_log_says
from logdirwatch.plan.actions.replicas.cancel_moves import cancel_dead_ends
from logdirwatch.plan.actions.replicas.reassign import Loss, rebuild, rebuild_later
from logdirwatch.plan.availability.fault_tolerance import partitions_on
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.proposal import Policy, Precondition, ProposedAction, Veto, with_vetoes
from logdirwatch.plan.reassignment.replacement_replicas import plan_rebuild, plan_repair
from logdirwatch.plan.responses.response import Response, Situation
from logdirwatch.plan.vetoes import restart_vetoes
from logdirwatch.text.units import human_ms
from logdirwatch.text.words import counted, some_of

_REPAIRED_FIRST = {
    Cause.LIMIT: "raise the limit that {path} ran into",
    Cause.READ_ONLY: "see that {path} is mounted writable",
    Cause.REMOUNT: "see that {path} is mounted",
    Cause.PERMISSION: "let its user write in {path} again",
    Cause.RENAME_REFUSED: "put {path} on block storage",
    Cause.DAMAGED_FILE: "move the damaged file in {path} aside",
}
"""The steps before a start, by the cause of a failure on a healthy disk."""
LITTLE_FREE_RATIO, LITTLE_FREE_BYTES = 0.02, 100 << 30
"""With less free than both a directory was about to fill: a second sample would have said so before the broker halted.
"""
FULL_DIRECTORIES = 2
"""Of how many full directories the actions are listed; the metadata directory first, with which the broker halted."""


def propose(situation: Situation) -> list[ProposedAction]:
    """Return the actions for a broker that is down or not reported; for one in planned maintenance only a check."""
    alert, snapshot, policy = situation.alert, situation.snapshot, situation.policy
    shown = read_as(alert.evidence, BrokerAwayEvidence)
    if alert.broker is None or alert.broker not in snapshot.brokers or shown.maintenance is not None:
        return [situation.look]
    broker = alert.broker
    if shown.recovering_logs:
        return _recovering(situation, broker, shown.recovering_logs)
    full, mine = _full(broker, shown, snapshot), snapshot.directories_of.get(broker, ())
    sick, corrupt = [*filter(restart_vetoes.is_sick, mine)], [*filter(restart_vetoes.is_corrupt, mine)]
    limited = [directory for directory in mine if not directory.is_serving and directory.cause in _REPAIRED_FIRST]
    is_told = bool(shown.log_says or shown.hangs)
    # Without room a broker halts again (KIP-928).
    rooms = ([*grow_if_short(one, snapshot, policy), free_while_stopped(one, snapshot, policy)] for one in full)
    return [
        # In the order in which it is done: what the log names, room, disks and file systems decide whether a start
        # succeeds; copies elsewhere come last, since a start makes them superfluous.
        *([situation.look] if is_told else []),
        *chain.from_iterable(rooms),
        *_all_replaced(sick, snapshot, policy),
        *(repair_file_system(directory, NOTHING_SAID, None, snapshot, policy) for directory in corrupt),
        _started(shown, start_broker(broker, snapshot, policy, _why(full, sick, limited, shown))),
        *_rebuilt(situation, broker),
        *cancel_dead_ends(broker, None, snapshot, policy),
        *([] if is_told else [situation.look]),
    ]


def _recovering(situation: Situation, broker: int, logs: int) -> list[ProposedAction]:
    """Return that nothing is to be done while a broker recovers its logs: a start would begin it again."""
    snapshot, policy = situation.snapshot, situation.policy
    left = f"has {counted(logs, 'log')} still to recover"
    wait = (
        f"wait, and do not start broker {broker} again: it {left}, and a restart discards its progress; for "
        "the next time raise num.recovery.threads.per.data.dir"
    )
    later = [
        start_broker(broker, snapshot, policy, "only if its process has ended"),
        *_rebuilt(situation, broker),
    ]
    veto = Veto("recovering", f"broker {broker} is starting: it {left}")
    return [replace(situation.look, reason=wait), *(with_vetoes(one, veto) for one in later)]


def _started(shown: BrokerAwayEvidence, proposal: ProposedAction) -> ProposedAction:
    """Warn that a broker that only lost its heartbeat may still run: a second process on its directories does harm."""
    if shown.log_reason != BrokerFailureReason.HEARTBEAT_LOST:
        return proposal
    text = "the broker's process has ended: its log only says that it was not heard"
    return replace(proposal, preconditions=(Precondition("process_ended", text, None), *proposal.preconditions))


def _rebuilt(situation: Situation, broker: int) -> list[ProposedAction]:
    snapshot, policy = situation.snapshot, situation.policy
    repair = plan_rebuild(broker, partitions_on(broker, snapshot), snapshot, policy)
    target: Mapping[str, Any] = {"broker": broker, "log_dir": None}
    if not repair.assignments:
        return []
    loss = Loss(
        what=f"of broker {broker}",
        stray=f"the old copies on broker {broker} are strays when it is back",
        undo=f"only once broker {broker} is alive again",
    )
    if situation.may_come_back:
        wait = human_ms(policy.limits.rebuild_after_ms)
        text = f"broker {broker} may come back, and all of it would be copied for nothing; wait {wait}"
        return [rebuild_later(target, loss, repair, snapshot, Veto("may_come_back", text))]
    return [rebuild((broker, ""), target, loss, repair, snapshot, policy)]


def _all_replaced(sick: list[LogDir], snapshot: ClusterSnapshot, policy: Policy) -> list[ProposedAction]:
    """Return the actions for failed disks; several at once suggest a common cause."""
    proposals = []
    for directory in sick:
        if (array := array_of(directory, NOTHING_SAID)) is not None:
            proposals.append(look_at_array(directory, array, NOTHING_SAID))
        else:
            repair = plan_repair(directory.place, snapshot, policy)
            proposals.append(replace_disk(directory, repair, snapshot, policy))
    if len(sick) <= 1:
        return proposals
    text = f"no common cause explains {some_of(d.path for d in sick)}: controller, bus, mount, limit"
    asked = Precondition("no_common_cause", text, None)
    return [replace(proposal, preconditions=(asked, *proposal.preconditions)) for proposal in proposals]


def _full(broker: int, shown: BrokerAwayEvidence, snapshot: ClusterSnapshot) -> list[LogDir]:
    """Return the directories that were full when last seen, the fullest first, as the alert reports them."""
    found = [
        directory
        for directory in snapshot.directories_of.get(broker, ())
        if directory.cause is Cause.FULL or _was_full(shown.log_dirs.get(directory.path, KnownLogDir()), directory)
    ]
    found.sort(key=lambda directory: (directory.is_metadata_dir is not True, directory.usable_bytes or 0))
    return found[:FULL_DIRECTORIES]


def _was_full(told: KnownLogDir, directory: LogDir) -> bool:
    """Tell whether a directory was saturated when last seen, or its last sample shows it full."""
    total, free = directory.total_bytes, directory.usable_bytes
    # A cause that is known explains the failure better than the last sample does.
    is_nearly = total is not None and free is not None and free <= min(LITTLE_FREE_RATIO * total, LITTLE_FREE_BYTES)
    return told.last_status == LogDirStatus.SATURATED or (is_nearly and directory.cause is None)


def _why(full: list[LogDir], sick: list[LogDir], limited: list[LogDir], shown: BrokerAwayEvidence) -> str:
    if shown.hangs and not shown.log_says:
        return "only once its storage answers again, as above: the new process hangs there too"
    is_told = bool(shown.log_says)
    if sick:
        return f"replace the disk under {', '.join(directory.path for directory in sick)} first"
    if full:
        return f"make room in {', '.join(directory.path for directory in full)} first, or it halts again"
    if limited and limited[0].cause is not None:
        what = _REPAIRED_FIRST[limited[0].cause].format(path=limited[0].path)
        return f"{what} first, or it halts again{', and fix what its log says' if is_told else ''}"
    return "first fix what its log says, as above" if is_told else "see in its log why it stopped before"


_ROLLING_RESTART = Runbook(
    "brokers were restarted: before the next one, wait until no partition is under-replicated; brokers lost at "
    "the same time that nobody restarted share what failed (power, a switch, storage, a host)",
    (UNDER_REPLICATED, UNDER_MIN_ISR),
)


RESPONSE = Response(
    runbook=Runbook(
        "find out why the broker is gone: its process and last log lines, a full or failed log directory; "
        "restart no other broker meanwhile",
        (quorum_status, UNAVAILABLE, UNDER_MIN_ISR),
    ),
    propose=propose,
    runbook_for=lambda alert: _ROLLING_RESTART if alert.broker is None else as_its_log_says(alert),
    ends_when="the broker answers",
)
