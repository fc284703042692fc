"""Recognizes the listings whose content the tables have: they come to the driver without their content.

One Spark job reads the records of a batch. Its tasks know the digests of what is stored (``store.rows.content``). Of a
listing with the same digest they return what it is about, and its time; of any other listing all of it.

Only of tables whose versions are known, with the digests of what they have, may ``store_inventory`` leave out what it
recognizes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, TypeAlias

import msgspec
import pyarrow as pa
from pyspark.core.broadcast import Broadcast
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it

from logdirwatch.model import topics
from logdirwatch.model.records import ReplicasRecord, TopicRecord
from logdirwatch.model.times import effective_ms
from logdirwatch.parse.decoding import Decoder
from logdirwatch.store.direct.newest import NotDirectError, RowsChangedError, Version
from logdirwatch.store.direct.rewriting import read_columns
from logdirwatch.store.direct.table import DirectTable
from logdirwatch.store.rows.content import (
    NO_ROWS,
    OF_REPLICA,
    OF_TOPIC_STATE,
    Subject,
    Timeless,
    partitions_digests,
    replicas_digests,
    stored_partitions,
    stored_replicas,
    timeless,
)
from logdirwatch.store.rows.judgements import essence
from logdirwatch.store.rows.thin import Placed, Position, Thin
from logdirwatch.store.schema.definitions import REPLICA_STATE, TOPIC_STATE
from logdirwatch.store.tables import Tables
from logdirwatch.store.writing.engine import ByDriver, Target
from logdirwatch.store.writing.intake import SCHEMA, Belief, as_placed, as_table, listing_identity, thin_rows
from logdirwatch.store.writing.small_batch import Limits, SmallBatch, fetched, newest

KINDS = frozenset({"replicas", "topic", "scan", "state", "deleted", "rejected"})
"""The kinds of thin rows that ``store_inventory`` needs."""
LIMITS = Limits(task_rows=200_000, row_bytes=1 << 20, bytes=256 << 20)
MOST_ITEMS = 50_000
"""The number of replicas and partitions whose digests are computed at once."""

_SIZED = ("body", "record", "key", "value")
_REPLICAS, _TOPIC = Decoder(ReplicasRecord), Decoder(TopicRecord)


class Content(NamedTuple):
    """What a listing says, whenever it was made: its subject, its collector, how much it lists, and its digest."""

    subject: Subject
    collector: str
    listed: int
    digest: bytes


class Known(NamedTuple):
    """The digests of the stored rows of each subject, and the content of earlier records by ``Timeless.digest``."""

    stored: Mapping[Subject, bytes]
    records: Mapping[bytes, Content]

    def has(self, subject: Subject, digest: bytes) -> bool:
        """Whether the stored rows of a subject have this digest."""
        return self.stored.get(subject, NO_ROWS) == digest


class Recognized(NamedTuple):
    """A batch, and the content of its listings by ``Timeless.digest``."""

    batch: SmallBatch
    records: Mapping[bytes, Content]


class _Row(NamedTuple):
    """A thin row; of a listing with its content, and the digest by which it is recognized."""

    placed: Placed
    content: Content | None = None
    timeless: bytes | None = None


def recognized(records: DataFrame, believed: Belief, known: Known) -> Recognized | None:
    """Return the batch of Kafka rows, or None if too much of it is new."""
    time = F.unix_millis("timestamp").alias("kafka_timestamp_ms")
    rows = records.select("topic", "partition", "offset", time, "key", "value")
    shared = records.sparkSession.sparkContext.broadcast(known)
    try:
        found = fetched(rows.mapInArrow(partial(_read, believed=believed, known=shared), _SCHEMA), _SIZED, LIMITS)
    finally:
        shared.destroy()  # or Spark keeps a file of it
    if found is None:
        return None
    columns = (found.column(name).to_pylist() for name in ("timeless", "content"))
    contents = {digest: _CONTENT.decode(text) for digest, text in zip(*columns, strict=True) if digest}
    return Recognized(newest(as_placed(found)), contents)


_SCHEMA = f"{SCHEMA}, timeless binary, content binary"
_CONTENT = msgspec.msgpack.Decoder(Content)


def _read(batches: Iterator[pa.RecordBatch], believed: Belief, known: Broadcast[Known]) -> Iterator[pa.RecordBatch]:
    return _batches(batches, believed, known.value)


def _batches(batches: Iterator[pa.RecordBatch], believed: Belief, known: Known) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        values = zip(*(column.to_pylist() for column in batch.columns), strict=True)
        rows = _without_known(_rows(map(Position._make, values), believed, known), known)
        yield from _as_batches(list(rows))


def _as_batches(rows: list[_Row]) -> Iterator[pa.RecordBatch]:
    if not rows:
        return
    table = as_table(row.placed for row in rows)
    contents = [None if row.content is None else msgspec.msgpack.encode(row.content) for row in rows]
    added = ("timeless", [row.timeless for row in rows]), ("content", contents)
    for name, column in added:
        table = table.append_column(name, pa.array(column, pa.binary()))
    yield from table.to_batches()


def _rows(positions: Iterator[Position], believed: Belief, known: Known) -> Iterator[_Row]:
    for position in positions:
        cut = timeless(position.key, position.value) if position.topic == topics.INVENTORY and position.value else None
        content = None if cut is None else known.records.get(cut.digest)
        is_known = content is not None and known.has(content.subject, content.digest)
        if cut is not None and content is not None and is_known and _is_in_time(cut, position, believed):
            yield _Row(Placed(_envelope(content, cut.at_ms), position), content, cut.digest)
            continue
        for thin in thin_rows(position, believed):
            if thin.kind in KINDS:
                shown = thin if thin.kind != "state" else thin._replace(content=None, record=essence(thin.record or ""))
                yield _Row(Placed(shown, position), None, cut.digest if cut and cut.at_ms == thin.at_ms else None)


def _is_in_time(cut: Timeless, position: Position, believed: Belief) -> bool:
    _, is_ahead = effective_ms(cut.at_ms, position.kafka_timestamp_ms, believed.clock_skew_ms)
    return not is_ahead


def _envelope(content: Content, at_ms: int) -> Thin:
    """Return the thin row of a listing without its content."""
    subject, collector, listed, digest = content
    about = {"collector": collector, "part": 0, "parts": 1, "topic": subject.topic, "listed": listed}
    body, text = msgspec.json.encode(about).decode(), digest.hex()
    if subject.topic is None:
        names = subject.cluster, str(subject.broker), subject.log_dir or ""
        spoken_of = listing_identity(names, collector, at_ms, 0)
        return Thin("replicas", subject.cluster, spoken_of, 0, at_ms, *subject[1:3], body, text)
    spoken_of = listing_identity((subject.cluster, subject.topic), collector, at_ms, 0)
    return Thin("topic", subject.cluster, spoken_of, 0, at_ms, content=body, record=text)


def _without_known(rows: Iterator[_Row], known: Known) -> Iterator[_Row]:
    """Yield the rows, those of listings with their content, and the known ones as envelopes."""
    waiting: list[tuple[_Row, ReplicasRecord | TopicRecord]] = []
    items = 0
    for row in rows:
        record = None if row.content is not None else _listing(row.placed.thin)
        if record is None or record.parts != 1:
            yield row._replace(timeless=None) if row.content is None else row
            continue
        waiting.append((row, record))
        items += len(record.replicas if isinstance(record, ReplicasRecord) else record.partitions)
        if items > MOST_ITEMS:
            yield from _with_content(waiting, known)
            waiting, items = [], 0
    yield from _with_content(waiting, known)


def _listing(thin: Thin) -> ReplicasRecord | TopicRecord | None:
    if thin.kind == "replicas":
        return _REPLICAS.decode(thin.body or "")
    return _TOPIC.decode(thin.body or "") if thin.kind == "topic" else None


def _with_content(waiting: list[tuple[_Row, ReplicasRecord | TopicRecord]], known: Known) -> Iterator[_Row]:
    log_dirs = [(row, record) for row, record in waiting if isinstance(record, ReplicasRecord)]
    of_topics = [(row, record) for row, record in waiting if isinstance(record, TopicRecord)]
    for (row, record), digest in zip(log_dirs, replicas_digests([each.replicas for _, each in log_dirs]), strict=True):
        subject = Subject(record.cluster, record.broker, record.log_dir)
        yield _shown(row, Content(subject, record.collector, len(record.replicas), digest), known)
    for (row, topic), digest in zip(of_topics, partitions_digests([each for _, each in of_topics]), strict=True):
        subject = Subject(topic.cluster, topic=topic.topic)
        yield _shown(row, Content(subject, topic.collector, len(topic.partitions), digest), known)


def _shown(row: _Row, content: Content, known: Known) -> _Row:
    thin, position = row.placed
    is_known = known.has(content.subject, content.digest)
    placed = Placed(_envelope(content, thin.at_ms), position) if is_known else row.placed
    return _Row(placed, content, row.timeless)


Digests: TypeAlias = Mapping[Subject, bytes]

MOST_ROWS = 20_000
"""The number of replicas, and of partitions, up to which nothing is recognized."""
MOST_TABLE_BYTES = 512 << 20
"""The size of the files of a table that the driver reads whole."""

_OF_LOG_DIRS = ("cluster", "broker", "log_dir", *OF_REPLICA, "is_leader")
_OF_TOPICS = ("cluster", "topic", *OF_TOPIC_STATE)


@dataclass
class Trust:
    """The versions of the tables of which the digests are known; a version that another writer made has none.

    With ``is_derived`` every row of ``replica_state`` is what was derived from the others.
    """

    replicas: Version
    partitions: Version
    is_derived: bool = False
    _contents: dict[Subject, tuple[bytes, Content]] = field(default_factory=dict)
    _of_replicas: tuple[Version, Digests] | None = None
    _of_partitions: tuple[Version, Digests] | None = None
    _has_strays: bool = True

    def known(self, tables: Tables) -> Known:
        """Return what is known of the stored rows. Raises RowsChangedError if another writer changed them."""
        replicas, partitions = (tables.direct(table, MOST_TABLE_BYTES) for table in (REPLICA_STATE, TOPIC_STATE))
        for opened in (replicas, partitions):
            self._check(opened)
        if self._of_replicas is None or self._of_replicas[0] != self.replicas:
            rows = read_columns(replicas, _OF_LOG_DIRS).rows
            self._has_strays = rows.column("is_leader").null_count > 0
            self._of_replicas = self.replicas, stored_replicas(rows)
        if self._of_partitions is None or self._of_partitions[0] != self.partitions:
            self._of_partitions = self.partitions, stored_partitions(read_columns(partitions, _OF_TOPICS).rows)
        stored = {**self._of_replicas[1], **self._of_partitions[1]}
        about = self._contents.items()
        self._contents = {key: each for key, each in about if stored.get(key, NO_ROWS) == each[1].digest}
        return Known(stored, dict(self._contents.values()))

    def remember(self, records: Mapping[bytes, Content]) -> None:
        """Remember by which bytes the content of each subject's last record is recognized."""
        self._contents.update({content.subject: (digest, content) for digest, content in records.items()})

    def check(self, target: Target) -> Version:
        """Return the version of a table. Raises RowsChangedError if another writer changed its rows."""
        if not isinstance(target, ByDriver):
            raise RowsChangedError(f"{target.table.name}: Spark reads it")
        return self._check(target.opened)

    def _check(self, opened: DirectTable) -> Version:
        if not opened.has_rows_of(self.replicas if opened.table is REPLICA_STATE else self.partitions):
            raise RowsChangedError(f"{opened.table.name}: another writer changed it")
        return opened.version

    @property
    def has_strays(self) -> bool:
        """Whether there are stored replicas of unknown partitions."""
        return self._has_strays


def trust(tables: Tables) -> Trust | None:
    """Return the trust in tables as they are; None if they are small, or only Spark can write them."""
    try:
        replicas, partitions = (tables.direct(table, MOST_TABLE_BYTES) for table in (REPLICA_STATE, TOPIC_STATE))
    except NotDirectError:
        return None
    if not any(table.has_more_rows(MOST_ROWS) for table in (replicas, partitions)):
        return None
    return Trust(replicas.version, partitions.version)
