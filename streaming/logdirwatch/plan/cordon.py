"""Keeping new replicas out of a filling or sick directory, and letting them in again (KIP-1066).

Kafka puts a new replica into the directory with the fewest logs, so one that was emptied is the next to be filled
(Kafka 4.3.1 ``LogManager.nextLogDirs``). A cordoned directory goes on serving what it has.
"""

from logdirwatch.model.vocabulary import ActionKind, LogDirStatus
from logdirwatch.plan import relief_vetoes
from logdirwatch.plan.config_commands import set_broker_list
from logdirwatch.plan.draft import Draft, Policy, Precondition, Veto, effect
from logdirwatch.plan.facts import Directory, Facts
from logdirwatch.plan.parts import place_target
from logdirwatch.plan.versions import CORDON, at_least

KEY = "cordoned.log.dirs"
ALL = "*"


def cordon_drafts(directory: Directory, facts: Facts, policy: Policy, why: str, until: str) -> list[Draft]:
    """Return the cordon, where the cluster's metadata version is known to allow one and there is none.

    ``why`` and ``until`` go on in the sentences that say what it is for and when it ends.
    """
    if at_least(facts.metadata_version, CORDON) is not True or directory.is_cordoned is not False:
        return []
    before = cordoned(directory.broker, facts)
    listed = listed_dirs(directory.broker, facts)
    found = [
        relief_vetoes.cordon_not_enforced(directory, listed),
        relief_vetoes.path_not_expressible(directory.path),
        relief_vetoes.nowhere_else(directory, facts),
    ]
    set_it = set_broker_list(policy.tools, directory.broker, KEY, [*before, directory.path])
    return [
        Draft(
            kind=ActionKind.CORDON_LOG_DIR,
            target=place_target(directory),
            reason=f"cordon {directory.path} of broker {directory.broker}{why}",
            expected=effect(needs_ms=0, on=[], is_cordoned=True),
            preconditions=(
                Precondition("metadata_version", f"the cluster has finalized {CORDON} or later", True),
                Precondition("path_listed", f"log.dirs names {directory.path} as it is", True if listed else None),
            ),
            vetoes=tuple(veto for veto in found if veto is not None),
            commands=(set_it,),
            undo={
                "commands": [set_broker_list(policy.tools, directory.broker, KEY, before)],
                "text": f"once {until}",
            },
        )
    ]


def uncordon_draft(directory: Directory, facts: Facts, policy: Policy, after: str) -> Draft:
    """Return the end of a cordon, once its directory has room; ``after`` is the action that set it."""
    now = cordoned(directory.broker, facts)
    rest = [path for path in now if path != directory.path]
    too_full = Veto("not_enough_room", f"{directory.path} is {directory.status}: new replicas would fill it again")
    return Draft(
        kind=ActionKind.UNCORDON_LOG_DIR,
        target={**place_target(directory), "after": after},
        reason=f"let new replicas into {directory.path} of broker {directory.broker} again: the reason is over",
        expected=effect(needs_ms=0, on=[], is_cordoned=False),
        vetoes=() if directory.status is LogDirStatus.ONLINE else (too_full,),
        commands=(set_broker_list(policy.tools, directory.broker, KEY, rest),),
        undo={"commands": [set_broker_list(policy.tools, directory.broker, KEY, now)]},
    )


def cordoned(broker: int, facts: Facts) -> list[str]:
    """Return the directories that a broker has cordoned, as its configuration spells them; else those it reports."""
    configured = facts.brokers[broker].configs.get(KEY) if broker in facts.brokers else None
    reported = [directory.path for directory in facts.directories_of.get(broker, ()) if directory.is_cordoned]
    if configured is None or configured.strip() == ALL:
        return reported
    return _parted(configured)


def listed_dirs(broker: int, facts: Facts) -> list[str]:
    """Return the log directories as the broker's configuration spells them; empty where nobody knows."""
    configs = facts.brokers[broker].configs if broker in facts.brokers else {}
    return _parted(configs.get("log.dirs") or configs.get("log.dir") or "")


def _parted(value: str) -> list[str]:
    return [path.strip() for path in value.split(",") if path.strip()]
