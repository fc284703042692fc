"""``add_log_dir``: give a broker one more log directory when its volumes cannot grow."""

import json
from collections.abc import Sequence
from dataclasses import replace

from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.actions.action_type import ActionType, FixRole, Relief, frees_as_much
from logdirwatch.plan.actions.brokers.restart_broker import (
    disks_replaced,
    format_steps,
    restarted,
    room_for_recovery,
)
from logdirwatch.plan.actions.parts import host_notes
from logdirwatch.plan.actions.progress import Progress, in_one_step
from logdirwatch.plan.actions.strimzi_resources import POOL, WHOLE_POOL, added_patch, kubectl_of, volume_of
from logdirwatch.plan.capacity.timing import delete_delay_ms, outlasts_new_room, place_target, room_in_time
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.commands.kafka_tools import note, write_file
from logdirwatch.plan.proposal import Policy, Precondition, ProposedAction, Veto, effect
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
    # Once it holds what it is for, the new directory must not be above the target ratio itself.
    least, takes_ms = int(needed / policy.limits.target_ratio), _takes_ms(directory, needed, snapshot, policy)
    text = f"give broker {broker} one more log directory of at least {human_bytes(least)}"
    mount = host_notes(broker, "mount a volume, give it to Kafka's user, add its path to log.dirs.")
    by_restart = restarted(broker, snapshot, policy, (), [*mount, *format_steps(broker, snapshot, policy)])
    # The volume takes days to arrive: what forbids a restart now may be over by then, so it is a precondition only.
    has_days = outlasts_new_room(directory, policy)
    standing = restart_vetoes.against_starting(snapshot, broker) if has_days else by_restart["vetoes"]
    return ProposedAction(
        kind=ActionKind.ADD_LOG_DIR,
        target=place_target(directory),
        reason=f"{text}: replicas of {directory.path} can then be moved there"
        + "".join(f"; {against.reason}" for against in instead),
        expected=effect(
            needs_ms=takes_ms,
            log_dirs_before=sorted(d.path for d in snapshot.directories_of.get(broker, ())),
            least_bytes=least,
            then_frees_bytes=needed,
        ),
        undo={"text": f"empty the directory, then take it out of log.dirs and restart broker {broker}"},
        **{
            **by_restart,
            "vetoes": standing,
            "preconditions": (
                *room_in_time(directory, takes_ms, "one more log directory, and moves to it,"),
                room_for_recovery(directory),
                restart_vetoes.quorum_safe(snapshot, broker),
                *_later([one for one in by_restart["vetoes"] if one not in standing]),
            ),
        },
    )


def _takes_ms(directory: LogDir, needed: int, snapshot: ClusterSnapshot, policy: Policy) -> int | None:
    """Return how long it takes until the volume is there, as long as to grow one, and replicas were moved to it."""
    there_ms = policy.limits.log_dir_rule(*directory.place).growing_takes_ms
    if there_ms is None:
        return None
    copying_ms = needed * 1000 // policy.limits.log_dir_throttle_bytes_per_s
    return there_ms + copying_ms + delete_delay_ms(directory.broker, snapshot)


def _later(passing: Sequence[Veto]) -> tuple[Precondition, ...]:
    """Return that the broker may be stopped once the volume is there: days away, when what forbids it now may be over.

    If not, people choose between a short outage and deleting history.
    """
    if not passing:
        return ()
    reasons = "; ".join(one.reason for one in passing)
    return (Precondition("may_be_stopped_then", f"nothing forbids the restart by then; now it is: {reasons}", False),)


def _progress(action: ActionRecord, snapshot: ClusterSnapshot) -> Progress | None:
    before = set(action.expected["log_dirs_before"])
    mine = snapshot.directories_of.get(action.target["broker"], ())
    return in_one_step(any(directory.path not in before for directory in mine), snapshot)


def _for_strimzi(proposal: ProposedAction, policy: Policy) -> ProposedAction:
    """Return one more log directory as one more volume in the KafkaNodePool; the operator restarts its brokers."""
    broker = proposal.target["broker"]
    known = [volume_of(path) for path in proposal.expected["log_dirs_before"]]
    ids = [volume.id for volume in known if volume is not None and volume.id is not None]
    if not ids:
        how = note("Add a volume to the storage of its KafkaNodePool, which must be of type jbod.")
        return replace(proposal, commands=(how,))
    kubectl, new = kubectl_of(policy), max(ids) + 1
    return replace(
        proposal,
        reason=f"{proposal.reason}; {WHOLE_POOL}, and Strimzi restarts them one after the other",
        commands=(
            kubectl.pool(broker),
            kubectl.patch("kafkanodepool", POOL, "json", added_patch(new, proposal.expected["least_bytes"])),
        ),
        undo={
            "text": f"empty volume {new} of every broker of the pool, with Cruise Control by a KafkaRebalance like "
            "this one, then take it out of the KafkaNodePool",
            "commands": _remove_disks(broker, new, policy),
        },
    )


def _remove_disks(broker: int, volume: int, policy: Policy) -> list[str]:
    """Return the commands that move everything off a volume to the broker's other ones, after somebody's approval."""
    assert policy.owner is not None
    kubectl, name = kubectl_of(policy), f"empty-volume-{volume}-of-{broker}"
    # Cruise Control moves replicas between the volumes of one broker only in this mode (Strimzi 0.45).
    spec = {"mode": "remove-disks", "moveReplicasOffVolumes": [{"brokerId": broker, "volumeIds": [volume]}]}
    found = {
        "apiVersion": "kafka.strimzi.io/v1",
        "kind": "KafkaRebalance",
        "metadata": {"name": name, "labels": {"strimzi.io/cluster": policy.owner.name}},
        "spec": spec,
    }
    return [
        write_file(f"{name}.json", json.dumps(found, indent=1).splitlines()),
        kubectl.run("create", "--filename", f"{name}.json"),
        kubectl.run("wait", "kafkarebalance", name, "--for=condition=ProposalReady", "--timeout=10m"),
        kubectl.run("annotate", "kafkarebalance", name, "strimzi.io/rebalance=approve"),
    ]


ACTION_TYPE = ActionType(
    kind=ActionKind.ADD_LOG_DIR,
    # Behind a larger volume: it needs a restart, and replicas have to be moved there.
    relief=Relief(if_in_time=5, if_not=5, begins_at_once=True),
    fix_role=FixRole.MAKES_ROOM,
    progress=_progress,
    covers=frees_as_much,
    live_check=disks_replaced,
    for_strimzi=_for_strimzi,
)
