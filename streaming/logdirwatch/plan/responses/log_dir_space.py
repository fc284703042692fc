"""A filling log directory: free space, move leaders away, find what fills it."""

import sys
from collections.abc import Sequence
from dataclasses import replace

from logdirwatch.model.capabilities import leaves_zookeeper
from logdirwatch.model.evidence import read_as
from logdirwatch.model.evidence.log_dirs import LogDirSpaceEvidence
from logdirwatch.model.vocabulary import MOVES, ActionKind, LogDirStatus
from logdirwatch.plan.action_types import ACTION_TYPES
from logdirwatch.plan.actions.action_type import FixRole, Stage
from logdirwatch.plan.actions.brokers.investigate import Runbook, describe_log_dirs, free_inodes, list_reassignments
from logdirwatch.plan.actions.brokers.recreate_reserve import reserve_of
from logdirwatch.plan.actions.brokers.release_reserve import propose_release
from logdirwatch.plan.actions.brokers.restart_broker import stuck
from logdirwatch.plan.actions.replicas.demote_leaders import demote, partitions_led_from
from logdirwatch.plan.actions.topics.throttle_producers import bridges_ms, propose_producer_throttle
from logdirwatch.plan.availability.offline_log_dirs import OfflineEvidence
from logdirwatch.plan.capacity.growth_by_topic import FOREIGN_MS, FOREIGN_RATIO, foreign_growth, growth_by_policy, told
from logdirwatch.plan.capacity.projected_use import Space, needed_bytes
from logdirwatch.plan.capacity.timing import end_in_words, stays_below_limit
from logdirwatch.plan.cluster.assignment import keys_in
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.operator_decisions import apply_decisions
from logdirwatch.plan.proposal import Policy, ProposedAction
from logdirwatch.plan.relief.freed_bytes import freed_in_time_bytes
from logdirwatch.plan.relief.order import in_order_of_relief, more_room
from logdirwatch.plan.relief.planner import propose_relief
from logdirwatch.plan.responses.response import Response, Situation
from logdirwatch.plan.responses.unaccounted_bytes import searched
from logdirwatch.plan.retention.overdue import overdue_in
from logdirwatch.plan.retention.plateau import doubts
from logdirwatch.text.units import human_bytes, human_rate

BY_INODES = "inodes"
"""The evidence's value when inodes run out, not space."""


def propose(situation: Situation) -> list[ProposedAction]:
    """Return the actions for a filling directory."""
    alert, snapshot, policy = situation.alert, situation.snapshot, situation.policy
    directory = situation.directory
    if directory is None or not directory.is_serving:
        return []
    shown, proposals = read_as(alert.evidence, LogDirSpaceEvidence), propose_relief(directory, snapshot, policy)
    if shown.decided_by == BY_INODES:
        # Free bytes alone do not help, whatever space is left.
        proof = OfflineEvidence(used_inodes_ratio=shown.used_inodes_ratio)
        proposals = [free_inodes(directory, proof), *proposals]
    # Nothing would be moved or changed but the cordon, and it is known that this can stay so.
    if all(one.kind is ActionKind.CORDON_LOG_DIR for one in proposals) and stays_below_limit(directory, policy):
        proposals = [situation.look_because(f"no more room is needed yet: {end_in_words(directory)}")]
    led = leaders_off(directory, snapshot, policy, proposals)
    found = _looked_in_place(_led_in_place(proposals, led, directory), _unexplained(situation, directory), directory)
    growth = growth_by_policy(directory, snapshot)
    if growth is not None:
        found = [replace(one, expected={**one.expected, "growth_by_policy": growth}) for one in found]
    doubt = told([directory], snapshot) + doubts(directory, snapshot)
    # Unless the first action is the restart that ends it, it says that retention stands still on the broker.
    is_ended = any(one.kind is ActionKind.RESTART_BROKER for one in found[:1])
    overdue = [] if is_ended else overdue_in(directory, snapshot)
    doubt += f"; {stuck(overdue, snapshot)}" if overdue else ""
    said = _with_halt_notice(found, directory, snapshot)
    return [replace(proposal, reason=proposal.reason + doubt) for proposal in said[:1]] + said[1:]


def propose_on_old_inventory(situation: Situation) -> list[ProposedAction]:
    """Return the actions that need no inventory, only what the directory itself reports."""
    directory, snapshot, policy = situation.directory, situation.snapshot, situation.policy
    if directory is None or not directory.is_serving:
        return []
    # Where replicas were once is no place to move them from, and a topic's old size says nothing about what a cut
    # frees.
    alone = replace(snapshot, layout=replace(snapshot.layout, replicas=()), growth={})
    needed = needed_bytes(directory, Space(alone), policy) or 0
    proposals = more_room(directory, alone, policy, needed) if needed > 0 else []
    if directory.is_urgent:
        proposals += [
            *propose_release(directory, policy),
            *propose_producer_throttle(directory, alone, policy, bridges_ms(proposals)),
        ]
    return _with_halt_notice(apply_decisions(in_order_of_relief(proposals), snapshot.decisions), directory, snapshot)


