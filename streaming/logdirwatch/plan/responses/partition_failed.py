"""Single failed partitions: move their leaders away first, then copy them elsewhere."""

from collections.abc import Sequence

from logdirwatch.model.evidence import read_as
from logdirwatch.model.evidence.brokers import PartitionFailedEvidence
from logdirwatch.model.vocabulary import COPY_AGAIN, ActionKind
from logdirwatch.plan.actions.brokers.investigate import UNDER_REPLICATED, Runbook
from logdirwatch.plan.actions.brokers.restart_broker import restarted
from logdirwatch.plan.actions.parts import host_notes
from logdirwatch.plan.actions.replicas.demote_leaders import demote, led_by
from logdirwatch.plan.actions.replicas.reassign import Loss, rebuild
from logdirwatch.plan.availability.fault_tolerance import complete_copies
from logdirwatch.plan.cluster.layout import Partition
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.proposal import EXAMPLES, Policy, ProposedAction, effect
from logdirwatch.plan.reassignment.replacement_replicas import Repair, nothing_fits, plan_rebuild, unplaced
from logdirwatch.plan.responses.response import Response, Situation
from logdirwatch.text.words import some_of


def propose(situation: Situation) -> list[ProposedAction]:
    """Return the actions for failed partitions: move their leaders away first, then copy them elsewhere."""
    alert, snapshot, policy = situation.alert, situation.snapshot, situation.policy
    broker, labels = alert.broker, set(read_as(alert.evidence, PartitionFailedEvidence).why)
    bad = [p for p in snapshot.partitions.values() if p.label in labels and broker in p.replicas]
    if broker is None or not bad:
        return [situation.look]
    led = led_by(broker, bad, snapshot)
    why = "its copies are bad, and as the leader it sends them to new replicas"
    demoted = demote(broker, None, led, snapshot, policy, why)
    # New replicas are copied from the leader, so one that this broker leads has to get another leader first.
    followed = [p for p in bad if p not in led]
    repair = plan_rebuild(broker, followed, snapshot, policy)
    return [
        *demoted,
        *_rebuilt(broker, repair, snapshot, policy),
        *_copied_in_place(broker, followed, repair, snapshot, policy),
        situation.look_because(_only_here(broker, bad, snapshot)),
    ]


def _only_here(broker: int, bad: Sequence[Partition], snapshot: ClusterSnapshot) -> str | None:
    """Say which failed copies are the only ones: records that the recovery at start truncates are lost."""
    alone = [p.label for p in bad if not complete_copies(p, snapshot) - {broker}]
    if not alone:
        return None
    return (
        f"no other replica holds all of {some_of(alone)}: copy its folder aside before the broker is restarted, since "
        "a recovery cuts a log at its first bad record"
    )


def _rebuilt(broker: int, repair: Repair, snapshot: ClusterSnapshot, policy: Policy) -> list[ProposedAction]:
    if not repair.assignments:
        return []
    loss = Loss(
        what=f"that the log of broker {broker} calls bad",
        stray=f"the bad copies on broker {broker} are deleted once the new ones are in sync",
        undo=f"puts the replicas back onto broker {broker}, copied again",
    )
    target = {"broker": broker, "log_dir": None}
    return [rebuild((broker, "bad"), target, loss, repair, snapshot, policy)]


def _copied_in_place(
    broker: int, bad: Sequence[Partition], repair: Repair, snapshot: ClusterSnapshot, policy: Policy
) -> list[ProposedAction]:
    """Return how to recreate failed copies on the broker itself, if no other broker can take them."""
    left = {one.label for one in repair.unplaced}
    chosen = [p for p in bad if p.label in left and complete_copies(p, snapshot) - {broker}][:EXAMPLES]
    if not chosen:
        return []
    text = f"remove the folders {', '.join(p.label for p in chosen)} of broker {broker} while it is stopped"
    between = host_notes(broker, f"{text}, whole and no others; they are copied again.")
    return [
        ProposedAction(
            kind=ActionKind.INVESTIGATE,
            target={"broker": broker, "log_dir": None, "step": COPY_AGAIN},
            reason=f"{text}: other replicas are in sync, and no other broker can take them{nothing_fits(repair)}",
            expected=effect(**unplaced(repair)),
            undo={"text": "move the folders away instead of removing them, until the copies are in sync"},
            **{**restarted(broker, snapshot, policy, (), between), "preconditions": ()},
        )
    ]


RESPONSE = Response(
    runbook=Runbook(
        "check the partition that failed: its disk may be fine; a restart of the broker or a new copy repairs it",
        (UNDER_REPLICATED,),
    ),
    propose=propose,
    ends_when="the broker has reported no failed partition for a day, and all of its replicas are in sync",
)
