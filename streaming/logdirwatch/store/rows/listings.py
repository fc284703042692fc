"""Listings as columns, and which replicas they may change: a filter that may only say that a row stays as it is.

Everything else is left to the rules of ``plain_replicas``.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from logdirwatch.model.scalars import LARGEST
from logdirwatch.parse.decoding import Decoder
from logdirwatch.store.direct.arrow import encoded
from logdirwatch.store.direct.merge import Key
from logdirwatch.store.rows.plain_judgements import Broker
from logdirwatch.store.rows.plain_placements import Seen, seen_in
from logdirwatch.store.rows.plain_scans import MarkerKey, Part, Whole, subject
from logdirwatch.store.rows.thin import Placed


class _Item(Struct, gc=False):
    topic: str
    partition: int
    size_bytes: int | None
    offset_lag: int | None
    is_future: bool


class _Listing(Struct):
    collector: str
    part: int
    parts: int
    replicas: list[_Item]


_DECODER = Decoder(_Listing)


class Listings(NamedTuple):
    """Parts of directories, the oldest first, and what they list: a row of each column for each replica."""

    parts: list[Part]
    part: Any
    """The number of the part that lists the replica."""
    topics: list[str]
    partition: Any
    is_future: Any
    size_bytes: pa.Array
    offset_lag: pa.Array


class Candidates(NamedTuple):
    """The replicas that may change: the numbers of their stored rows, how they are listed, and their partitions.

    The rows of a partition are there all together or not at all.
    """

    places: list[int]
    listed: Mapping[Key, Seen]
    partitions: Set[Key]


class Changed(NamedTuple):
    """What changed apart from listings: judgements of brokers, and partitions of ``topic_state``."""

    brokers: Set[Broker]
    partitions: Set[Key]


class NumbersError(Exception):
    """There are more names than fit into the numbers of this filter."""


def listings(rows: Iterable[Placed]) -> Listings:
    """Return thin rows of listed directories as columns; the part's records are without their replicas."""
    ordered = sorted(rows, key=lambda placed: (placed.thin.at_ms, placed.position[:3]))
    decoded = [_DECODER.decode(placed.thin.body or "") for placed in ordered]
    items = [item for listing in decoded for item in listing.replicas]
    sizes = [len(listing.replicas) for listing in decoded]
    return Listings(
        [_part(placed, listing) for placed, listing in zip(ordered, decoded, strict=True)],
        np.repeat(np.arange(len(sizes)), sizes),
        [item.topic for item in items],
        np.array([item.partition for item in items], dtype=np.int64),
        np.array([item.is_future for item in items], dtype=bool),
        pa.array([item.size_bytes for item in items], pa.int64()),
        pa.array([item.offset_lag for item in items], pa.int64()),
    )


def _part(placed: Placed, listing: _Listing) -> Part:
    about = {"part": listing.part, "parts": listing.parts, "listed": len(listing.replicas)}
    return Part(subject(placed), listing.collector, placed.thin.at_ms, about, placed.position[:3])


def candidates(stored: pa.Table, listed: Listings, log_dirs: Mapping[MarkerKey, Whole], changed: Changed) -> Candidates:
    """Return the replicas that may change; ``stored`` are all rows of ``replica_state``.

    These do not: rows whose directory lists them as they are, or was not read; unless their broker or their partition
    changed, or nothing is known of the partition. Raises NumbersError if there are too many names.
    """
    numbers = _Numbers(stored, listed, changed)
    may_change = pc.is_null(stored.column("is_leader")).to_numpy()
    may_change |= np.isin(numbers.brokers, numbers.changed_brokers)
    is_same = _same(stored, listed, log_dirs, numbers, may_change)
    read = numbers.partitions[may_change], numbers.listed_partitions[~is_same]
    affected = np.unique(np.concatenate((*read, np.array(numbers.changed_partitions, dtype=np.int64))))
    places = np.flatnonzero(np.isin(numbers.partitions, affected))
    items = np.flatnonzero(np.isin(numbers.listed_partitions, affected))
    found = dict(_seen(listed, item) for item in items.tolist())
    keys = stored.select(("cluster", "topic", "partition")).take(pa.array(places)).to_pylist()
    partitions = {tuple(key.values()) for key in keys} | {(key[0], *key[2:4]) for key in found} | changed.partitions
    return Candidates(places.tolist(), found, partitions)


def _same(
    stored: pa.Table, listed: Listings, log_dirs: Mapping[MarkerKey, Whole], numbers: "_Numbers", may_change: Any
) -> Any:
    """Return which listed replicas are stored as they are listed; mark stored ones that their directory leaves out."""
    order = np.argsort(numbers.keys, kind="stable")
    ordered = numbers.keys[order]
    found = np.searchsorted(ordered, numbers.listed_keys).clip(max=max(len(ordered) - 1, 0))
    if not len(ordered):
        return np.zeros(len(numbers.listed_keys), dtype=bool)
    place = order[found]
    newest = np.array([_newest_ms(part, log_dirs) for part in listed.parts], dtype=np.int64)[listed.part]
    at_ms = np.array([part.at_ms for part in listed.parts], dtype=np.int64)[listed.part]
    is_same = (ordered[found] == numbers.listed_keys) & (at_ms >= newest)
    is_same &= numbers.log_dirs[place] == numbers.listed_log_dirs
    for name, values in (("size_bytes", listed.size_bytes), ("offset_lag", listed.offset_lag)):
        is_same &= _equal(stored.column(name), place, values)
    left_out = np.isin(numbers.log_dirs, np.unique(numbers.read_log_dirs))
    left_out[place[is_same]] = False
    may_change |= left_out
    return is_same


