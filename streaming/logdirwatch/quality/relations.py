"""Expectations about relations between rows and tables, as queries for the violations.

``{batch}`` is the table that a query belongs to, ``quality_NAME`` the others. A row must be old enough (settled) before
another table has to agree with it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from logdirwatch.model.vocabulary import AlertStatus, LogDirStatus
from logdirwatch.store.schema.columns import Table
from logdirwatch.store.schema.definitions import ACTIONS, ALERTS, BROKER_STATE, LOG_DIR_STATE, TRANSITIONS
from logdirwatch.store.sql import by_age


@dataclass(frozen=True)
class CheckTimes:
    """The times of a check: rows up to ``settled_ms`` have settled, and a cluster is stale before ``fresh_ms``."""

    settled_ms: int
    fresh_ms: int


def view(table: Table) -> str:
    """Return the name of another table in a query."""
    return f"quality_{table.name}"


Relation = Callable[[CheckTimes], str]


def _without_gap(identity: str) -> Relation:
    """Return the query for ids with missing revisions."""
    return lambda _: (
        f"SELECT {identity} FROM {{batch}} GROUP BY {identity} "  # noqa: S608 - names of ours
        "HAVING count(DISTINCT revision) <> max(revision) - min(revision) + 1"
    )


def _has(other: Table, columns: Sequence[str], condition: str = "true", time: str = "at_ms") -> Relation:
    """Return the query for rows that match a condition and have no counterpart in another table."""
    same = " AND ".join(f"o.{column} = b.{column}" for column in columns)
    return lambda times: (
        f"SELECT b.* FROM {{batch}} b LEFT ANTI JOIN {view(other)} o ON {same} "  # noqa: S608
        f"WHERE b.{time} <= {times.settled_ms} AND {condition}"
    )


def _open_alerts(other: Table, columns: Sequence[str], condition: str) -> Relation:
    """Return the query for firing alerts without a counterpart in another table."""
    same = " AND ".join(f"o.{column} = b.{column}" for column in columns)
    newest = by_age("alert_id", "{batch}")
    return lambda times: (
        f"SELECT b.* FROM ({newest}) b LEFT ANTI JOIN {view(other)} o ON {same} "  # noqa: S608
        f"WHERE b.age = 1 AND b.status = '{AlertStatus.FIRING}' AND b.at_ms <= {times.settled_ms} AND {condition}"
    )


def _nothing_after_the_end(_: CheckTimes) -> str:
    return (
        f"SELECT alert_id FROM {{batch}} GROUP BY alert_id "  # noqa: S608
        f"HAVING max(revision) > min(CASE WHEN status = '{AlertStatus.RESOLVED}' THEN revision END)"
    )


def _is_fresh(times: CheckTimes) -> str:
    return f"SELECT cluster FROM {{batch}} GROUP BY cluster HAVING max(at_ms) < {times.fresh_ms}"  # noqa: S608


def _counts_log_dirs(times: CheckTimes) -> str:
    """Return the query for brokers whose directory counts differ from the rows of the same state record.

    If no directory is left, there is no other record to wait for.
    """
    counted = (
        f"SELECT cluster, broker, min(sequence) AS oldest, max(sequence) AS newest, count(*) AS there, "  # noqa: S608
        f"count_if(status = '{LogDirStatus.OFFLINE}') AS offline FROM {view(LOG_DIR_STATE)} GROUP BY cluster, broker"
    )
    is_same_record = "coalesce(d.oldest = b.sequence AND d.newest = b.sequence, true)"
    differs = "(b.log_dir_count <> coalesce(d.there, 0) OR b.offline_log_dirs <> coalesce(d.offline, 0))"
    return (
        f"SELECT b.* FROM {{batch}} b "  # noqa: S608
        f"LEFT JOIN ({counted}) d ON d.cluster = b.cluster AND d.broker = b.broker "
        f"WHERE {is_same_record} AND {differs} AND b.at_ms <= {times.settled_ms}"
    )


def _unbroken(_: CheckTimes) -> str:
    """Return the query for subjects whose transitions have a gap.

    In an unbroken chain each status is left as often as it is entered, except for the first and the last; so a missing
    transition shows, in whatever order those of the same time are read.
    """
    ends = (
        "SELECT cluster, broker, log_dir, from_status AS status, 1 AS gone FROM {batch} WHERE from_status IS NOT NULL "
        "UNION ALL SELECT cluster, broker, log_dir, to_status, -1 FROM {batch}"
    )
    by_status = (
        f"SELECT cluster, broker, log_dir, status, sum(gone) AS gone FROM ({ends}) "  # noqa: S608
        "GROUP BY cluster, broker, log_dir, status"
    )
    return (
        f"SELECT cluster, broker, log_dir FROM ({by_status}) GROUP BY cluster, broker, log_dir "  # noqa: S608
        "HAVING sum(greatest(gone, 0)) > 1"
    )


def _ends_where_it_is_now(times: CheckTimes) -> str:
    last = (
        "SELECT cluster, broker, log_dir, max(at_ms) AS at_ms, max_by(to_status, at_ms) AS to_status, "
        "count_if(at_ms = newest_ms) AS ends FROM (SELECT *, max(at_ms) OVER (PARTITION BY cluster, broker, log_dir) "
        "AS newest_ms FROM {batch} WHERE log_dir IS NOT NULL) GROUP BY cluster, broker, log_dir"
    )
    return (
        f"SELECT l.* FROM ({last}) l JOIN {view(LOG_DIR_STATE)} s ON s.cluster = l.cluster "  # noqa: S608
        f"AND s.broker = l.broker AND s.log_dir = l.log_dir "
        f"WHERE l.ends = 1 AND s.status <> l.to_status AND l.at_ms <= {times.settled_ms} AND s.at_ms >= l.at_ms"
    )


PLACE = ("cluster", "broker")
RELATIONS: Mapping[str, Mapping[str, Relation]] = {
    BROKER_STATE.name: {
        "the newest row of every cluster is fresh": _is_fresh,
        "log_dir_count and offline_log_dirs are what log_dir_state counts": _counts_log_dirs,
    },
    LOG_DIR_STATE.name: {"every directory's broker is known": _has(BROKER_STATE, PLACE)},
    TRANSITIONS.name: {
        "changes of status follow each other without a gap": _unbroken,
        "the last change of a directory leads to its present status": _ends_where_it_is_now,
    },
    ALERTS.name: {
        "no revision of an alert is missing": _without_gap("alert_id"),
        "no revision follows the end of an alert": _nothing_after_the_end,
        "the broker of every open alert is known": _open_alerts(BROKER_STATE, PLACE, "b.broker IS NOT NULL"),
        "the directory of every open alert is known": _open_alerts(
            LOG_DIR_STATE, (*PLACE, "log_dir"), "b.broker IS NOT NULL AND b.log_dir IS NOT NULL"
        ),
        "every open alert has an action": _open_alerts(ACTIONS, ("alert_id",), "true"),
    },
    ACTIONS.name: {
        "no revision of an action is missing": _without_gap("action_id"),
        "the alert of every action is known": _has(ALERTS, ("alert_id",)),
    },
}
"""For each table: the expectations in words, and the queries for violations."""
