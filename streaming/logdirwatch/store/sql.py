"""Queries of the tables that DataFusion, Spark and Trino all accept; the table is named ``t``."""


def quoted(text: str) -> str:
    """Return a text as an SQL literal; only Spark would interpret a backslash in it."""
    return "'{}'".format(text.replace("'", "''"))


def newest(identity: str, among: str = "true", which: str = "true", order: str = "revision") -> str:
    """Return the query for the last record of each ``identity`` of a history table, by the column ``order``.

    ``among`` filters the rows, ``which`` the last records; callers quote both.
    """
    ranked = f"{by_age(identity, 't', order)} WHERE {among}"
    return f"SELECT record FROM ({ranked}) WHERE age = 1 AND {which} AND record IS NOT NULL"  # noqa: S608


def by_age(identity: str, source: str, order: str = "revision") -> str:
    """Return the query for all rows of a history table, with ``age`` 1 for the last one of each ``identity``."""
    return f"SELECT *, row_number() OVER (PARTITION BY {identity} ORDER BY {order} DESC) AS age FROM {source}"  # noqa: S608
