"""Places, statuses and colours, the same in every command."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from logdirwatch.errors import UserError
from logdirwatch.model.vocabulary import NO_CLUSTER
from logdirwatch.text.printable import printable

_T = TypeVar("_T")

_COLOURS = {
    "page": "bold white on red",
    "critical": "bold red",
    "warning": "yellow",
    "info": "cyan",
    "offline": "bold red",
    "saturated": "bold red",
    "filling": "yellow",
    "degraded": "yellow",
    "unknown": "magenta",
    "moving": "cyan",
    "online": "green",
    "resolved": "green",
    "firing": "bold red",
}


def colour(word: str | None) -> str:
    """Return the style in which a status or severity is shown."""
    return _COLOURS.get(word or "", "")


def place(cluster: str, broker: int | None, log_dir: str | None, between: str = " ") -> str:
    """Return where something is: cluster, broker and, after ``between``, the directory, as far as known."""
    cluster = "logdirwatch itself" if cluster == NO_CLUSTER else printable(cluster)
    where = cluster if broker is None else f"{cluster} broker {broker}"
    return where if log_dir is None else f"{where}{between}{printable(log_dir)}"


def change(from_status: str | None, to_status: str | None, cause: str | None) -> str:
    """Return a transition as ``from > to (cause)``, as far as known; only the cause if nothing changed."""
    text = "" if from_status == to_status else " > ".join(status for status in (from_status, to_status) if status)
    return f"{text} ({cause})".strip() if cause else text


def the_one(records: Iterable[_T], identity: str, of: Callable[[_T], str], none: str, many: str) -> _T:
    """Return the record whose id, read by ``of``, is ``identity`` or, if there is none, begins with it.

    Raises UserError, with ``none`` or how ``many`` there are, if it is not one; an empty ``identity`` matches nothing.
    """
    begun = [record for record in records if of(record).startswith(identity)] if identity else []
    found = [record for record in begun if of(record) == identity] or begun
    if not found:
        raise UserError(none)
    if len(found) > 1:
        raise UserError(f"{len(found)} {many} begin with {identity}; give more of the id", exit_code=2)
    return found[0]
