"""``logdirwatch actions export``: write an action as files to review, change, keep and run."""

from pathlib import Path
from typing import Annotated

import typer

from logdirwatch.cli.actions.lookup import ActionId, read_action
from logdirwatch.cli.reading.records import now_ms
from logdirwatch.errors import UserError
from logdirwatch.model.records import ActionRecord
from logdirwatch.report.actions.export import files
from logdirwatch.text.printable import printable

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder to write to; it is created if it is missing.")]


def export(ctx: typer.Context, identity: ActionId, folder: Folder) -> None:
    """Write an action to a folder: its plan, rollback, commands as a script, and description.

    Existing files are never overwritten. An action that must not be done now has no commands and is refused.
    """
    now = now_ms()
    action = read_action(ctx.obj, identity)
    _refuse(action)
    written = _write(folder, files(action, now))
    for name in written:
        typer.echo(str(folder / name))
    typer.echo(f"Before you run it, check it: logdirwatch actions check {action.action_id}")


def _refuse(action: ActionRecord) -> None:
    if action.vetoes:
        reasons = "; ".join(str(veto["reason"]) for veto in action.vetoes)
        raise UserError(printable(f"export: {action.kind} {action.action_id} must not be done now: {reasons}"))
    if not action.commands:
        raise UserError(f"export: {action.kind} {action.action_id} has no commands")


def _write(folder: Path, contents: dict[str, str]) -> list[str]:
    """Write all files; raises UserError that names existing ones."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        there = [name for name in contents if (folder / name).exists() or (folder / name).is_symlink()]
        if there:
            raise UserError(f"export: {', '.join(there)} in {folder} would be overwritten; name another folder")
        for name, text in contents.items():
            with (folder / name).open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
    except OSError as error:
        raise UserError(f"export: {folder} cannot be written: {error.strerror or error}") from None
    return list(contents)
