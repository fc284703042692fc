"""Topic records as rows of ``topic_state``, with the health that follows."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from logdirwatch.store.direct.merge import Changes, Key, Stored
from logdirwatch.store.rows.scans import MarkerKey, Part, Whole, source_columns
from logdirwatch.store.rows.single import SOURCE_NAMES, Row
from logdirwatch.store.schema.definitions import TOPIC_STATE

OF_TOPIC = ("is_internal", "configs", "overridden", "topic_id")
OF_PARTITION = (
    *("replicas", "isr", "offline_replicas", "elr", "last_known_elr", "adding", "removing"),
    *("groups", "slowest_group", "unread_ratio"),
)
_MIN_ISR = "min.insync.replicas"
_WHEN = ("inventory_at_ms", *SOURCE_NAMES)
_VALUES = tuple(name for name in TOPIC_STATE.names if name not in (*TOPIC_STATE.key, *_WHEN))

_BLANK = "".join(map(chr, range(33))) + "\x7f"
_HIGHEST = 2**31 - 1


def partition_changes(stored: Stored, parts: Iterable[Part], scans: Mapping[MarkerKey, Whole]) -> Changes:
    """Decide about partitions: new and changed ones are written, those that a whole scan does not list are deleted.

    ``stored`` are whole rows, ``parts`` parts of topics, the oldest first, ``scans`` whole scans.
    """
    parts = list(parts)
    rows = {key: row for key, row in _rows(parts).items() if _is_changed(row, stored.get(key))}
    gone = _gone(stored, parts, scans)
    # A batch may have several scans: one that lists a partition, and a later one that does not.
    written = {key: row for key, row in rows.items() if row["inventory_at_ms"] >= gone.get(key, -1)}
    return Changes(written, deleted=gone.keys() - written.keys())


def _rows(parts: Iterable[Part]) -> dict[Key, Row]:
    """Return the rows that parts of topics hold, the newest of each partition."""
    newest = {
        (part.subject[0], part.record["topic"], partition["partition"]): (part, partition)
        for part in parts
        for partition in part.record["partitions"]
    }
    return {key: _row(key, *found) for key, found in newest.items()}


def with_partitions(part: Part, rows: Iterable[Mapping[str, Any]]) -> Part:
    """Return a recognized part of a topic with what it lists: the stored rows of its topic."""
    rows = list(rows)
    partitions = [{name: row[name] for name in ("partition", "leader", *OF_PARTITION)} for row in rows]
    of_topic = {name: rows[0][name] if rows else None for name in OF_TOPIC}
    about = {**of_topic, "configs": dict(of_topic["configs"] or ()), "partitions": partitions}
    return part._replace(record={**part.record, **about}, is_recognized=False)


def _row(key: Key, part: Part, partition: Mapping[str, Any]) -> Row:
    leader = partition["leader"]
    return {
        **dict(zip(("cluster", "topic", "partition"), key, strict=True)),
        "leader": leader if leader is not None and leader >= 0 else None,
        **{name: partition.get(name) for name in OF_PARTITION},
        **{name: part.record.get(name) for name in OF_TOPIC},
        "inventory_at_ms": part.at_ms,
        **source_columns(part.source),
        **_health(partition, part.record["configs"]),
    }


def _health(partition: Mapping[str, Any], configs: Mapping[str, str | None]) -> Row:
    """Return the health columns, as defined by ``collect.health``: live replicas against the effective minimum."""
    leader, replicas = partition["leader"], len(partition["replicas"])
    live = len(set(partition["isr"]).difference(partition["offline_replicas"]))
    configured = as_int(configs.get(_MIN_ISR))
    needed = None if configured is None else min(configured, replicas)
    is_leaderless = leader is None or leader < 0
    is_under = True if is_leaderless else None if needed is None else live < needed
    return {
        "min_insync_replicas": configured,
        "is_leaderless": is_leaderless,
        "is_under_min_isr": is_under,
        "is_at_min_isr": None if is_under is None else not is_under and replicas > 1 and live == needed,
        "is_sole_replica": replicas > 1 and live == 1,
    }


def as_int(text: str | None) -> int | None:
    """Return a text as an ``int``, or None.

    >>> as_int(" 2 "), as_int("2.0"), as_int("9999999999")
    (2, None, None)
    """
    digits = (text or "").strip(_BLANK)
    if not re.fullmatch(r"[+-]?[0-9]+", digits):
        return None
    number = int(digits)
    return number if -_HIGHEST - 1 <= number <= _HIGHEST else None


def _is_changed(row: Row, known: Mapping[str, Any] | None) -> bool:
    if known is None:
        return True
    is_newer = row["inventory_at_ms"] > known["inventory_at_ms"]
    return is_newer and any(_comparable(name, row) != _comparable(name, known) for name in _VALUES)


def _comparable(name: str, row: Mapping[str, Any]) -> Any:
    """Return a value that can be compared: a map is a dict in a new row, and pairs in a stored one."""
    value = row[name]
    return dict(value) if name == "configs" and value is not None else value


def _gone(stored: Stored, parts: Iterable[Part], scans: Mapping[MarkerKey, Whole]) -> dict[Key, int]:
    """Return the stored partitions that a newer whole scan of their cluster did not list, with its time."""
    listed = {
        (part.subject[0], part.record["topic"], partition["partition"])
        for part in parts
        if (whole := scans.get(part.subject)) and (whole.collector, whole.at_ms) == (part.collector, part.at_ms)
        for partition in part.record["partitions"]
    }
    times = {key[0]: whole.at_ms for key, whole in scans.items()}
    return {
        key: times[key[0]]
        for key, row in stored.items()
        if key[0] in times and row["inventory_at_ms"] < times[key[0]] and key not in listed
    }
