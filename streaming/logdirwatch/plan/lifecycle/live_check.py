"""Whether a published action still holds on the cluster as it is this moment: one reason a line why it does not.

The facts are those of :mod:`logdirwatch.plan.cluster.from_brokers`. What the brokers could not tell is a reason too:
nobody knows then.
"""

from collections.abc import Iterator
from typing import Any

from logdirwatch.collect.answers import Quorum
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import OPEN, ActionKind, ActionStatus, BrokerStatus, Rule
from logdirwatch.plan.actions.brokers.repair_file_system import REPAIR
from logdirwatch.plan.actions.brokers.replace_disk import WITHOUT_DIRECTORY
from logdirwatch.plan.availability import leadership
from logdirwatch.plan.availability.impact import of_cancelling
from logdirwatch.plan.cluster.excluded_log_dirs import with_marks
from logdirwatch.plan.cluster.snapshot import Directory, Facts, Partition
from logdirwatch.plan.commands.kafka_tools import ADDITIONAL
from logdirwatch.plan.lifecycle.transitions import standing_against
from logdirwatch.plan.proposal import Policy
from logdirwatch.plan.retention.still_needed import keeps_too_little
from logdirwatch.plan.vetoes import predicted_impact, replica_vetoes, restart_vetoes
from logdirwatch.report.units import human_ms
from logdirwatch.report.words import some_of

_RESTARTS = frozenset({ActionKind.RESTART_BROKER, ActionKind.REPLACE_DISK, ActionKind.ADD_LOG_DIR})
_NEEDS_OFFLINE = frozenset({Rule.LOG_DIR_OFFLINE.value})
_NEEDS_AWAY = frozenset({Rule.BROKER_OFFLINE.value})


def reasons_against(
    action: ActionRecord, facts: Facts, quorum: Quorum | None, policy: Policy, now_ms: int
) -> list[str]:
    """Return every reason why an action must not be carried out now; empty when it may."""
    found, facts = [*_of_record(action, now_ms)], with_marks(facts, policy.limits)
    if action.status in OPEN:
        found += [*_of_alert(action, facts), *_of_reassignment(action, facts, policy), *_of_configs(action, facts)]
        found += [*_of_cut(action, facts, policy)]
        found += [*_of_leaders(action, facts), *_of_cancelling(action, facts), *_of_restart(action, facts, quorum)]
    return list(dict.fromkeys(found))


def left_to_see(action: ActionRecord) -> list[str]:
    """Return the preconditions that only a person can see."""
    return [str(item["text"]) for item in action.preconditions if item.get("holds") is None]


def _of_record(action: ActionRecord, now_ms: int) -> Iterator[str]:
    if action.status not in OPEN:
        yield f"it is {action.status}: {action.status_reason or 'no reason given'}"
    elif action.status is ActionStatus.RUNNING:
        yield "it is running already"
    elif action.status is ActionStatus.PROPOSED and action.expires_at_ms < now_ms:
        yield f"it expired {human_ms(now_ms - action.expires_at_ms)} ago and was not renewed"
    for veto in action.vetoes:
        yield f"when it was planned: {veto['reason']}"
    for item in action.preconditions:
        if item.get("holds") is False:
            yield f"when it was planned this did not hold: {item['text']}"


def _of_alert(action: ActionRecord, facts: Facts) -> Iterator[str]:
    """Yield what shows that nothing is broken any more."""
    rule, directory = action.alert.get("rule"), _target_directory(action, facts)
    broker = action.target.get("broker")
    if rule in _NEEDS_OFFLINE and directory is not None and directory.is_serving:
        yield f"{directory.path} of broker {directory.broker} serves again"
    if rule in _NEEDS_AWAY and isinstance(broker, int) and facts.is_alive(broker):
        yield f"broker {broker} is alive again"
    if action.kind is ActionKind.MOVE_LOG_DIR and directory is not None and not directory.is_serving:
        yield f"{directory.path} of broker {directory.broker} is {directory.status}"


def _of_reassignment(action: ActionRecord, facts: Facts, policy: Policy) -> Iterator[str]:
    if action.reassignment is None:
        return
    if facts.inventory_at_ms is None:
        yield "the topics cannot be listed, so nobody knows where their replicas are"
        return
    yield from standing_against(action, facts, policy)
    own = {(entry["topic"], entry["partition"]) for entry in action.reassignment["partitions"]}
    others = sorted(p.label for p in facts.partitions.values() if p.is_reassigned and p.key not in own)
    if others and not any(ADDITIONAL in command for command in action.commands):
        yield f"another reassignment runs ({some_of(others, 3)}); Kafka's tool refuses a second one"
    if any(partition.adding is None for partition in facts.partitions.values()):
        yield "whether a reassignment runs cannot be asked"


