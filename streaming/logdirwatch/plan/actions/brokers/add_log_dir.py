"""``add_log_dir``: give a broker one more log directory when its volumes cannot grow."""

from collections.abc import Sequence

from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.actions.action_type import ActionType, FixRole, Relief, always_valid, frees_as_much
from logdirwatch.plan.actions.brokers.restart_broker import (
    disks_replaced,
    format_steps,
    restart_steps,
    room_for_recovery,
)
from logdirwatch.plan.actions.progress import Progress, in_one_step
from logdirwatch.plan.capacity.timing import place_target
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.commands.kafka_tools import note
from logdirwatch.plan.proposal import Policy, ProposedAction, Veto, effect
from logdirwatch.plan.vetoes import restart_vetoes
from logdirwatch.text.units import human_bytes


def add_log_dir(
    directory: LogDir, snapshot: ClusterSnapshot, policy: Policy, needed: int, instead: Sequence[Veto]
) -> ProposedAction:
    """Return the advice to add a log directory to the broker; ``instead`` says why the volume is not grown.

    Kafka reads ``log.dirs`` only at start, and an empty directory without ``meta.properties`` prevents the start (Kafka
    4.3.1 ``KafkaConfig``, ``MetaPropertiesEnsemble``).
    """
    broker = directory.broker
    least = int(needed / policy.limits.target_ratio)
    text = f"give broker {broker} one more log directory of at least {human_bytes(least)}"
    between = [
        note(f"On broker {broker}'s host: mount a volume, give it to Kafka's user, add its path to log.dirs."),
        *format_steps(broker, snapshot, policy),
    ]
    return ProposedAction(
        kind=ActionKind.ADD_LOG_DIR,
        target=place_target(directory),
        reason=f"{text}: replicas of {directory.path} can then be moved there"
        + "".join(f"; {against.reason}" for against in instead),
        expected=effect(
            log_dirs_before=sorted(d.path for d in snapshot.directories_of.get(broker, ())), least_bytes=least
        ),
        preconditions=(room_for_recovery(directory), restart_vetoes.quorum_safe(snapshot, broker)),
        vetoes=restart_vetoes.against_restart(snapshot, broker),
        commands=tuple(restart_steps(broker, snapshot, policy, between)),
        undo={"text": f"empty the directory, then take it out of log.dirs and restart broker {broker}"},
    )


def _progress(action: ActionRecord, snapshot: ClusterSnapshot) -> Progress | None:
    before = set(action.expected["log_dirs_before"])
    mine = snapshot.directories_of.get(action.target["broker"], ())
    return in_one_step(any(directory.path not in before for directory in mine), snapshot)


ACTION_TYPE = ActionType(
    kind=ActionKind.ADD_LOG_DIR,
    relief=Relief(if_in_time=5, if_not=5, begins_at_once=True),
    fix_role=FixRole.MAKES_ROOM,
    progress=_progress,
    covers=frees_as_much,
    reasons_against=always_valid,
    follow_up=None,
    live_check=disks_replaced,
)
