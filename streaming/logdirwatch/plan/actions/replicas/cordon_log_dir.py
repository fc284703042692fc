"""Keeping new replicas out of a filling or sick directory, and letting them in again (KIP-1066).

Kafka puts a new replica into the directory with the fewest logs, so one that was emptied is the next to be filled
(Kafka 4.3.1 ``LogManager.nextLogDirs``). A cordoned directory goes on serving what it has.
"""

from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.capacity.timing import place_target
from logdirwatch.plan.cluster.metadata_version import CORDON, at_least
from logdirwatch.plan.cluster.snapshot import Directory, Facts
from logdirwatch.plan.commands.configs import set_broker_list
from logdirwatch.plan.proposal import Draft, Policy, Precondition, effect
from logdirwatch.plan.retention import retention_vetoes

KEY = "cordoned.log.dirs"
ALL = "*"

CORDONS = frozenset({ActionKind.CORDON_LOG_DIR, ActionKind.UNCORDON_LOG_DIR})
"""What sets a broker's whole list, so that each must say what the others want of it too."""


def cordon_drafts(directory: Directory, facts: Facts, policy: Policy, why: str, until: str) -> list[Draft]:
    """Return the cordon, where the cluster's metadata version is known to allow one and there is none.

    ``why`` and ``until`` go on in the sentences that say what it is for and when it ends.
    """
    if at_least(facts.metadata_version, CORDON) is not True or directory.is_cordoned is not False:
        return []
    others = others_cordoned(directory, facts)
    listed = listed_dirs(directory.broker, facts)
    found = [
        retention_vetoes.cordon_not_enforced(directory, listed),
        retention_vetoes.path_not_expressible(directory.path),
        retention_vetoes.nowhere_else(directory, facts),
    ]
    set_it = set_broker_list(policy.tools, directory.broker, KEY, [*others, directory.path])
    return [
        Draft(
            kind=ActionKind.CORDON_LOG_DIR,
            target=place_target(directory),
            reason=f"cordon {directory.path} of broker {directory.broker}{why}{does_more(directory, facts)}",
            expected=effect(needs_ms=0, on=[], is_cordoned=True),
            preconditions=(
                Precondition("metadata_version", f"the cluster has finalized {CORDON} or later", True),
                Precondition("path_listed", f"log.dirs names {directory.path} as it is", True if listed else None),
            ),
            vetoes=tuple(veto for veto in found if veto is not None),
            commands=(set_it,),
            undo={
                "commands": [set_broker_list(policy.tools, directory.broker, KEY, others)],
                "text": f"once {until}",
            },
        )
    ]


def cordoned(broker: int, facts: Facts) -> list[str]:
    """Return the directories that a broker has cordoned, as its configuration spells them.

    What a directory reports of itself is newer than the configuration, which only an inventory reads.
    """
    configured = (facts.brokers[broker].configs.get(KEY) or "") if broker in facts.brokers else ""
    reported = {directory.path: directory.is_cordoned for directory in facts.directories_of.get(broker, ())}
    listed = [] if configured.strip() == ALL else _parted(configured)
    kept = [path for path in listed if reported.get(path) is not False]
    return [*kept, *(path for path, is_cordoned in reported.items() if is_cordoned and path not in kept)]


def listed_dirs(broker: int, facts: Facts) -> list[str]:
    """Return the log directories as the broker's configuration spells them; empty where nobody knows."""
    configs = facts.brokers[broker].configs if broker in facts.brokers else {}
    return _parted(configs.get("log.dirs") or configs.get("log.dir") or "")


def others_cordoned(directory: Directory, facts: Facts) -> list[str]:
    """Return what else of the directory's broker is to be cordoned, once all open actions are carried out."""
    wanted = {
        path: is_cordoned for (broker, path), is_cordoned in facts.cordoning.items() if broker == directory.broker
    }
    now = [path for path in cordoned(directory.broker, facts) if wanted.get(path, True)]
    more = [path for path, is_cordoned in sorted(wanted.items()) if is_cordoned and path not in now]
    return [path for path in [*now, *more] if path != directory.path]


def does_more(directory: Directory, facts: Facts) -> str:
    """Say that the command does what other open actions want of the same list."""
    others = sorted(path for broker, path in facts.cordoning if broker == directory.broker and path != directory.path)
    if not others:
        return ""
    return f"; the command sets the broker's whole list, so it does what other actions want of {', '.join(others)} too"


def _parted(value: str) -> list[str]:
    return [path.strip() for path in value.split(",") if path.strip()]
