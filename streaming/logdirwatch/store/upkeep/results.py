"""What became of a table, for people."""

from msgspec import Struct

from logdirwatch.text.units import human_bytes


class Upkept(Struct, frozen=True, kw_only=True):
    """What became of a table; a dry run tells what would go, and ``error`` what kept it from the rest."""

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
        return f"{found.table}: not there yet"
    if found.error is not None:
        return f"{found.table}: {found.error}"
    before = _holds(found.files_before, found.bytes_before)
    if found.files_after is None:
        return f"{found.table}: {before}; {found.expired_rows} rows are past their retention"
    after = _holds(found.files_after, found.bytes_after)
    return f"{found.table}: {found.expired_rows} rows deleted; {before} before, {after} now"


def _holds(files: int | None, size_bytes: int | None) -> str:
    return f"{files} file{'' if files == 1 else 's'}, {human_bytes(size_bytes)}"