def _led_in_place(
    proposals: list[ProposedAction], led: list[ProposedAction], directory: LogDir
) -> list[ProposedAction]:
    """Put the change of leaders after the actions that save the directory, as it frees nothing.

    Without any it is first.
    """
    saves = [n for n, proposal in enumerate(proposals) if _saves(proposal, directory)]
    place = saves[0] + 1 if saves else 0
    return [*proposals[:place], *led, *proposals[place:]]


def _looked_in_place(
    proposals: list[ProposedAction], looks: list[ProposedAction], directory: LogDir
) -> list[ProposedAction]:
    """Put the search for files that are not replicas before any action that loses data, or buys room for them.

    Where they are most of the directory, moving replicas away does not help either.
    """
    is_foreign = 2 * (directory.unaccounted_bytes or 0) >= (directory.used_bytes or sys.maxsize)
    after = {
        kind
        for kind, of in ACTION_TYPES.items()
        if of.fix_role is FixRole.MAKES_ROOM and (is_foreign or kind not in MOVES)
    }
    costly = (n for n, one in enumerate(proposals) if not one.vetoes and (one.data_loss or one.kind in after))
    place = next(costly, len(proposals))
    return [*proposals[:place], *looks, *proposals[place:]]


def _saves(proposal: ProposedAction, directory: LogDir) -> bool:
    """Tell whether an action frees space in time without loss, or wins the time for one that does."""
    spares = ACTION_TYPES[proposal.kind].relief.stage in {Stage.CANCELS, Stage.SLOWS_WRITES} and not proposal.vetoes
    return spares or (not proposal.data_loss and freed_in_time_bytes(proposal, directory) > 0)


def _unexplained(situation: Situation, directory: LogDir) -> list[ProposedAction]:
    """Return the search for what takes a tenth of a directory, or grows there; neither replicas nor its reserve."""
    unaccounted, total = directory.unaccounted_bytes, directory.total_bytes
    if unaccounted is None or total is None:
        return []
    reserve, grows = reserve_of(directory, situation.policy), foreign_growth(directory, situation.snapshot)
    # The reserve file is no replica either, and is there on purpose (KIP-928).
    foreign = unaccounted - (reserve[1] if reserve else 0)
    is_growing = grows > 0 and foreign * 1000 >= grows * FOREIGN_MS
    if foreign < FOREIGN_RATIO * total and not is_growing:
        return []
    what = f"{human_bytes(unaccounted)} there are explained by no replica"
    return [searched(situation, directory, f"{what}, and {human_rate(grows)} of its growth" if is_growing else what)]


def leaders_off(
    directory: LogDir, snapshot: ClusterSnapshot, policy: Policy, proposals: list[ProposedAction]
) -> list[ProposedAction]:
    """Return the change of leaders off a saturated directory, except those that ``proposals`` move away anyway.

    The next write may take it offline, and a tiered partition copies to remote storage from its leader, which needs
    space (KIP-928).
    """
    if directory.status is not LogDirStatus.SATURATED:
        return []
    why = f"{directory.path} is saturated, and the next write may take it offline with all its leaders"
    # Two orders of one partition's replicas would undo each other.
    moved = {key for proposal in proposals for key in keys_in(proposal.reassignment)}
    led = partitions_led_from(directory, snapshot)
    return demote(directory.broker, directory.path, led, snapshot.without(moved), policy, why)


RESPONSE = Response(
    runbook=Runbook(
        "find what fills the directory: its largest topics, moves that still run, files that are not Kafka's",
        (describe_log_dirs, list_reassignments),
    ),
    propose=propose,
    on_old_inventory=propose_on_old_inventory,
    ends_when="two samples in a row show it 5 points below its threshold",
)


# KIP-112, KIP-858; Kafka 4.3.1 LogManager.handleLogDirFailure; 3.9.1 ReplicaManager for the migration.
def why_it_halts(directory: LogDir, snapshot: ClusterSnapshot) -> str | None:
    """Return why a broker halts when a directory goes offline; None if it does not, or that is unknown."""
    if directory.is_metadata_dir and not snapshot.is_zookeeper(directory.broker):
        return "it holds the metadata log"
    others = [d for d in snapshot.directories_of.get(directory.broker, ()) if d.path != directory.path]
    if not any(other.is_serving for other in others):
        return "no other log directory of it serves"
    broker = snapshot.brokers.get(directory.broker)
    known = (one.is_metadata_dir for one in (directory, *others))
    is_leaving = broker is not None and leaves_zookeeper(broker.metadata_mode, known)
    return "it migrates from ZooKeeper to KRaft" if is_leaving else None


def _with_halt_notice(
    proposals: Sequence[ProposedAction], directory: LogDir, snapshot: ClusterSnapshot
) -> list[ProposedAction]:
    """Return proposals of which the first says whether the broker halts when the directory is full.

    People read the first.
    """
    why = why_it_halts(directory, snapshot)
    if why is None:
        return list(proposals)
    told = f"; broker {directory.broker} halts when {directory.path} is full: {why}"
    return [*(replace(proposal, reason=proposal.reason + told) for proposal in proposals[:1]), *proposals[1:]]
