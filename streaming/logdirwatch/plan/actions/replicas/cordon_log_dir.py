"""``cordon_log_dir``: keep new replicas out of a filling or failing directory (KIP-1066).

Kafka creates a new replica in the directory with the fewest logs, so a directory that was just emptied is filled next
(Kafka 4.3.1 ``LogManager.nextLogDirs``). A cordoned directory keeps serving its replicas.
"""

from collections.abc import Collection, Iterator

from logdirwatch.collect.kafka.answers import Quorum
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.actions.action_type import ActionType, FollowUp, same_commands
from logdirwatch.plan.actions.parts import carried_out_by
from logdirwatch.plan.actions.progress import directory_of, was_carried_out
from logdirwatch.plan.actions.replicas.uncordon_log_dir import cordon_progress, propose_uncordon, sets_cordon
from logdirwatch.plan.capacity.timing import place_target
from logdirwatch.plan.cluster.cordons import CORDON, KEY, at_least, does_more, others_cordoned
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.commands.operations import broker_list
from logdirwatch.plan.proposal import Policy, Precondition, ProposedAction, Veto, effect


def propose_cordon(
    directory: LogDir, snapshot: ClusterSnapshot, policy: Policy, why: str, until: str
) -> list[ProposedAction]:
    """Return the cordon, if the cluster's metadata version allows one and there is none yet.

    ``why`` and ``until`` complete the sentences that say what it is for and when it ends.
    """
    # None is not False: a broker whose DescribeLogDirs is older than version 5 does not say whether it is cordoned.
    if at_least(snapshot.metadata_version, CORDON) is not True or directory.is_cordoned is not False:
        return []
    others = others_cordoned(directory, snapshot)
    listed = snapshot.listed_dirs(directory.broker)
    operation = broker_list(directory.broker, KEY, [*others, directory.path], old=others)
    return [
        ProposedAction(
            kind=ActionKind.CORDON_LOG_DIR,
            target=place_target(directory),
            reason=f"cordon {directory.path} of broker {directory.broker}{why}{does_more(directory, snapshot)}",
            expected=effect(needs_ms=0, on=[], is_cordoned=True),
            preconditions=(
                Precondition("metadata_version", f"the cluster has finalized {CORDON} or later", True),
                Precondition("path_listed", f"log.dirs names {directory.path} as it is", True if listed else None),
            ),
            vetoes=tuple(_against(directory, listed, snapshot, policy)),
            **carried_out_by(policy, operation, text=f"once {until}"),
        )
    ]


def _against(directory: LogDir, listed: Collection[str], snapshot: ClusterSnapshot, policy: Policy) -> Iterator[Veto]:
    path = directory.path
    # Kafka accepts the cordon of a path that log.dirs spells differently, and ignores it (KAFKA-20901).
    if listed and path not in listed:
        text = f"log.dirs does not name {path} by this absolute path, so a cordon would not hold"
        yield Veto("cordon_not_enforced", text)
    # The tool splits lists at commas and drops brackets (ConfigCommand).
    if any(sign in path for sign in ",[]") or path != path.strip():
        yield Veto("path_not_expressible", f"kafka-configs cannot carry the path {path} in a list")
    yield from _nowhere_else(directory, snapshot)
    # Strimzi deletes a broker's own value of every key that Kafka's brokers know and its resource does not set (1.2,
    # KafkaConfigurationDiff). A value in the resource applies to all brokers, and a list of directories does not.
    if policy.is_strimzis:
        text = (
            "Strimzi deletes a broker's own cordoned.log.dirs within minutes; to keep plans out of the directory, set "
            "destination: false for it under plan.log_dirs"
        )
        yield Veto("owner_reverts", text)


def _nowhere_else(directory: LogDir, snapshot: ClusterSnapshot) -> Iterator[Veto]:
    """Yield that Kafka would refuse new topics: they have more replicas than brokers are open (KIP-1066)."""
    serving = (d for d in snapshot.directories.values() if d.is_serving and not d.is_cordoned)
    left = {d.broker for d in serving if snapshot.is_alive(d.broker) and d.place != directory.place}
    wanted = max((len(partition.replicas) for partition in snapshot.partitions.values()), default=1)
    if len(left) < wanted:
        text = f"{len(left)} brokers would be left to take new partitions, topics here have {wanted} replicas"
        yield Veto("nowhere_else", text)


def _closes_the_last(action: ActionRecord, snapshot: ClusterSnapshot, _quorum: Quorum | None) -> Iterator[str]:
    directory = directory_of(action, snapshot)
    yield from () if directory is None else (veto.reason for veto in _nowhere_else(directory, snapshot))


def _uncordoned(action: ActionRecord, snapshot: ClusterSnapshot, policy: Policy) -> ProposedAction | None:
    directory = directory_of(action, snapshot)
    if directory is None or not directory.is_cordoned or not was_carried_out(action):
        return None
    return propose_uncordon(directory, snapshot, policy, action.action_id)


ACTION_TYPE = ActionType(
    kind=ActionKind.CORDON_LOG_DIR,
    progress=cordon_progress,
    covers=same_commands,
    live_check=_closes_the_last,
    follow_up=FollowUp(_uncordoned),
    sets_whole_list=True,
    operator_reverts=True,
    executes=sets_cordon,
    cluster_acls=("AlterConfigs",),
)
