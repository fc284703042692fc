"""The result of the maintenance of a table, for people."""

from msgspec import Struct

from logdirwatch.text.units import human_bytes
from logdirwatch.text.words import counted


class Upkept(Struct, frozen=True, kw_only=True):
    """The result for one table; for a dry run what would be removed; ``error`` says why it was not completed."""

    table: str
    is_there: bool = True
    expired_rows: int | None = None
    files_before: int | None = None
    files_after: int | None = None
    bytes_before: int | None = None
    bytes_after: int | None = None
    error: str | None = None


def line(found: Upkept) -> str:
    """Return one line about a table."""
    if not found.is_there:
        return f"{found.table}: does not exist yet"
    if found.error is not None:
        return f"{found.table}: {found.error}"
    before = _holds(found.files_before, found.bytes_before)
    if found.files_after is None:
        return f"{found.table}: {before}; {counted(found.expired_rows or 0, 'row is', 'rows are')} past their retention"
    after = _holds(found.files_after, found.bytes_after)
    return f"{found.table}: {counted(found.expired_rows or 0, 'row')} deleted; {before} before, {after} now"


def _holds(files: int | None, size_bytes: int | None) -> str:
    return f"{counted(files or 0, 'file')}, {human_bytes(size_bytes)}"