def _of_configs(action: ActionRecord, facts: Facts) -> Iterator[str]:
    """Yield what is not as it was when the change was planned."""
    for topic, changes in (action.configs or {}).items():
        for key, change in changes.items() if isinstance(changes, dict) else ():
            if not isinstance(change, dict) or "from" not in change:
                continue
            if topic not in facts.topics:
                yield f"topic {topic} is not there any more"
            elif facts.topics[topic].configs.get(key) != change["from"]:
                yield f"{key} of {topic} is {facts.topics[topic].configs.get(key)}, not {change['from']} as it was"


def _of_cut(action: ActionRecord, facts: Facts, policy: Policy) -> Iterator[str]:
    """Yield what a cut would delete though it is still needed, and what moves: its retention stands still."""
    yield from keeps_too_little(action, facts, policy)
    topic = facts.topics.get(str(action.target.get("topic")))
    if action.kind is ActionKind.LOWER_RETENTION and topic is not None:
        found = (replica_vetoes.partition_moving(facts, partition) for partition in topic.partitions)
        yield from (veto.reason for veto in found if veto is not None)


def _of_leaders(action: ActionRecord, facts: Facts) -> Iterator[str]:
    if action.kind is not ActionKind.ELECT_LEADERS:
        return
    is_preferred = action.target.get("election") == "preferred"
    for partition in _named(action.expected.get("election"), facts):
        if is_preferred and not _may_lead(partition, facts):
            yield f"the preferred replica of {partition.label} is not alive and in sync"
        if not is_preferred and partition.leader is not None:
            yield f"{partition.label} has a leader again: broker {partition.leader}"


def _of_cancelling(action: ActionRecord, facts: Facts) -> Iterator[str]:
    if action.kind is not ActionKind.CANCEL_MOVES or "cancels" not in action.expected:
        return
    running = [partition for partition in _named(action.expected["cancels"], facts) if partition.is_reassigned]
    if not running:
        yield "none of its moves runs any more"
    yield from (veto.reason for veto in predicted_impact.against({"leadership": of_cancelling(running, facts)}))


def _of_restart(action: ActionRecord, facts: Facts, quorum: Quorum | None) -> Iterator[str]:
    broker, step = action.target.get("broker"), action.target.get("step")
    if (action.kind not in _RESTARTS and step not in restart_vetoes.STOPPING_STEPS) or not isinstance(broker, int):
        return
    if broker not in facts.brokers or facts.brokers[broker].status is BrokerStatus.OFFLINE:
        yield from (veto.reason for veto in restart_vetoes.against_starting(facts, broker))
        return
    keeps_disks = step == restart_vetoes.COPY_AGAIN or (
        action.kind is ActionKind.RESTART_BROKER and step not in {WITHOUT_DIRECTORY, REPAIR}
    )
    against = restart_vetoes.against_restart if keeps_disks else restart_vetoes.against_stopping
    yield from (veto.reason for veto in against(facts, broker))
    yield from _of_quorum(broker, quorum)


def _of_quorum(broker: int, quorum: Quorum | None) -> Iterator[str]:
    """Yield that no majority of the voters is caught up without the broker; a single voter has no other choice."""
    if quorum is None:
        yield "the controllers' quorum cannot be asked"
        return
    voters = quorum.caught_up
    if broker not in voters or len(voters) == 1:
        return
    good = [voter for voter, is_caught_up in voters.items() if voter != broker and is_caught_up]
    if len(good) < len(voters) // 2 + 1:
        yield f"without broker {broker} only {len(good)} of {len(voters)} controllers are caught up"


def _may_lead(partition: Partition, facts: Facts) -> bool:
    first = partition.replicas[0] if partition.replicas else None
    return first in leadership.live_replicas(partition, facts) & set(partition.isr)


def _named(plan: Any, facts: Facts) -> list[Partition]:
    keys = [(entry["topic"], entry["partition"]) for entry in (plan or {}).get("partitions", ())]
    return [facts.partitions[key] for key in keys if key in facts.partitions]


def _target_directory(action: ActionRecord, facts: Facts) -> Directory | None:
    broker, log_dir = action.target.get("broker"), action.target.get("log_dir")
    return facts.directories.get((broker, log_dir)) if isinstance(broker, int) and isinstance(log_dir, str) else None
