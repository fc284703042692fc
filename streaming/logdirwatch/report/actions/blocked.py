"""Actions that must not be done now, and the actions that remove the reason. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from logdirwatch.model.actions.parts import Veto
from logdirwatch.model.record_part import converted
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import OPEN, Rule
from logdirwatch.text.words import short_id, some_of

NAMED = 3
"""Number of blocked actions that are named; the rest are counted."""
_BROKER_AWAY = (Rule.BROKER_OFFLINE, Rule.BROKER_UNKNOWN)
_ENDED_BY = {
    "other_broker_down": _BROKER_AWAY,
    "broker_not_alive": _BROKER_AWAY,
    "log_dir_offline": (Rule.LOG_DIR_OFFLINE,),
    "log_dir_unknown": (Rule.LOG_DIR_UNKNOWN, Rule.LOG_DIR_SUSPECT, *_BROKER_AWAY),
}
"""For each veto, the rules of the alerts whose end lifts it."""


def is_blocked(action: ActionRecord) -> bool:
    """Tell whether an open action has a veto."""
    return bool(action.vetoes) and action.status in OPEN


def waits_for(blocked: ActionRecord, action: ActionRecord) -> bool:
    """Tell whether a veto of one action ends when the other's alert, about an absent broker or directory, resolves."""
    rule, broker = action.alert.get("rule"), action.alert.get("broker")
    if blocked.cluster != action.cluster or blocked.alert_id == action.alert_id or broker is None:
        return False
    ended = [veto for veto in blocked.vetoes if rule in _ENDED_BY.get(str(veto.get("name")), ())]
    return any(broker in _read(veto).about for veto in ended)


def _read(veto: dict[str, Any]) -> Veto:
    return converted({**veto, "reason": str(veto.get("reason", ""))}, Veto)


def by_way_in(actions: Sequence[ActionRecord]) -> Mapping[str, list[ActionRecord]]:
    """Return the blocked actions by the id of the first listed action that ends one of their vetoes.

    Those that no listed action unblocks are under the empty id.
    """
    possible = [action for action in actions if action.status in OPEN and not is_blocked(action)]
    found: dict[str, list[ActionRecord]] = {}
    for blocked in filter(is_blocked, actions):
        way_in = next((action.action_id for action in possible if waits_for(blocked, action)), "")
        found.setdefault(way_in, []).append(blocked)
    return found


def by_reason(actions: Iterable[ActionRecord]) -> Mapping[str, list[ActionRecord]]:
    """Return blocked actions by the reason of their first veto."""
    found: dict[str, list[ActionRecord]] = {}
    for action in actions:
        veto = action.vetoes[0]
        found.setdefault(str(veto.get("reason") or veto.get("name")), []).append(action)
    return found


def names(actions: Iterable[ActionRecord]) -> str:
    """Return the kinds and ids of actions."""
    return some_of([f"{action.kind} {short_id(action.action_id)}" for action in actions], NAMED)
