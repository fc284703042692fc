"""How far the actions that give a directory room are, as the facts show it: steps begun, steps reached, steps in all.

What is done on a host is seen by its bytes alone; what clients are told is not seen at all.
"""

from collections.abc import Callable, Mapping

from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.actions.replicas.clear_throttles import are_cleared
from logdirwatch.plan.cluster.snapshot import Directory, Facts
from logdirwatch.plan.lifecycle.leader_progress import Steps
from logdirwatch.plan.reassignment.running_copies import are_running

MOSTLY = 0.9
"""The share of the expected bytes that must show: other files come and go meanwhile."""


def relief_steps(action: ActionRecord, facts: Facts) -> Steps | None:
    """Return how far an action of these kinds is; None for any other, and where the facts cannot show it."""
    look = _LOOKS.get(action.kind)
    is_reached = None if look is None else look(action, facts)
    if action.kind is ActionKind.CANCEL_MOVES and "copies" in action.expected:
        return _of_copies(action, facts)
    return None if is_reached is None else (int(is_reached), int(is_reached), 1)


def _directory(action: ActionRecord, facts: Facts) -> Directory | None:
    return facts.directories.get((action.target["broker"], action.target["log_dir"]))


def _is_cordoned_as_asked(action: ActionRecord, facts: Facts) -> bool | None:
    directory = _directory(action, facts)
    if directory is None or directory.is_cordoned is None:
        return None
    return directory.is_cordoned is action.expected["is_cordoned"]


def _is_restored(action: ActionRecord, facts: Facts) -> bool | None:
    changes = action.configs or {}
    if not changes or any(name not in facts.topics for name in changes):
        return None
    return all(
        facts.topics[name].configs.get(key) == change["to"]
        for name, keys in changes.items()
        for key, change in keys.items()
    )


def _is_cleared(action: ActionRecord, facts: Facts) -> bool | None:
    if "clears" in action.expected:
        return are_cleared(action.expected["clears"], facts)
    if "raises" not in action.expected:
        return None
    raised = action.expected["raises"]
    value = facts.brokers[raised["broker"]].configs.get(raised["key"]) if raised["broker"] in facts.brokers else None
    return None if value is None else int(value) >= action.expected["throttle_bytes_per_s"]


def _is_deleted(action: ActionRecord, facts: Facts) -> bool | None:
    topic, directory = str(action.target["topic"]), _directory(action, facts)
    if directory is None or topic not in facts.topics:
        return None
    freed = action.expected["topic_bytes_before"] - facts.layout.topic_bytes(directory.place, topic)
    return bool(freed * 2 >= action.expected["frees_bytes"])


def _is_gone(action: ActionRecord, facts: Facts) -> bool | None:
    return str(action.target["topic"]) not in facts.topics if facts.topics else None


def _is_added(action: ActionRecord, facts: Facts) -> bool | None:
    before = set(action.expected["log_dirs_before"])
    return any(directory.path not in before for directory in facts.directories_of.get(action.target["broker"], ()))


def _is_reserve_changed(action: ActionRecord, facts: Facts) -> bool | None:
    directory, before = _directory(action, facts), action.expected.get("unaccounted_bytes_before")
    if directory is None or before is None or directory.unaccounted_bytes is None:
        return None
    freed, taken = before - directory.unaccounted_bytes, action.expected.get("takes_bytes")
    return bool(freed >= MOSTLY * action.expected["frees_bytes"] if taken is None else -freed >= MOSTLY * taken)


def _of_copies(action: ActionRecord, facts: Facts) -> Steps:
    named = action.expected["copies"]
    running = are_running([(one["topic"], one["partition"], one["broker"], one["log_dir"]) for one in named], facts)
    ended = len(named) - running
    return ended, ended, len(named)


_LOOKS: Mapping[ActionKind, Callable[[ActionRecord, Facts], bool | None]] = {
    ActionKind.CORDON_LOG_DIR: _is_cordoned_as_asked,
    ActionKind.UNCORDON_LOG_DIR: _is_cordoned_as_asked,
    ActionKind.RESTORE_RETENTION: _is_restored,
    ActionKind.CLEAR_THROTTLES: _is_cleared,
    ActionKind.DELETE_RECORDS: _is_deleted,
    ActionKind.DELETE_TOPIC_CANDIDATE: _is_gone,
    ActionKind.ADD_LOG_DIR: _is_added,
    ActionKind.RELEASE_RESERVE: _is_reserve_changed,
    ActionKind.RECREATE_RESERVE: _is_reserve_changed,
}
