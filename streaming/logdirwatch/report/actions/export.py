"""One action as files: its plan, the undo, its commands as a shell script, and a description.

File names are ours alone. What comes from a record is quoted by the planner (commands), JSON, or made printable here: a
path or reason with control characters must neither leave its line nor control a terminal.
"""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from logdirwatch.model.records import ActionRecord
from logdirwatch.plan.commands.kafka_tools import step_of
from logdirwatch.report.actions.listing import effect, standing
from logdirwatch.text.printable import printable
from logdirwatch.text.words import utc

REASSIGNMENT = "reassignment.json"
ROLLBACK = "rollback.json"
COMMANDS = "commands.sh"
UNDO = "undo.sh"
README = "README.txt"

_MARK = {True: "[x]", False: "[NO]", None: "[ ]"}
_HEAD = (
    "#!/bin/sh",
    "# {what}",
    "# Run it where it lies: sh {name}",
    "set -eu",
    'cd -- "$(dirname -- "$0")"',
)


def files(action: ActionRecord, now_ms: int) -> dict[str, str]:
    """Return the content of each file by name; files without content for this action are left out."""
    found = {README: _readme(action, now_ms), COMMANDS: _script(action, COMMANDS, action.commands)}
    undo = action.undo.get("commands")
    if undo:
        found[UNDO] = _script(action, UNDO, [str(command) for command in undo])
    if action.reassignment is not None:
        found[REASSIGNMENT] = _json(action.reassignment)
    if action.undo.get("reassignment"):
        found[ROLLBACK] = _json(action.undo["reassignment"])
    return found


def _script(action: ActionRecord, name: str, commands: Sequence[str]) -> str:
    verb = "do" if name == COMMANDS else "undo"
    what = f"{verb} {action.kind} {action.action_id} (revision {action.revision})"
    head = [line.replace("{what}", printable(what)).replace("{name}", name) for line in _HEAD]
    return "\n".join([*head, "", *_waiting(commands)]) + "\n"


def _waiting(commands: Sequence[str]) -> Iterator[str]:
    """Yield commands that wait for a person after each manual step that a command follows.

    The person is asked at the terminal, because a step may be among commands that read their standard input; without a
    terminal the script ends there.
    """
    last = max((number for number, command in enumerate(commands) if step_of(command) is None), default=-1)
    for number, command in enumerate(commands):
        yield command
        step = step_of(command)
        if step is not None and number < last:
            yield f"printf '%s\\nPress Enter when it is done: ' {shlex.quote(step)}; read -r _ < /dev/tty"


def _readme(action: ActionRecord, now_ms: int) -> str:
    lines = [
        f"{action.kind} {action.action_id}, revision {action.revision}, {standing(action, now_ms)}",
        "",
        f"cluster  {action.cluster}",
        f"target   {json.dumps(action.target, sort_keys=True)}",
        f"why      {action.reason}",
        f"effect   {', '.join(effect(action)) or 'unknown'}",
        f"valid    until {utc(action.expires_at_ms)}; its facts are of {_facts(action.based_on)}",
        *(["data     THIS LOSES DATA"] if action.data_loss else []),
        "",
        "Before you start:",
        f"  [ ] logdirwatch actions check {action.action_id}",
        *(f"  {_MARK.get(item.get('holds'), '[ ]')} {item.get('text')}" for item in action.preconditions),
        "",
        f"{COMMANDS} does it, {UNDO} is the way back where there is one: {action.undo.get('text') or 'as it was'}",
        f"{REASSIGNMENT} and {ROLLBACK} are what the scripts hand to kafka-reassign-partitions, where they do.",
    ]
    return "".join(f"{printable(line)}\n" for line in lines)


def _facts(based_on: Mapping[str, Any]) -> str:
    at_ms = based_on.get("inventory_at_ms")
    return utc(at_ms) if isinstance(at_ms, int) else "an unknown time"


def _json(plan: Mapping[str, Any]) -> str:
    return json.dumps(plan, indent=1, ensure_ascii=True) + "\n"
