"""``release_reserve``: delete the reserve file of a full log directory (KIP-928).

Kafka does not know about it. It must be a file: an unknown folder in a log directory prevents the broker's start (Kafka
4.3.1 ``LogManager.loadLogs``).
"""

from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.actions.action_type import ActionType, FollowUp, Relief, Stage, frees_as_much
from logdirwatch.plan.actions.brokers.recreate_reserve import (
    make_file,
    propose_recreation,
    reserve_of,
    reserve_progress,
)
from logdirwatch.plan.actions.parts import frees
from logdirwatch.plan.actions.progress import directory_of, was_carried_out
from logdirwatch.plan.capacity.timing import place_target
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.commands.kafka_tools import on_host
from logdirwatch.plan.proposal import Policy, Precondition, ProposedAction, Veto
from logdirwatch.text.units import human_bytes


def propose_release(directory: LogDir, policy: Policy) -> list[ProposedAction]:
    """Return the release of the reserve file, if one is configured."""
    reserve = reserve_of(directory, policy)
    if reserve is None:
        return []
    path, size = reserve
    return [
        ProposedAction(
            kind=ActionKind.RELEASE_RESERVE,
            target=place_target(directory),
            reason=f"delete the reserve file {path} on broker {directory.broker}: {human_bytes(size)} are free at "
            "once; this only gains time, once",
            expected=frees(directory, size, needs_ms=0, unaccounted_bytes_before=directory.unaccounted_bytes),
            preconditions=(
                Precondition("reserve_there", f"{path} is there: it is not Kafka's, so nobody lists it", None),
            ),
            vetoes=_gone(directory, size),
            commands=tuple(on_host(policy.tools, directory.broker, ["rm", "--", path])),
            undo={
                "commands": on_host(policy.tools, directory.broker, make_file(path, size)),
                "text": "when there is room again; recreate_reserve follows once the alert is over",
            },
        )
    ]


def _gone(directory: LogDir, size: int) -> tuple[Veto, ...]:
    """Veto relying on a file that cannot exist: too few bytes are unexplained by replicas."""
    found = directory.unaccounted_bytes
    if found is None or found >= size:
        return ()
    text = f"only {human_bytes(found)} in {directory.path} are explained by no replica: a reserve of "
    return (Veto("reserve_gone", f"{text}{human_bytes(size)} cannot be there"),)


def _recreated(action: ActionRecord, snapshot: ClusterSnapshot, policy: Policy) -> ProposedAction | None:
    directory = directory_of(action, snapshot)
    if directory is None or not was_carried_out(action):
        return None
    return propose_recreation(directory, policy, action.action_id)


ACTION_TYPE = ActionType(
    kind=ActionKind.RELEASE_RESERVE,
    relief=Relief(if_in_time=5, if_not=7, stage=Stage.FREES_AT_ONCE),
    progress=reserve_progress,
    covers=frees_as_much,
    follow_up=FollowUp(_recreated),
    changes_declared=False,
)
