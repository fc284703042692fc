"""What another program changed in the columns of a table; later columns and wider numbers are no change."""

from collections.abc import Collection, Mapping

from logdirwatch.store.schema.columns import Table

_DELTA_NAMES = {"int": {"integer", "long"}, "bigint": {"long"}, "double": {"double"}, "boolean": {"boolean"}}
_TEXTS = {"string", "varchar", "char"}


def foreign_change(table: Table, types: Mapping[str, str], needed: Collection[str] = ()) -> str | None:
    """Return the first column that is not as this program wrote it, given the types of the table in Delta's names.

    A column that is missing counts if it is ``needed``, and rows are identified by it: the others may be younger than
    the table. Only types without parts are compared.
    """
    for column in table.columns:
        found = types.get(column.name)
        if found is None and column.name in table.key and column.name in needed:
            return f"it has no column {column.name}"
        allowed = _TEXTS if column.kind == "string" else _DELTA_NAMES.get(column.kind)
        if found is not None and allowed is not None and found not in allowed:
            return f"its column {column.name} is {found}, not {column.kind}"
    return None
