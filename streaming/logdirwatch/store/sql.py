"""Queries of the tables as DataFusion, Spark and Trino all read them; the table is called ``t``."""


def quoted(text: str) -> str:
    """Return a text as standard SQL writes it; Spark alone would also read a backslash in it."""
    return "'{}'".format(text.replace("'", "''"))


def newest(identity: str, among: str = "true", which: str = "true") -> str:
    """Return the query for the last record of each ``identity`` of a history table.

    ``among`` chooses the rows that are looked at, ``which`` the last ones that are wanted; callers quote both.
    """
    ranked = f"{by_age(identity, 't')} WHERE {among}"
    return f"SELECT record FROM ({ranked}) WHERE age = 1 AND {which} AND record IS NOT NULL"  # noqa: S608


def by_age(identity: str, source: str) -> str:
    """Return the query for all rows of a history table, with ``age`` 1 for the last revision of each ``identity``."""
    return f"SELECT *, row_number() OVER (PARTITION BY {identity} ORDER BY revision DESC) AS age FROM {source}"  # noqa: S608
