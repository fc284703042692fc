"""The action list and one action in full: what to do, why, its effect, and how to undo it."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from logdirwatch.model.actions.parts import Veto
from logdirwatch.model.record_part import converted
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import OPEN, ActionStatus, Rule, Severity
from logdirwatch.report.actions.outlook import outlook_lines
from logdirwatch.report.layout import sentences
from logdirwatch.report.words import colour, place, the_one
from logdirwatch.text.printable import printable, printable_lines
from logdirwatch.text.units import human_ago, human_bytes, human_in, human_ms
from logdirwatch.text.words import short_id, some_of, utc

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


_MARK = {True: "[ok]", False: "[NO]", None: "[check]"}


def listed(actions: Iterable[ActionRecord], *, everything: bool) -> list[ActionRecord]:
    """Return the actions to show: those that may be done now first, by severity; closed ones last, if asked for.

    An action that lifts a veto on a more severe alert's actions ranks like that alert and comes before its own actions.
    Within one alert the recommended order is kept.
    """
    shown = [a for a in actions if everything or a.status in OPEN]
    blocked = [a for a in shown if is_blocked(a)]
    return sorted(shown, key=lambda action: _rank(action, _unblocks(action, blocked)))


def find(actions: Iterable[ActionRecord], identity: str) -> ActionRecord:
    """Return the action whose id is, or begins with, ``identity``; raises UserError when none or several do."""
    none = f"no action {identity!r}; list them with: logdirwatch actions --all, or logdirwatch alerts --all"
    return the_one(actions, identity, lambda action: action.action_id, none, "actions")


def view(actions: Iterable[ActionRecord], now_ms: int, width: int) -> RenderableType:
    """Return the actions for people, at most ``width`` columns wide.

    Those with a veto are below the one that unblocks them.
    """
    actions = list(actions)
    waiting = by_way_in(actions)
    rows = [
        (
            Text(f"{action.kind}\n{standing(action, now_ms)}"),
            Text(where(action, between="\n")),
            Text("\n".join(effect(action))),
            Text(short_id(action.action_id)),
            Text("\n".join([printable(action.reason), *_unblocked(waiting.get(action.action_id, []))])),
        )
        for action in actions
        if not is_blocked(action)
    ]
    blocks: list[RenderableType] = []
    if rows:
        blocks.append(sentences(("action", "where", "effect", "id"), rows, width))
    for reason, held in by_reason(waiting.get("", [])).items():
        blocks.append(Text(f"must not be done now, {reason}: {names(held)}", style="dim"))
    return Group(*blocks)


def _unblocked(held: list[ActionRecord]) -> list[str]:
    """Return what an action makes possible: one line for each reason that holds other actions back."""
    return [f"> then {names(found)} (now: {reason})" for reason, found in by_reason(held).items()]


def line(action: ActionRecord) -> Text:
    """Return one revision of one action on one line, cut off at the width of the terminal."""
    severity = str(action.alert.get("severity", ""))
    return Text(" ").join(
        [
            Text(utc(action.at_ms), style="dim"),
            Text(f"{severity:<8}", style=colour(severity)),
            Text(f"{action.status:<10}"),
            Text(f"{action.kind} {short_id(action.action_id)}.{action.revision}"),
            Text(printable(f"{where(action)}: {'; '.join([*effect(action), action.reason])}")),
        ]
    )


def standing(action: ActionRecord, now_ms: int) -> str:
    """Return an action's status, with its age if it has expired."""
    if action.status is ActionStatus.PROPOSED and action.expires_at_ms < now_ms:
        return f"proposed, expired {human_ms(now_ms - action.expires_at_ms)} ago"
    return action.status


def effect(action: ActionRecord) -> list[str]:
    """Return the expected effect and cost of an action as short phrases; a vetoed one has none."""
    if action.vetoes and action.status in OPEN:
        return ["MUST NOT BE DONE NOW"]
    expected, phrases = action.expected, []
    if expected.get("frees_bytes"):
        phrases.append(f"frees {human_bytes(expected['frees_bytes'])}")
    if expected.get("needs_ms"):
        phrases.append(f"in {human_ms(expected['needs_ms'])}")
    if expected.get("time_to_full_after_ms"):
        phrases.append(f"then full {human_in(expected['time_to_full_after_ms'])}")
    if action.data_loss:
        phrases.append("LOSES DATA")
    if action.requires_approval and action.status is ActionStatus.PROPOSED:
        phrases.append("needs approval")
    return phrases


