"""A directory that is suspect, or that nobody reports: leaders and replicas away from it while there is a choice.

Kafka leaves slow and sick disks in service (KIP-112, operations 3); only what reads and writes less there helps.
"""

from dataclasses import replace

from logdirwatch.model.records import AlertRecord
from logdirwatch.plan.cordon import cordon_drafts
from logdirwatch.plan.demoting import demote, led_from
from logdirwatch.plan.draft import Draft, Policy
from logdirwatch.plan.endurance import endurance_of
from logdirwatch.plan.facts import Directory, Facts
from logdirwatch.plan.leaving import leaving
from logdirwatch.plan.lost import lost_partitions
from logdirwatch.plan.rebuilding import Loss, rebuild, remedies
from logdirwatch.plan.repair import plan_repair
from logdirwatch.plan.runbook import investigate
from logdirwatch.report.units import human_bytes

FAILING = frozenset({"error_code", "probe", "read_only"})
"""What of ``evidence.why`` says that a disk fails; the rest says that it is slow."""


def suspect(alert: AlertRecord, directory: Directory, facts: Facts, policy: Policy, now_ms: int) -> list[Draft]:
    """Return what to do about a suspect directory: others lead, nothing new comes, a failing one is given up."""
    led, is_failing = led_from(directory, facts), bool(FAILING & set(alert.evidence.get("why") or ()))
    why = f"{directory.path} is suspect, and clients wait for a leader's disk"
    demoted = demote(directory.broker, directory.path, led, facts, policy, why)
    rebuilt, unplaced = _rebuilt(directory, facts, policy, now_ms) if is_failing and not demoted else ([], None)
    sick = ": Kafka takes no notice that its disk is slow or sick, and goes on placing new replicas there"
    cordon = cordon_drafts(directory, facts, policy, sick, "the disk is known to be well")
    return [*demoted, *rebuilt, *cordon, _look(alert, directory, facts, policy, unplaced)]


def unreported(alert: AlertRecord, directory: Directory, facts: Facts, policy: Policy) -> list[Draft]:
    """Return what to look at when nobody reports a directory: whether it left ``log.dirs``, and what that means."""
    configured = _configured(directory, facts)
    lost = lost_partitions(directory.place, facts)
    found = leaving(directory, lost, facts, policy)
    if configured is None:
        why = None
    elif configured:
        why = "it is in log.dirs still: see whether it is mounted, and what the broker's log says"
    elif found.fits:
        why = f"it left log.dirs: its {found.replicas} replicas are made anew in the broker's other directories"
    else:
        short = "an unknown number of bytes" if found.missing_bytes is None else human_bytes(found.missing_bytes)
        why = f"it left log.dirs, and the broker's other directories lack {short} for its {found.replicas} replicas"
    look = _look(alert, directory, facts, policy, why)
    return [replace(look, expected={**look.expected, "in_log_dirs": configured, "leave_log_dirs": found.as_data()})]


def _rebuilt(directory: Directory, facts: Facts, policy: Policy, now_ms: int) -> tuple[list[Draft], str | None]:
    """Return the way out of a failing disk, copied from the other replicas; or what would make it possible."""
    repair = plan_repair(directory.place, facts, policy)
    if not repair.assignments:
        helps = "; ".join(remedies(repair))
        return [], f"nothing can be moved off it now; what would make it possible: {helps}" if helps else None
    loss = Loss(
        what=f"in {directory.path} of broker {directory.broker}, which is about to fail,",
        stray=f"the copies in {directory.path} are deleted once the new ones are in sync",
        undo=f"only once {directory.path} is known to be well",
    )
    target = {"broker": directory.broker, "log_dir": directory.path}
    return [rebuild(directory.place, target, loss, repair, facts, policy, now_ms)], None


def _look(alert: AlertRecord, directory: Directory, facts: Facts, policy: Policy, why: str | None) -> Draft:
    look = investigate(alert, policy, why)
    lost = lost_partitions(directory.place, facts)
    return replace(look, expected={**look.expected, "endurance": endurance_of(lost, facts)})


def _configured(directory: Directory, facts: Facts) -> bool | None:
    """Tell whether the broker's ``log.dirs`` names the directory; None while its configuration is not known."""
    configs = facts.brokers[directory.broker].configs if directory.broker in facts.brokers else {}
    listed = configs.get("log.dirs") or configs.get("log.dir")
    return None if listed is None else directory.path in [path.strip() for path in listed.split(",")]
