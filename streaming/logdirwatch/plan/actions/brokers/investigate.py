"""``investigate``: the runbook step of an alert that has no other action yet."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from logdirwatch.collect.kafka.answers import Quorum
from logdirwatch.model.records import ActionRecord, AlertRecord
from logdirwatch.model.vocabulary import COPY_AGAIN, STOPPING_STEPS, ActionKind
from logdirwatch.plan.actions.action_type import (
    ActionType,
    FixRole,
    Relief,
    always_valid,
    frees_as_much,
)
from logdirwatch.plan.actions.brokers.restart_broker import against_restart_now
from logdirwatch.plan.actions.progress import not_seen
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.commands.kafka_tools import LOG_DIRS, QUORUM, REASSIGN, TOPICS, Tools, note
from logdirwatch.plan.proposal import Policy, ProposedAction, effect

Step = Callable[[Tools, AlertRecord], str]


@dataclass(frozen=True)
class Runbook:
    """What to find out and read-only commands for it; ``zookeeper`` replaces it on clusters with ZooKeeper."""

    text: str
    steps: tuple[Step, ...]
    zookeeper: "Runbook | None" = None


def look_at(alert: AlertRecord, runbook: Runbook, policy: Policy, *, has_zookeeper: bool = False) -> ProposedAction:
    """Return the runbook step of an alert; a cluster with ZooKeeper has no metadata quorum to query."""
    if has_zookeeper:
        runbook = runbook.zookeeper or runbook
        runbook = replace(runbook, steps=tuple(step for step in runbook.steps if step is not quorum_status))
    return ProposedAction(
        kind=ActionKind.INVESTIGATE,
        target={"broker": alert.broker, "log_dir": alert.log_dir, "step": str(alert.rule)},
        reason=runbook.text,
        expected=effect(),
        commands=tuple(step(policy.tools, alert) for step in runbook.steps),
    )


def on_host_of(look: str) -> Step:
    """Return a manual step on the host of the alert's broker."""
    return lambda _, alert: note(f"On broker {alert.broker}'s host: {look}")


def describe_log_dirs(tools: Tools, alert: AlertRecord) -> str:
    """Describe the log directories of the alert's broker."""
    chosen = () if alert.broker is None else ("--broker-list", str(alert.broker))
    return tools.call(LOG_DIRS, "--describe", *chosen)


def describe_all_log_dirs(tools: Tools, alert: AlertRecord) -> str:  # noqa: ARG001 - one signature for every step
    """Describe the log directories of all brokers."""
    return tools.call(LOG_DIRS, "--describe")


def _topics(option: str) -> Step:
    return lambda tools, _: tools.call(TOPICS, "--describe", option)


def quorum_status(tools: Tools, alert: AlertRecord) -> str:  # noqa: ARG001 - one signature for every step
    """Show the state of the metadata quorum."""
    return tools.call(QUORUM, "describe", "--status")


def list_reassignments(tools: Tools, alert: AlertRecord) -> str:  # noqa: ARG001 - one signature for every step
    """List the running reassignments."""
    return tools.call(REASSIGN, "--list")


def show_status(tools: Tools, alert: AlertRecord) -> str:  # noqa: ARG001 - one signature for every step
    """Say which command shows the state that logdirwatch stores."""
    return note("Where logdirwatch runs: logdirwatch status")


def select_rejected(tools: Tools, alert: AlertRecord) -> str:  # noqa: ARG001 - one signature for every step
    """Say which table counts rejected records."""
    return note("SELECT topic, reason, count(*), max(offset) FROM rejected_records GROUP BY topic, reason")


def list_topics(tools: Tools, alert: AlertRecord) -> str:  # noqa: ARG001 - one signature for every step
    """Say which command shows the retention of the telemetry topics."""
    return note("Where logdirwatch runs: logdirwatch topics list")


UNAVAILABLE = _topics("--unavailable-partitions")
UNDER_MIN_ISR = _topics("--under-min-isr-partitions")
UNDER_REPLICATED = _topics("--under-replicated-partitions")

PLANNED = Runbook(
    "the broker is away as planned; when it is back: logdirwatch maintenance end; restart no other broker meanwhile",
    (UNDER_REPLICATED, UNDER_MIN_ISR),
)


def _stops_broker(action: ActionRecord, snapshot: ClusterSnapshot, quorum: Quorum | None) -> Iterator[str]:
    """Yield the vetoes against stopping the broker, for steps that stop it."""
    step = action.target.get("step")
    if step in STOPPING_STEPS:
        yield from against_restart_now(action, snapshot, quorum, keeps_disks=step == COPY_AGAIN)


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
    changes_declared=False,
)
