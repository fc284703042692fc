"""What is known of the rows of large tables, and in which versions of them: the digests of what they have.

Only then may ``store_inventory`` leave out what it recognizes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from logdirwatch.store.direct.newest import NotDirectError, RowsChangedError, Version
from logdirwatch.store.direct.rewriting import read_columns
from logdirwatch.store.direct.table import DirectTable
from logdirwatch.store.rows.content import (
    NO_ROWS,
    OF_REPLICA,
    OF_TOPIC_STATE,
    Subject,
    stored_partitions,
    stored_replicas,
)
from logdirwatch.store.schema.definitions import REPLICA_STATE, TOPIC_STATE
from logdirwatch.store.tables import Tables
from logdirwatch.store.writing.engine import ByDriver, Target
from logdirwatch.store.writing.recognition import Content, Known

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