def _newest_ms(part: Part, log_dirs: Mapping[MarkerKey, Whole]) -> int:
    whole = log_dirs.get(part.subject)
    return part.at_ms if whole is None else whole.at_ms


def _equal(column: pa.ChunkedArray, place: Any, values: pa.Array) -> Any:
    """Return where two columns of numbers are equal; nulls are."""
    pairs = [
        (pc.fill_null(each, 0).to_numpy(zero_copy_only=False), pc.is_null(each).to_numpy(zero_copy_only=False))
        for each in (column.combine_chunks(), values)
    ]
    (known, known_null), (new, new_null) = pairs
    return (known[place] == new) & (known_null[place] == new_null)


def _seen(listed: Listings, item: int) -> tuple[Key, Seen]:
    part = listed.parts[listed.part[item]]
    cluster, broker, _ = part.subject
    values = {"size_bytes": listed.size_bytes[item].as_py(), "offset_lag": listed.offset_lag[item].as_py()}
    key = cluster, broker, listed.topics[item], int(listed.partition[item]), bool(listed.is_future[item])
    return key, seen_in(part, values)


class _Numbers:
    """Stored and listed replicas as numbers: equal ones are the same partition, replica, broker or directory."""

    def __init__(self, stored: pa.Table, listed: Listings, changed: Changed) -> None:
        numbered = {name: encoded(stored.column(name)) for name in ("cluster", "topic", "log_dir")}
        self._names = {name: _numbered(each.dictionary.to_pylist()) for name, each in numbered.items()}
        cluster, topic, path = (each.indices.fill_null(-1).to_numpy().astype(np.int64) for each in numbered.values())
        broker, partition, future = (_integers(stored.column(name)) for name in ("broker", "partition", "is_future"))
        places = self._places(listed.parts)
        listed_topic = self._number("topic", listed.topics)
        self._changed = self._named(changed)
        self._limit((broker, places[1]), (partition, listed.partition))
        self.brokers = self._broker(cluster, broker)
        self.log_dirs = np.where(path < 0, -1, self._log_dir(cluster, broker, path))
        self.partitions = self._partition(cluster, topic, partition)
        self.keys = self._key(self.partitions, broker, future)
        self.read_log_dirs = self._log_dir(*places)
        of_items = places[:, listed.part]
        self.listed_log_dirs = self._log_dir(*of_items)
        self.listed_partitions = self._partition(of_items[0], listed_topic, listed.partition)
        self.listed_keys = self._key(self.listed_partitions, of_items[1], listed.is_future)

    @property
    def changed_brokers(self) -> list[int]:
        """The brokers that changed."""
        return [int(self._broker(*each)) for each in self._changed[0]]

    @property
    def changed_partitions(self) -> list[int]:
        """The partitions that changed."""
        return [int(self._partition(*each)) for each in self._changed[1]]

    def _number(self, kind: str, names: Iterable[str | None]) -> Any:
        """Return the numbers of names, new ones for those that no stored row has."""
        known = self._names[kind]
        return np.array([known.setdefault(name or "", len(known)) for name in names], dtype=np.int64)

    def _places(self, parts: Sequence[Part]) -> Any:
        """Return a row each with the clusters, brokers and paths of parts."""
        clusters = self._number("cluster", (part.subject[0] for part in parts))
        brokers = np.array([part.subject[1] for part in parts], dtype=np.int64)
        return np.stack([clusters, brokers, self._number("log_dir", (part.subject[2] for part in parts))])

    def _named(self, changed: Changed) -> tuple[list[tuple[int, int]], list[tuple[int, int, int]]]:
        number = self._number
        brokers = [(number("cluster", [cluster])[0], broker) for cluster, broker in changed.brokers]
        return brokers, [
            (number("cluster", [cluster])[0], number("topic", [topic])[0], partition)
            for cluster, topic, partition in changed.partitions
        ]

    def _limit(self, brokers: Sequence[Any], partitions: Sequence[Any]) -> None:
        """Note how large the numbers get. Raises NumbersError if they do not fit."""
        of_brokers, of_partitions = self._changed
        highest = [int(each.max(initial=0)) for each in brokers]
        self._brokers = 1 + max(highest + [broker for _, broker in of_brokers])
        highest = [int(each.max(initial=0)) for each in partitions]
        self._partitions = 1 + max(highest + [partition for *_, partition in of_partitions])
        clusters, self._topics, self._paths = (1 + len(self._names[kind]) for kind in ("cluster", "topic", "log_dir"))
        of_keys = clusters * self._topics * self._partitions * self._brokers * 2
        if max(of_keys, clusters * self._brokers * self._paths) > LARGEST:
            raise NumbersError

    def _broker(self, cluster: Any, broker: Any) -> Any:
        return cluster * self._brokers + broker

    def _log_dir(self, cluster: Any, broker: Any, path: Any) -> Any:
        return self._broker(cluster, broker) * self._paths + path

    def _partition(self, cluster: Any, topic: Any, partition: Any) -> Any:
        return (cluster * self._topics + topic) * self._partitions + partition

    def _key(self, partition: Any, broker: Any, future: Any) -> Any:
        return (partition * self._brokers + broker) * 2 + future


def _numbered(names: Sequence[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(names)}


def _integers(column: pa.ChunkedArray) -> Any:
    return column.to_numpy().astype(np.int64)
