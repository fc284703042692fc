"""Which scans are complete: for a directory all parts of one time, for a cluster's topics as many as its end counts.

Only a complete scan proves that something was removed. One split by the end of a batch waits for the next batch.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from logdirwatch.model.vocabulary import BrokerStatus
from logdirwatch.store.rows.judgements import Judged
from logdirwatch.store.rows.single import Row, decoded
from logdirwatch.store.rows.thin import Placed, Thin

MarkerKey: TypeAlias = tuple[str, int | None, str | None]
"""Cluster, broker and directory; of a cluster's topics only the cluster."""

Markers: TypeAlias = Mapping[MarkerKey, int]
"""Times of ``log_dir_inventory``."""

Source: TypeAlias = tuple[str, int, int]
"""Topic, partition and offset."""

_ANSWERS = {BrokerStatus.ONLINE.value, BrokerStatus.DEGRADED.value}


class Part(NamedTuple):
    """A part of a directory's snapshot, of a topic, or the end of a scan; ``subject`` is what it belongs to.

    A recognized one (``store.writing.recognition``) has the number ``listed`` in its record, but not what it lists.
    """

    subject: MarkerKey
    collector: str
    at_ms: int
    record: Mapping[str, Any]
    source: Source

    is_recognized: bool = False

    @property
    def listed(self) -> int:
        """The number of replicas that a part of a directory lists."""
        return int(self.record["listed"]) if "listed" in self.record else len(self.record["replicas"])


class Whole(NamedTuple):
    """A whole snapshot of a directory, or a whole scan of a cluster's topics. The greatest is the newest."""

    at_ms: int
    collector: str
    listed: int
    source: Source


def newer_parts(rows: Iterable[Placed], markers: Markers) -> list[Part]:
    """Return the parts that are newer than the marker of their subject, the oldest first."""
    parts = [_part(placed) for placed in newer_rows(rows, markers)]
    return sorted(parts, key=lambda part: (part.at_ms, part.source))


def newer_rows(rows: Iterable[Placed], markers: Markers) -> list[Placed]:
    """Return the thin rows that are newer than the marker of their subject."""
    return [placed for placed in rows if _is_newer(placed, markers)]


def is_recognized(thin: Thin) -> bool:
    """Whether a thin row is a listing without its content: its ``record`` is the digest of that."""
    return thin.kind in {"replicas", "topic"} and thin.record is not None


def _part(placed: Placed) -> Part:
    record = decoded(placed)
    source, is_known = placed.position[:3], is_recognized(placed.thin)
    return Part(subject(placed), record["collector"], placed.thin.at_ms, record, source, is_known)


def subject(placed: Placed) -> MarkerKey:
    """Return the key of the marker that a part of a scan belongs to."""
    thin = placed.thin
    assert thin.cluster is not None
    return thin.cluster, thin.broker, thin.log_dir


def _is_newer(placed: Placed, markers: Markers) -> bool:
    known_ms = markers.get(subject(placed))
    return known_ms is None or placed.thin.at_ms > known_ms


def whole_log_dirs(parts: Iterable[Part]) -> dict[MarkerKey, Whole]:
    """Return the newest whole snapshot of each directory."""
    snapshots: defaultdict[tuple[MarkerKey, str, int], list[Part]] = defaultdict(list)
    for part in parts:
        snapshots[part.subject, part.collector, part.at_ms].append(part)
    found: dict[MarkerKey, Whole] = {}
    for (log_dir, collector, at_ms), listing in snapshots.items():
        if _is_whole(listing):
            listed = sum(part.listed for part in listing)
            whole = Whole(at_ms, collector, listed, max(part.source for part in listing))
            found[log_dir] = max(whole, found.get(log_dir, whole))
    return found


def _is_whole(parts: Sequence[Part]) -> bool:
    needed: int = max(part.record["parts"] for part in parts)
    return len({part.record["part"] for part in parts}) == needed


def whole_scans(parts: Iterable[Part], ends: Iterable[Part]) -> dict[MarkerKey, Whole]:
    """Return the newest whole scan of each cluster's topics; ``ends`` are the ends of scans."""
    seen: defaultdict[tuple[MarkerKey, str, int], dict[str, list[Part]]] = defaultdict(dict)
    for part in parts:
        seen[part.subject, part.collector, part.at_ms].setdefault(part.record["topic"], []).append(part)
    found: dict[MarkerKey, Whole] = {}
    for end in ends:
        topics = seen[end.subject, end.collector, end.at_ms]
        listed = sum(_is_whole(topic) for topic in topics.values())
        if end.record["is_complete"] and listed == end.record["topics"]:
            whole = Whole(end.at_ms, end.collector, listed, end.source)
            found[end.subject] = max(whole, found.get(end.subject, whole))
    return found


def last_whole_scans(markers: Markers, scans: Mapping[MarkerKey, Whole]) -> dict[str, int]:
    """Return when each cluster's topics were last scanned whole."""
    times: dict[str, int] = {}
    known = ((key, at_ms) for key, at_ms in markers.items() if key[1] is None)
    for (cluster, _, _), at_ms in (*known, *((key, whole.at_ms) for key, whole in scans.items())):
        times[cluster] = max(at_ms, times.get(cluster, at_ms))
    return times


def left_log_dirs(markers: Iterable[MarkerKey], judged: Judged) -> set[MarkerKey]:
    """Return the markers of directories that their answering brokers no longer have."""
    return {key for key in markers if key[1] is not None and _is_left(key[2], judged, (key[0], key[1]))}


def _is_left(log_dir: str | None, judged: Judged, broker: tuple[str, int]) -> bool:
    judgement = judged.get(broker)
    return judgement is not None and judgement.status in _ANSWERS and log_dir not in judgement.views


def unfinished(log_dirs: Iterable[Placed], topics: Iterable[Placed], markers: Markers) -> list[Placed]:
    """Return the thin rows that may still become whole: newer than their marker, and the newest of their subject.

    ``topics`` has topics and the ends of scans.
    """
    newest: dict[MarkerKey, int] = {}
    rows = newer_rows((*log_dirs, *topics), markers)
    for placed in rows:
        at_ms = placed.thin.at_ms
        newest[subject(placed)] = max(at_ms, newest.get(subject(placed), at_ms))
    return [placed for placed in rows if placed.thin.at_ms == newest[subject(placed)]]


def marker_rows(wholes: Mapping[MarkerKey, Whole]) -> dict[MarkerKey, Row]:
    """Return the rows of ``log_dir_inventory`` that whole snapshots and scans make."""
    return {key: _marker_row(key, whole) for key, whole in wholes.items()}


def _marker_row(key: MarkerKey, whole: Whole) -> Row:
    place = dict(zip(("cluster", "broker", "log_dir"), key, strict=True))
    about = {"inventory_at_ms": whole.at_ms, "listed": whole.listed, "collector": whole.collector}
    return {**place, **about, **source_columns(whole.source)}


def source_columns(source: Source) -> Row:
    """Return the columns of the record that a row was made from."""
    return dict(zip(("source_topic", "source_partition", "source_offset"), source, strict=True))