def details(action: ActionRecord, now_ms: int) -> str:
    """Return one action in full, as text with commands that can be pasted into a POSIX shell.

    Characters that a terminal cannot show are escaped; ``actions --json`` has the exact commands.
    """
    return "\n".join(map(printable_lines, _details(action, now_ms))) + "\n"


def _details(action: ActionRecord, now_ms: int) -> Iterator[str]:
    yield f"{action.kind} {action.action_id} (revision {action.revision}): {standing(action, now_ms)}"
    if action.status_reason:
        yield f"  {action.status_reason}"
    yield f"  where     {where(action)}"
    yield f"  why       {action.reason}"
    yield f"  for       {_alert(action)}"
    yield f"  effect    {', '.join(effect(action)) or 'unknown'}"
    yield from _touched(action.expected.get("on"))
    yield from outlook_lines(action.expected)
    if action.owner is not None:
        yield f"  owner     {action.owner} declares the cluster: the commands are for it"
    yield f"  facts     {_facts(action.based_on, now_ms)}"
    yield f"  valid     until {utc(action.expires_at_ms)}"
    yield from _block("before you start", conditions(action))
    yield from _block("it must not be done now, because", [_said(item) for item in action.vetoes])
    yield from _commands("do it", action.commands)
    yield from _commands("undo it", _undo(action.undo))


def _touched(changes: Any) -> Iterator[str]:
    for entry in changes if isinstance(changes, list) else []:
        size_bytes = entry.get("bytes")
        if isinstance(size_bytes, int | float):
            effect_here = f"{'frees' if size_bytes >= 0 else 'takes'} {human_bytes(abs(size_bytes))}"
            yield f"            broker {entry.get('broker')} {entry.get('log_dir')} {effect_here}"


def _facts(based_on: dict[str, Any], now_ms: int) -> str:
    ages = (("state", based_on.get("state_at_ms")), ("inventory", based_on.get("inventory_at_ms")))
    return ", ".join(f"{name} of {human_ago(at, now_ms)}" if at else f"{name} unknown" for name, at in ages)


def _block(title: str, lines: list[str]) -> list[str]:
    return ["", f"{title}:", *(f"  {text}" for text in lines)] if lines else []


def _commands(title: str, commands: list[str]) -> list[str]:
    return ["", f"# {title}", *commands] if commands else []


def _undo(undo: dict[str, Any]) -> list[str]:
    commands = undo.get("commands")
    text = [f"# {undo['text']}"] if undo.get("text") else []
    return [*text, *(str(command) for command in commands or [])]


def conditions(action: ActionRecord) -> list[str]:
    """Return what must hold before an action is carried out, each with a mark that says whether it does."""
    return [_condition(item) for item in action.preconditions]


def _condition(item: dict[str, Any]) -> str:
    return f"{_MARK.get(item.get('holds'), '[check]')} {_said(item)}"


def _said(item: dict[str, Any]) -> str:
    return str(item.get("text") or item.get("reason") or item.get("name") or json.dumps(item))


def _alert(action: ActionRecord) -> str:
    alert = action.alert
    words = [str(alert[key]) for key in ("severity", "rule") if alert.get(key)]
    return " ".join([*words, short_id(action.alert_id)])


def where(action: ActionRecord, between: str = " ") -> str:
    """Return what an action acts on: cluster, broker, directory and topic, as far as it is about them."""
    broker, log_dir = action.target.get("broker"), action.target.get("log_dir")
    found = place(
        action.cluster, broker if isinstance(broker, int) else None, str(log_dir) if log_dir else None, between
    )
    topic = action.target.get("topic")
    return f"{found}{between}topic {printable(str(topic))}" if topic else found


def _rank(action: ActionRecord, unblocks: int) -> tuple[bool, bool, int, bool, int, str, int, int, str]:
    opened_at_ms = action.alert.get("opened_at_ms") or 0
    among = (action.alert_id, 0 if action.position is None else action.position)
    loudness, is_way_in = max(_loudness(action), unblocks), unblocks >= 0
    rest = (not is_way_in, opened_at_ms, *among, action.at_ms, action.action_id)
    return action.status not in OPEN, is_blocked(action), -loudness, *rest


def _unblocks(action: ActionRecord, blocked: Iterable[ActionRecord]) -> int:
    """Return the highest severity of the alerts whose actions wait for this one; -1 for none."""
    if action.vetoes or action.status not in OPEN:
        return -1
    return max((_loudness(other) for other in blocked if waits_for(other, action)), default=-1)


def _loudness(action: ActionRecord) -> int:
    severity = action.alert.get("severity")
    return Severity(severity).rank if severity in {s.value for s in Severity} else -1
