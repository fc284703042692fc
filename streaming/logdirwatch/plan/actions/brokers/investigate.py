"""The runbook step of every alert for which there is no other action yet: what to look at, and how."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from logdirwatch.collect.answers import Quorum
from logdirwatch.model.records import ActionRecord, AlertRecord
from logdirwatch.model.vocabulary import CLEANER_DEAD, REMOTE_COPY_FAILS, ActionKind, KernelTrouble, Rule
from logdirwatch.plan.actions.action_type import (
    ActionType,
    FixRole,
    Relief,
    always_valid,
    frees_as_much,
)
from logdirwatch.plan.actions.brokers.restart_broker import against_restart_now
from logdirwatch.plan.actions.brokers.startup_failures import remedy_of
from logdirwatch.plan.actions.progress import not_seen
from logdirwatch.plan.cluster.snapshot import Facts
from logdirwatch.plan.commands.kafka_tools import LOG_DIRS, QUORUM, REASSIGN, TOPICS, Tools, note
from logdirwatch.plan.proposal import Draft, Policy, effect
from logdirwatch.plan.vetoes import restart_vetoes

Step = Callable[[Tools, AlertRecord], str]


@dataclass(frozen=True)
class Runbook:
    """What to find out, and commands that change nothing."""

    text: str
    steps: tuple[Step, ...]


def investigate(alert: AlertRecord, policy: Policy, why: str | None = None) -> Draft:
    """Return the runbook step of an alert; ``why`` says what keeps a better action back."""
    runbook = _runbook(alert)
    return Draft(
        kind=ActionKind.INVESTIGATE,
        target={"broker": alert.broker, "log_dir": alert.log_dir, "step": str(alert.rule)},
        reason=runbook.text if why is None else f"{runbook.text} ({why})",
        expected=effect(),
        commands=tuple(step(policy.tools, alert) for step in runbook.steps),
    )


def _runbook(alert: AlertRecord) -> Runbook:
    if alert.rule is Rule.BROKER_OFFLINE and alert.broker is None:
        return ROLLING_RESTART
    if alert.rule is Rule.LOG_DIR_SUSPECT and alert.broker is None:
        return SLOW_BROKERS
    if alert.rule is Rule.LOG_DIR_SUSPECT and (found := _OF_NO_DISK.get(tuple(alert.evidence.get("why") or ()))):
        return found
    if alert.evidence.get("maintenance"):
        return PLANNED
    if alert.rule in {Rule.BROKER_OFFLINE, Rule.BROKER_UNKNOWN} and alert.evidence.get("log_says"):
        return _said(alert)
    return RUNBOOKS[alert.rule]


def _said(alert: AlertRecord) -> Runbook:
    """Return the way back of a broker whose own log says why it is away; its words are never a part of a command."""
    remedy = remedy_of(alert.evidence.get("log_reason"))
    looks = tuple(_on_host(look) for look in remedy.look)
    return Runbook(f"{remedy.text}. Its log says: {alert.evidence['log_says']}", (*looks, _quorum, _UNAVAILABLE))


def _on_host(look: str) -> Step:
    return lambda _, alert: note(f"On broker {alert.broker}'s host: {look}")


def _log_dirs(tools: Tools, alert: AlertRecord) -> str:
    chosen = () if alert.broker is None else ("--broker-list", str(alert.broker))
    return tools.call(LOG_DIRS, "--describe", *chosen)


def _all_log_dirs(tools: Tools, alert: AlertRecord) -> str:  # noqa: ARG001 - one signature for every step
    return tools.call(LOG_DIRS, "--describe")


def _topics(option: str) -> Step:
    return lambda tools, _: tools.call(TOPICS, "--describe", option)


def _quorum(tools: Tools, alert: AlertRecord) -> str:  # noqa: ARG001 - one signature for every step
    return tools.call(QUORUM, "describe", "--status")


def _running_moves(tools: Tools, alert: AlertRecord) -> str:  # noqa: ARG001 - one signature for every step
    return tools.call(REASSIGN, "--list")


def _status(tools: Tools, alert: AlertRecord) -> str:  # noqa: ARG001 - one signature for every step
    return note("Where logdirwatch runs: logdirwatch status")


def _rejected(tools: Tools, alert: AlertRecord) -> str:  # noqa: ARG001 - one signature for every step
    return note("SELECT topic, reason, count(*), max(offset) FROM rejected_records GROUP BY topic, reason")


def _retention(tools: Tools, alert: AlertRecord) -> str:  # noqa: ARG001 - one signature for every step
    return note("Where logdirwatch runs: logdirwatch topics list")


_UNAVAILABLE = _topics("--unavailable-partitions")
_UNDER_MIN_ISR = _topics("--under-min-isr-partitions")
_UNDER_REPLICATED = _topics("--under-replicated-partitions")

ROLLING_RESTART = Runbook(
    "brokers are restarted one after the other: before the next one, wait until no partition is under-replicated",
    (_UNDER_REPLICATED, _UNDER_MIN_ISR),
)
SLOW_BROKERS = Runbook(
    "on the hosts that evidence.slow_brokers names, find the slow disk: iostat, SMART, the kernel's log; until it is "
    "replaced let other brokers lead what lies there",
    (_UNDER_REPLICATED, _all_log_dirs),
)
CLEANER = Runbook(
    "find out in log-cleaner.log why the thread died; then change log.cleaner.threads of this broker, by kafka-configs "
    "and without a restart: all of its threads are started anew",
    (_log_dirs,),
)
REMOTE_COPIES = Runbook(
    "find out why copies to remote storage fail: the exception that evidence names, the storage itself, its "
    "credentials and the way there; until they succeed no local segment is freed: watch the room, and lower no "
    "retention for it",
    (_log_dirs,),
)
HANGING = Runbook(
    "find out what the hanging tasks wait for, and of which disk or server: cat /proc/PID/stack, iostat -x 5, the "
    "kernel's log before it; a task that waits for a disk cannot be killed, and a restart of the broker would hang too",
    (_UNDER_REPLICATED,),
)
PLANNED = Runbook(
    "the broker is away as planned; when it is back: logdirwatch maintenance end; restart no other broker meanwhile",
    (_UNDER_REPLICATED, _UNDER_MIN_ISR),
)

_OF_NO_DISK: Mapping[tuple[str, ...], Runbook] = {
    (CLEANER_DEAD,): CLEANER,
    (REMOTE_COPY_FAILS,): REMOTE_COPIES,
    (KernelTrouble.HUNG,): HANGING,
}

RUNBOOKS: Mapping[Rule, Runbook] = {
    Rule.LOG_DIR_SPACE: Runbook(
        "find what fills the directory: its largest topics, moves that still run, files that are not Kafka's",
        (_log_dirs, _running_moves),
    ),
    Rule.LOG_DIR_OFFLINE: Runbook(
        "find out whether the disk is full or broken: df, the kernel's log, the first LogDirFailureChannel line",
        (_UNAVAILABLE, _UNDER_MIN_ISR),
    ),
    Rule.LOG_DIR_UNKNOWN: Runbook(
        "find out why nothing is known of the directory: does the broker answer, is it still in log.dirs",
        (_quorum, _UNAVAILABLE),
    ),
    Rule.LOG_DIR_SUSPECT: Runbook(
        "ask the file system on the broker's host: df and ls on the directory, the kernel's log", (_UNAVAILABLE,)
    ),
    Rule.LOG_DIR_CHANGED: Runbook(
        "find out why the directory's volume changed: is the disk mounted, or does Kafka write to the root disk",
        (_UNAVAILABLE,),
    ),
    Rule.LOG_DIR_IMBALANCE: Runbook(
        "compare the directories of the broker; a plan for them can wait for a quiet hour", (_log_dirs,)
    ),
    Rule.BROKER_OFFLINE: Runbook(
        "find out why the broker is gone: its process and last log lines, a full or failed metadata directory; "
        "restart no other broker meanwhile",
        (_quorum, _UNAVAILABLE, _UNDER_MIN_ISR),
    ),
    Rule.BROKER_UNKNOWN: Runbook(
        "find out why the broker does not answer: network, a long pause, the collector's permission (DESCRIBE on the "
        "cluster); if it is the whole cluster, whether the collector runs and reaches the telemetry cluster",
        (_quorum, _UNDER_REPLICATED),
    ),
    Rule.PARTITION_FAILED: Runbook(
        "look at the one partition that failed: its disk may be well; a restart of the broker or a new copy mends it",
        (_UNDER_REPLICATED,),
    ),
    Rule.UNCLEANABLE_PARTITIONS: Runbook(
        "partitions that the log cleaner gave up on grow until their broker restarts: mend what it met first",
        (_UNDER_REPLICATED, _log_dirs),
    ),
    Rule.PARTITIONS_AT_RISK: Runbook(
        "see which partitions have no leader or too few in-sync replicas; restart no broker that holds the last copy",
        (_UNAVAILABLE, _UNDER_MIN_ISR),
    ),
    Rule.FLEET_SPACE: Runbook(
        "many directories will fill together: moving data between them only shifts the problem; cut retention or add "
        "disks",
        (_all_log_dirs,),
    ),
    Rule.UNACCOUNTED_BYTES: Runbook(
        "find the bytes that no replica explains: -stray and -delete folders, files not Kafka's, deleted files still "
        "open, preallocated blocks (du beside du --apparent-size); a restart of the broker frees the last two",
        (_log_dirs,),
    ),
    Rule.MOVE_STALLED: Runbook(
        "see which move stands still and under which throttle; a throttle below the write rate never ends",
        (_running_moves, _log_dirs),
    ),
    Rule.THROTTLE_LEFT: Runbook(
        "see whether a move still needs the throttle; --verify of its reassignment removes it", (_running_moves,)
    ),
    Rule.PLACEMENT_REPORTS_STUCK: Runbook(
        "the broker cannot tell the controller where its replicas are, so a directory's failure may not fail over: see "
        "the controller and the network between",
        (_quorum,),
    ),
    Rule.PIPELINE_LAGGING: Runbook(
        "logdirwatch itself is behind: see its log for batches that fail or take long, and its machine's load; until "
        "it has caught up, alerts and tables show the past",
        (_status,),
    ),
    Rule.PIPELINE_REJECTS: Runbook(
        "find the sender that writes what cannot be read; every such record is kept, with the reason, in the table "
        "rejected_records",
        (_rejected,),
    ),
    Rule.PIPELINE_DATA_LOSS: Runbook(
        "telemetry was deleted before it was read: see why the query was away so long, and give the topic's retention "
        "more time",
        (_status, _retention),
    ),
    Rule.DATA_QUALITY: Runbook("see the table quality_results: which expectation failed on which table", ()),
}


def _stops_broker(action: ActionRecord, facts: Facts, quorum: Quorum | None) -> Iterator[str]:
    """Yield why a broker must not be stopped now, for the steps that stop one."""
    step = action.target.get("step")
    if step in restart_vetoes.STOPPING_STEPS:
        yield from against_restart_now(action, facts, quorum, keeps_disks=step == restart_vetoes.COPY_AGAIN)


ACTION_TYPE = ActionType(
    kind=ActionKind.INVESTIGATE,
    relief=Relief(if_in_time=5, if_not=6),
    fix_role=FixRole.BESIDE,
    progress=not_seen,
    covers=frees_as_much,
    reasons_against=always_valid,
    follow_up=None,
    live_check=_stops_broker,
    needs_approval=False,
)
