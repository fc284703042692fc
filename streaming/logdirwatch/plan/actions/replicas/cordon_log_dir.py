"""``cordon_log_dir``: keep new replicas out of a filling or failing directory (KIP-1066).

Kafka creates a new replica in the directory with the fewest logs, so a directory that was just emptied is filled next
(Kafka 4.3.1 ``LogManager.nextLogDirs``). A cordoned directory keeps serving its replicas.
"""

from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.actions.action_type import NO_RELIEF, ActionType, FixRole, FollowUp, always_valid, same_commands
from logdirwatch.plan.actions.progress import directory_of, was_carried_out
from logdirwatch.plan.actions.replicas.uncordon_log_dir import cordon_progress, propose_uncordon, sets_cordon
from logdirwatch.plan.capacity.timing import place_target
from logdirwatch.plan.cluster.cordons import CORDON, KEY, at_least, does_more, listed_dirs, others_cordoned
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.commands.operations import broker_list, rendered
from logdirwatch.plan.proposal import Policy, Precondition, ProposedAction, Veto, effect
from logdirwatch.plan.retention import retention_vetoes


def propose_cordon(
    directory: LogDir, snapshot: ClusterSnapshot, policy: Policy, why: str, until: str
) -> list[ProposedAction]:
    """Return the cordon, if the cluster's metadata version allows one and there is none yet.

    ``why`` and ``until`` complete the sentences that say what it is for and when it ends.
    """
    if at_least(snapshot.metadata_version, CORDON) is not True or directory.is_cordoned is not False:
        return []
    others = others_cordoned(directory, snapshot)
    listed = listed_dirs(directory.broker, snapshot)
    found = [
        retention_vetoes.cordon_not_enforced(directory, listed),
        retention_vetoes.path_not_expressible(directory.path),
        retention_vetoes.nowhere_else(directory, snapshot),
        _deleted_by_strimzi(policy),
    ]
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
            vetoes=tuple(veto for veto in found if veto is not None),
            operations=(operation,),
            commands=rendered([operation], policy.tools),
            undo={
                "commands": list(rendered([operation.inverse], policy.tools)),
                "text": f"once {until}",
            },
        )
    ]


def _deleted_by_strimzi(policy: Policy) -> Veto | None:
    """Veto a cordon where Strimzi manages the cluster.

    It deletes a broker's own value of every key that Kafka's brokers know and its resource does not set (Strimzi 1.2
    ``KafkaConfigurationDiff``). A value in the resource applies to all brokers, and a list of directories does not.
    """
    if not policy.is_strimzis:
        return None
    return Veto(
        "owner_reverts",
        "Strimzi deletes a broker's own cordoned.log.dirs within minutes; to keep plans out of the directory, set "
        "destination: false for it under plan.log_dirs",
    )


def _uncordoned(action: ActionRecord, snapshot: ClusterSnapshot, policy: Policy) -> ProposedAction | None:
    directory = directory_of(action, snapshot)
    if directory is None or not directory.is_cordoned or not was_carried_out(action):
        return None
    return propose_uncordon(directory, snapshot, policy, action.action_id)


ACTION_TYPE = ActionType(
    kind=ActionKind.CORDON_LOG_DIR,
    relief=NO_RELIEF,
    fix_role=FixRole.BESIDE,
    progress=cordon_progress,
    covers=same_commands,
    reasons_against=always_valid,
    follow_up=FollowUp(_uncordoned),
    sets_whole_list=True,
    operator_reverts=True,
    executes=sets_cordon,
    cluster_acls=("AlterConfigs",),
)
