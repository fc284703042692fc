"""``release_reserve``: delete the reserve file of a full log directory (KIP-928).

Kafka does not know about it. It must be a file: an unknown folder in a log directory prevents the broker's start (Kafka
4.3.1 ``LogManager.loadLogs``).
"""

from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.actions.action_type import (
    ActionType,
    FixRole,
    FollowUp,
    Relief,
    Stage,
    always_valid,
    frees_as_much,
)
from logdirwatch.plan.actions.brokers.recreate_reserve import (
    make_file,
    propose_recreation,
    reserve_of,
    reserve_progress,
)
from logdirwatch.plan.actions.progress import directory_of, was_carried_out
from logdirwatch.plan.capacity.timing import place_target, time_to_full_ms
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.commands.kafka_tools import on_host
from logdirwatch.plan.proposal import Policy, Precondition, ProposedAction, effect
from logdirwatch.plan.retention import retention_vetoes
from logdirwatch.text.units import human_bytes


def propose_release(directory: LogDir, policy: Policy) -> list[ProposedAction]:
    """Return the release of the reserve file, if one is configured."""
    reserve = reserve_of(directory, policy)
    if reserve is None:
        return []
    path, size = reserve
    gone = retention_vetoes.reserve_gone(directory, size)
    return [
        ProposedAction(
            kind=ActionKind.RELEASE_RESERVE,
            target=place_target(directory),
            reason=f"delete the reserve file {path} on broker {directory.broker}: {human_bytes(size)} are free at "
            "once; this only gains time, once",
            expected=effect(
                frees_bytes=size,
                needs_ms=0,
                on=[{"broker": directory.broker, "log_dir": directory.path, "bytes": size}],
                time_to_full_after_ms=time_to_full_ms(directory, size),
                unaccounted_bytes_before=directory.unaccounted_bytes,
            ),
            preconditions=(
                Precondition("reserve_there", f"{path} is there: it is not Kafka's, so nobody lists it", None),
            ),
            vetoes=() if gone is None else (gone,),
            commands=tuple(on_host(policy.tools, directory.broker, ["rm", "--", path])),
            undo={
                "commands": on_host(policy.tools, directory.broker, make_file(path, size)),
                "text": "when there is room again; recreate_reserve follows once the alert is over",
            },
        )
    ]


def _recreated(action: ActionRecord, snapshot: ClusterSnapshot, policy: Policy) -> ProposedAction | None:
    directory = directory_of(action, snapshot)
    if directory is None or not was_carried_out(action):
        return None
    return propose_recreation(directory, policy, action.action_id)


ACTION_TYPE = ActionType(
    kind=ActionKind.RELEASE_RESERVE,
    relief=Relief(if_in_time=5, if_not=7, stage=Stage.FREES_AT_ONCE),
    fix_role=FixRole.BESIDE,
    progress=reserve_progress,
    covers=frees_as_much,
    reasons_against=always_valid,
    follow_up=FollowUp(_recreated),
    changes_declared=False,
)
