"""Listings as columns, and which replicas they may change: a filter that may only say that a row stays as it is.

Everything else is left to the rules of ``plain_replicas``, for some partitions at a time: rows as Python objects need
much memory.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from logdirwatch.model.scalars import LARGEST
from logdirwatch.parse.decoding import Decoder
from logdirwatch.store.direct.arrow import encoded
from logdirwatch.store.direct.merge import Key
from logdirwatch.store.direct.rewriting import small
from logdirwatch.store.rows.judgements import Broker
from logdirwatch.store.rows.replicas import Seen, when_of
from logdirwatch.store.rows.scans import MarkerKey, Part, Whole, subject
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
    """Replicas that may change: the numbers of their stored rows, how they are listed, and their partitions.

    The rows of a partition are there all together or not at all.
    """

    places: list[int]
    listed: Mapping[Key, Seen]
    partitions: Set[Key]


class Changed(NamedTuple):
    """What changed apart from listings: judgements of brokers, and partitions of ``topic_state``.

    With ``is_all`` every replica may change, whatever the listings say; then all partitions are there.
    """

    brokers: Set[Broker]
    partitions: Set[Key]
    is_all: bool = False


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


def candidates(
    stored: pa.Table, listed: Listings, log_dirs: Mapping[MarkerKey, Whole], changed: Changed, most: int
) -> Iterator[Candidates]:
    """Yield the replicas that may change, about ``most`` at a time; ``stored`` are all rows of ``replica_state``.

    These do not: rows whose directory lists them as they are, or was not read; unless their broker or their partition
    changed, or nothing is known of the partition.
    """
    partitions = list(changed.partitions)
    numbers = _Numbers(stored, listed, changed.brokers, partitions)
    may_change = pc.is_null(stored.column("is_leader")).to_numpy() | changed.is_all
    may_change |= np.isin(numbers.brokers, numbers.changed_brokers)
    is_same = _same(stored, listed, log_dirs, numbers, may_change)
    read = numbers.partitions[may_change], numbers.listed_partitions[~is_same]
    affected = np.unique(np.concatenate((*read, numbers.changed_partitions)))
    ranks = [
        _ranks(each, affected) for each in (numbers.partitions, numbers.listed_partitions, numbers.changed_partitions)
    ]
    sizes = sum(np.bincount(rank[rank >= 0], minlength=len(affected)) for rank in ranks)
    part_of = np.cumsum(sizes) // most
    for part in np.unique(part_of).tolist():
        places, items, named = (np.flatnonzero((rank >= 0) & (part_of[rank] == part)).tolist() for rank in ranks)
        found = dict(_seen(listed, items))
        keys = stored.select(("cluster", "topic", "partition")).take(pa.array(places, pa.int64())).to_pylist()
        known = {tuple(key.values()) for key in keys} | {(key[0], *key[2:4]) for key in found}
        yield Candidates(places, found, known.union(partitions[number] for number in named))


def _ranks(numbers: Any, affected: Any) -> Any:
    """Return the places of numbers among the affected ones, in order, -1 for those that are not."""
    if not len(affected):
        return np.full(len(numbers), -1)
    found = np.searchsorted(affected, numbers).clip(max=len(affected) - 1)
    return np.where(affected[found] == numbers, found, -1)


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


def _seen(listed: Listings, items: Any) -> Iterator[tuple[Key, Seen]]:
    """Yield how some replicas are listed."""
    whens = [when_of(part) for part in listed.parts]
    numbers = (each[items].tolist() for each in (listed.part, listed.partition, listed.is_future))
    values = (each.take(pa.array(items, pa.int64())).to_pylist() for each in (listed.size_bytes, listed.offset_lag))
    for item, place, partition, is_future, size_bytes, offset_lag in zip(items, *numbers, *values, strict=True):
        part = listed.parts[place]
        cluster, broker, log_dir = part.subject
        seen = {"log_dir": log_dir, "size_bytes": size_bytes, "offset_lag": offset_lag}
        yield (cluster, broker, listed.topics[item], partition, is_future), Seen(part.at_ms, seen, whens[place])


class _Numbers:
    """Replicas as numbers: equal ones are the same partition, replica, broker or directory."""

    def __init__(
        self, stored: pa.Table, listed: Listings, brokers: Iterable[Broker], partitions: Sequence[Key]
    ) -> None:
        numbered = {name: encoded(stored.column(name)) for name in ("cluster", "topic", "log_dir")}
        self._names = {name: _numbered(each.dictionary.to_pylist()) for name, each in numbered.items()}
        cluster, topic, path = (each.indices.fill_null(-1).to_numpy().astype(np.int64) for each in numbered.values())
        broker, partition, future = (_integers(stored.column(name)) for name in ("broker", "partition", "is_future"))
        clusters, topics, changed_number = _columns(partitions, 3)
        of_cluster, changed_id = _columns(brokers, 2)
        places = self._places(listed.parts)
        listed_topic, changed_topic = self._number("topic", listed.topics), self._number("topic", topics)
        changed_cluster, broker_cluster = self._number("cluster", clusters), self._number("cluster", of_cluster)
        broker, places[1], ids = small(broker, places[1], np.array(changed_id, dtype=np.int64))
        numbers = np.array(changed_number, dtype=np.int64)
        partition, number, numbers = small(partition, listed.partition, numbers)
        self._limit((broker, places[1], ids), (partition, number, numbers))
        self.brokers = self._broker(cluster, broker)
        self.changed_brokers = self._broker(broker_cluster, ids)
        self.log_dirs = np.where(path < 0, -1, self._log_dir(cluster, broker, path))
        self.partitions = self._partition(cluster, topic, partition)
        self.changed_partitions = self._partition(changed_cluster, changed_topic, numbers)
        self.keys = self._key(self.partitions, broker, future)
        self.read_log_dirs = self._log_dir(*places)
        of_items = places[:, listed.part]
        self.listed_log_dirs = self._log_dir(*of_items)
        self.listed_partitions = self._partition(of_items[0], listed_topic, number)
        self.listed_keys = self._key(self.listed_partitions, of_items[1], listed.is_future)

    def _number(self, kind: str, names: Iterable[str | None]) -> Any:
        """Return the numbers of names, new ones for those that no stored row has."""
        known = self._names[kind]
        return np.array([known.setdefault(name or "", len(known)) for name in names], dtype=np.int64)

    def _places(self, parts: Sequence[Part]) -> Any:
        """Return a row each with the clusters, brokers and paths of parts."""
        clusters = self._number("cluster", (part.subject[0] for part in parts))
        brokers = np.array([part.subject[1] for part in parts], dtype=np.int64)
        return np.stack([clusters, brokers, self._number("log_dir", (part.subject[2] for part in parts))])

    def _limit(self, brokers: Iterable[Any], partitions: Iterable[Any]) -> None:
        """Note how large the numbers get."""
        self._brokers, self._partitions = (
            1 + max(int(n.max(initial=0)) for n in each) for each in (brokers, partitions)
        )
        clusters, self._topics, self._paths = (1 + len(self._names[kind]) for kind in ("cluster", "topic", "log_dir"))
        of_keys = clusters * self._topics * self._partitions * self._brokers * 2
        if max(of_keys, clusters * self._brokers * self._paths) > LARGEST:
            raise OverflowError("the replicas have too many names to be numbered")

    def _broker(self, cluster: Any, broker: Any) -> Any:
        return cluster * self._brokers + broker

    def _log_dir(self, cluster: Any, broker: Any, path: Any) -> Any:
        return self._broker(cluster, broker) * self._paths + path

    def _partition(self, cluster: Any, topic: Any, partition: Any) -> Any:
        return (cluster * self._topics + topic) * self._partitions + partition

    def _key(self, partition: Any, broker: Any, future: Any) -> Any:
        return (partition * self._brokers + broker) * 2 + future


def _columns(rows: Iterable[Sequence[Any]], width: int) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(width)]


def _numbered(names: Sequence[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(names)}


def _integers(column: pa.ChunkedArray) -> Any:
    return column.to_numpy().astype(np.int64)
