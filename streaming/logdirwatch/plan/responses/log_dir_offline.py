"""Offline directories: the actions for their causes, as one sequence for all that share an alert.

Only a restart brings an offline directory back, whatever was done to its disk (Kafka 4.3.1 ``LogDirFailureChannel``). A
disk is replaced only with proof of an I/O error of the device; without evidence the disk is checked and the broker
restarted.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from logdirwatch.model.evidence import read_as
from logdirwatch.model.evidence.log_dirs import LogDirOfflineEvidence
from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import ActionKind, Cause, FullBy, Lane
from logdirwatch.parse.os_errors import os_error_in
from logdirwatch.plan.actions.brokers.expand_disk import grow_if_short
from logdirwatch.plan.actions.brokers.grant_permission import grant_write
from logdirwatch.plan.actions.brokers.investigate import (
    UNAVAILABLE,
    UNDER_MIN_ISR,
    Runbook,
    free_inodes,
    free_while_stopped,
    look_at_host,
)
from logdirwatch.plan.actions.brokers.raid_arrays import apart_from_lost, is_active, look_at_array
from logdirwatch.plan.actions.brokers.raise_limit import raise_limit, raise_quota
from logdirwatch.plan.actions.brokers.replace_disk import leave_log_dirs, replace_disk, save_data
from logdirwatch.plan.actions.brokers.restart_broker import WITHOUT_DIRECTORY, repair_file_system, restart_broker
from logdirwatch.plan.actions.replicas.cancel_moves import cancel_dead_ends
from logdirwatch.plan.actions.replicas.elect_leaders import elect_preferred
from logdirwatch.plan.actions.replicas.reassign import Loss, rebuild
from logdirwatch.plan.availability.offline_log_dirs import (
    OfflineLogDirs,
    common_cause,
    offline_log_dirs_of,
)
from logdirwatch.plan.capacity.projected_use import Space, needed_bytes, shares_volume
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.proposal import Policy, Precondition, ProposedAction, Veto
from logdirwatch.plan.reassignment.replacement_replicas import Repair, plan_rebuild, plan_repair
from logdirwatch.plan.responses.response import Response, Situation
from logdirwatch.text.words import some_of

_EXPLAINED = frozenset({Cause.FULL, Cause.LIMIT, Cause.PERMISSION, Cause.RENAME_REFUSED, Cause.DAMAGED_FILE})
"""Causes that are themselves what the directories have in common."""
# In the order in which one of them decides what the check covers: the least known cause needs the widest one.
_LOOKED_AT = (Cause.UNKNOWN, Cause.REMOUNT, Cause.READ_ONLY, Cause.RENAME_REFUSED, Cause.DAMAGED_FILE)


def propose(situation: Situation) -> list[ProposedAction]:
    """Return the actions for the offline directories of an alert: checks or repairs, copies elsewhere, one restart.

    The fast lane knows no cause; moments later the state machine knows it, or reports it as unknown.
    """
    alert, snapshot, policy = situation.alert, situation.snapshot, situation.policy
    away = offline_log_dirs_of(alert, snapshot)
    if away is None:
        return []
    if alert.lane is not Lane.STATEFUL:
        return [look_at_host(situation.look, away, away.directories, Cause.UNKNOWN)]
    away, arrays = apart_from_lost(away)
    snapshot = away.snapshot
    failed = away.of_cause(Cause.FAILED)
    repair = None if not failed else _repair(away, failed, policy)
    restarted = restart_broker(away, snapshot, policy)
    unmet = [directory.path for directory in away.directories if _remedy(away, directory) is not None]
    text = f"what took {some_of(unmet)} offline is repaired: a start alone meets the same error again"
    repaired = [Precondition("error_is_repaired", text, None)] if unmet else []
    restarted = replace(restarted, preconditions=(*repaired, *is_active(arrays.values()), *restarted.preconditions))
    looks = _looks(situation.look, away, policy, arrays)
    step = None if looks else situation.look
    if read_as(alert.evidence, LogDirOfflineEvidence).is_ignored:
        # At its start Kafka takes a directory offline that still fails. Until then no leader moves away, so nothing
        # that needs time comes before it.
        why = "its log says that a directory failed, Kafka did not act on it, and leaders stay where every write fails"
        acted_on = replace(restarted, reason=f"restart broker {away.broker}: {why}")
        return [acted_on, *looks, *_repaired(away, snapshot, policy)]
    proposals = [
        # Every plan leaves partitions alone that are being reassigned, so this makes the repair of others possible.
        *(cancel_dead_ends(away.broker, str(away.target["log_dir"]), snapshot, policy) if failed else []),
        *(
            look_at_array(snapshot.directories[away.broker, path], one, away.proofs[path])
            for path, one in arrays.items()
        ),
        *looks,
        *_repaired(away, snapshot, policy),
        *([] if repair is None else _replaced(step, away, failed, repair, policy)),
        # The repair of a file system includes the restart.
        *([] if len(away.of_cause(Cause.FILE_SYSTEM)) == len(away.directories) else [restarted]),
        *_rebuilt_in_the_end(away, restarted, policy, has_array=bool(arrays)),
        *([] if repair is None or repair.assignments else elect_preferred(away.target, snapshot, policy)),
    ]
    if {found.cause for found in away.directories} <= _EXPLAINED:
        return proposals
    shared = common_cause([found.place for found in away.directories], snapshot)
    return proposals if shared is None or not proposals else _with_common_cause(proposals, shared, away)


def _with_common_cause(proposals: list[ProposedAction], text: str, away: OfflineLogDirs) -> list[ProposedAction]:
    """Return proposals of which the first says what other directories are offline at the same time.

    People read the first. No disk is replaced for a common cause: unless an error names the directory's own device, a
    person checks first.
    """
    asked = Precondition("no_common_cause", f"{text}, and nothing of that explains it", None)
    found = [replace(proposals[0], reason=f"{text}; {proposals[0].reason}"), *proposals[1:]]
    for number, proposal in enumerate(found):
        if proposal.kind is ActionKind.REPLACE_DISK or proposal.target.get("step") == WITHOUT_DIRECTORY:
            is_named = away.proofs[str(proposal.target["log_dir"])].device is not None
            vetoes = proposal.vetoes if is_named else (*proposal.vetoes, Veto("common_cause", text))
            found[number] = replace(proposal, preconditions=(asked, *proposal.preconditions), vetoes=vetoes)
    return found


def _looks(step: ProposedAction, away: OfflineLogDirs, policy: Policy, arrays: Collection[str]) -> list[ProposedAction]:
    """Return one check for all directories with too little evidence.

    Those without a known cause decide what it covers.
    """
    found = [directory for directory in away.of_cause(*_LOOKED_AT) if directory.path not in arrays]
    if found:
        cause = next(cause for cause in _LOOKED_AT if cause in {directory.cause for directory in found})
        return [look_at_host(step, away, found, cause)]
    unclear = [directory for directory in away.of_cause(Cause.FULL) if _is_unclear(away, directory, policy)]
    if unclear:
        return [look_at_host(step, away, unclear, Cause.FULL)]
    limited = [directory for directory in away.of_cause(Cause.LIMIT) if _remedy(away, directory) is not None]
    return [look_at_host(step, away, limited, Cause.LIMIT)] if limited else []


def _remedy(away: OfflineLogDirs, directory: LogDir) -> str | None:
    """Return what the error itself asks for that the broker met there; None if its cause says that."""
    error = os_error_in(away.proofs[directory.path].said or "")
    return None if error is None else error.remedy


def _repaired(away: OfflineLogDirs, snapshot: ClusterSnapshot, policy: Policy) -> list[ProposedAction]:
    """Return the repairs of directories with healthy disks."""
    # The first evidence that quotes a log line tells the limit that was reached.
    limited = [away.proofs[one.path] for one in away.of_cause(Cause.LIMIT) if _remedy(away, one) is None]
    limited.sort(key=lambda proof: not proof.said)
    repaired = away.of_cause(Cause.FILE_SYSTEM)
    full = _volumes(away.of_cause(Cause.FULL), snapshot)
    return [
        # Once: the limits are those of the process, whatever number of directories ran into them.
        *(raise_limit(away, proof) for proof in limited[:1]),
        *(grant_write(away, directory) for directory in away.of_cause(Cause.PERMISSION)),
        *(proposal for directory in full for proposal in _emptied(away, directory, policy)),
        *(repair_file_system(found, away.proofs[found.path], away, snapshot, policy) for found in repaired),
    ]


def _emptied(away: OfflineLogDirs, directory: LogDir, policy: Policy) -> list[ProposedAction]:
    """Return how to free the exhausted resource."""
    proof, snapshot = away.proofs[directory.path], away.snapshot
    if proof.full_by is FullBy.INODES:
        return [free_inodes(directory, proof)]
    if proof.full_by is FullBy.QUOTA:
        by_hand = free_while_stopped(directory, snapshot, policy, "has reached its quota")
        # Kafka only sees the volume: usable bytes may be left on it, so the size of what is missing is unknown.
        return [raise_quota(directory, proof), by_hand]
    if _is_unclear(away, directory, policy):
        return []
    return [*grow_if_short(directory, snapshot, policy), free_while_stopped(directory, snapshot, policy)]


def _is_unclear(away: OfflineLogDirs, directory: LogDir, policy: Policy) -> bool:
    """Tell whether the exhausted resource is unknown: the reported space is not what is missing."""
    if away.proofs[directory.path].full_by in {FullBy.INODES, FullBy.QUOTA}:
        return False
    needed = needed_bytes(directory, Space(away.snapshot), policy)
    return needed is not None and needed <= 1


def _replaced(
    step: ProposedAction | None,
    away: OfflineLogDirs,
    failed: Sequence[LogDir],
    repair: Repair,
    policy: Policy,
) -> list[ProposedAction]:
    """Return the actions for failed disks: copies elsewhere, rescue of last copies, new disks.

    An I/O error that only the broker's log reports names no device: first a person checks, in ``step``, since what a
    mount or a path brings back need not be copied, and its disk not be replaced.
    """
    snapshot, proposals = away.snapshot, []
    # The only evidence against these is an I/O error that the kernel did not report.
    told = {one.path for one in failed if (proof := away.proofs[one.path]).said is not None and proof.device is None}
    unnamed = [one for one in failed if one.path in told and away.proofs[one.path].kernel_error is None]
    if unnamed and step is not None:
        proposals.append(look_at_host(step, away, unnamed, Cause.FAILED))
    # A new disk may take days, and until the copies are made the next failure may lose data.
    if repair.assignments:
        place = (away.broker, str(away.target["log_dir"]))
        proposals.append(rebuild(place, away.target, _loss(away, failed), repair, snapshot, policy))
    for directory in failed:
        own, proof = repair, away.proofs[directory.path]
        if away.is_several:
            own = plan_repair(directory.place, snapshot, policy)
        # Only if other brokers have no room: it also costs this broker the space of a directory.
        without = leave_log_dirs(directory, snapshot, policy) if own.unplaced else None
        saved = save_data(directory, proof, snapshot)
        found = [saved, replace_disk(directory, own, snapshot, policy, proof), without]
        proposals += [proposal for proposal in found if proposal is not None]
    return proposals


def _rebuilt_in_the_end(
    away: OfflineLogDirs, restarted: ProposedAction, policy: Policy, *, has_array: bool
) -> list[ProposedAction]:
    """Return copies elsewhere of what a restart should bring back, if it cannot be done or may not help."""
    sound = [directory for directory in away.directories if directory.cause is not Cause.FAILED]
    is_asked = restarted.vetoes or away.is_several or has_array or away.of_cause(Cause.FILE_SYSTEM)
    if not sound or not is_asked or away.of_cause(Cause.FAILED):
        return []
    repair = _repair(away, sound, policy)
    if not repair.assignments:
        return []
    place = (away.broker, str(away.target["log_dir"]))
    proposal = rebuild(place, away.target, _loss(away, sound), repair, away.snapshot, policy)
    text = f"{some_of(away.names)} cannot be brought back soon: what comes back by a restart is copied for nothing"
    return [replace(proposal, preconditions=(*proposal.preconditions, Precondition("stays_away", text, None)))]


def _repair(away: OfflineLogDirs, directories: Sequence[LogDir], policy: Policy) -> Repair:
    path = directories[0].path if len(directories) == 1 else None
    return plan_rebuild(away.broker, away.lost(directories), away.snapshot, policy, path=path)


def _loss(away: OfflineLogDirs, directories: Sequence[LogDir]) -> Loss:
    names = some_of(directory.path for directory in directories)
    is_one = len(directories) == 1
    return Loss(
        what=f"lost in {names} of broker {away.broker}",
        stray=f"the old copies on {names} are strays once the disk{' is' if is_one else 's are'} back",
        undo=f"only once {names} serve{'s' if is_one else ''} again",
    )


def _volumes(directories: Sequence[LogDir], snapshot: ClusterSnapshot) -> list[LogDir]:
    """Return one directory of each volume; full disks of the same type are separate ones."""
    found: list[LogDir] = []
    for directory in directories:
        if not any(shares_volume(directory, other, snapshot) for other in found):
            found.append(directory)
    return found


_BLOCKED = Runbook(
    "nothing about the failed disk can be done yet: first fix what the vetoes name, if there are any (brokers that are "
    "away, replicas that lag), and restart no broker that holds a last copy",
    (UNAVAILABLE, UNDER_MIN_ISR),
)


def _names_device(alert: AlertRecord) -> bool:
    return read_as(alert.evidence, LogDirOfflineEvidence).device is not None


RESPONSE = Response(
    runbook=Runbook(
        "find out whether the disk is full or broken: df, the kernel's log, the first LogDirFailureChannel line",
        (UNAVAILABLE, UNDER_MIN_ISR),
    ),
    propose=propose,
    runbook_for=lambda alert: _BLOCKED if alert.cause is Cause.FAILED and _names_device(alert) else None,
    ends_when="its broker, once restarted, reports the directory online",
)
