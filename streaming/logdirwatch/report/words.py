"""Places, statuses and colours, spelled the same by every command."""

from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from typing import TypeVar

from logdirwatch.model.text import printable
from logdirwatch.model.vocabulary import NO_CLUSTER

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
ID_CHARACTERS = 8


def colour(word: str | None) -> str:
    """Return the style in which a status or severity is shown."""
    return _COLOURS.get(word or "", "")


def place(cluster: str, broker: int | None, log_dir: str | None, between: str = " ") -> str:
    """Return where something is: cluster, broker and, behind ``between``, the directory, as far as known."""
    cluster = "logdirwatch itself" if cluster == NO_CLUSTER else printable(cluster)
    where = cluster if broker is None else f"{cluster} broker {broker}"
    return where if log_dir is None else f"{where}{between}{printable(log_dir)}"


def change(from_status: str | None, to_status: str | None, cause: str | None) -> str:
    """Return a transition as ``from > to (cause)``, as far as known; where nothing changed, nothing but the cause."""
    text = "" if from_status == to_status else " > ".join(status for status in (from_status, to_status) if status)
    return f"{text} ({cause})".strip() if cause else text


def short_id(identity: str) -> str:
    """Return the beginning of an identity, which commands accept for the whole."""
    return identity[:ID_CHARACTERS]


def named(records: Iterable[_T], identity: str, of: Callable[[_T], str]) -> list[_T]:
    """Return the records whose identity, read by ``of``, is ``identity``; where none is, those that begin with it.

    An empty ``identity`` names nothing.
    """
    begun = [record for record in records if of(record).startswith(identity)] if identity else []
    return [record for record in begun if of(record) == identity] or begun


def utc(at_ms: int) -> str:
    """Return a moment to the second, in UTC; in words where no calendar has it, as when somebody wrote microseconds."""
    try:
        return datetime.fromtimestamp(at_ms / 1000, tz=timezone.utc).strftime("%Y-%m-%d %H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return "an unknown time"


def some_of(names: Iterable[object], limit: int = 5) -> str:
    """Return the first ``limit`` names, and how many more there are."""
    found = [str(name) for name in names]
    more = f" and {len(found) - limit} more" if len(found) > limit else ""
    return ", ".join(found[:limit]) + more


def counted(count: int, noun: str, many: str | None = None) -> str:
    """Return a count with its noun in the right number: ``1 replica``, ``5 replicas``, ``2 directories``.

    ``many`` is what stands behind all other numbers than 1 where more than a noun follows: ``come back``.
    """
    if count == 1 or many is not None:
        return f"1 {noun}" if count == 1 else f"{count} {many}"
    return f"{count} {noun[:-1]}ies" if noun.endswith("y") else f"{count} {noun}s"
