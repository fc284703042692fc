"""When the rows of large tables are known to be what was derived last, and the digests of what they have.

Only then may ``store_inventory`` leave out what it recognizes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from logdirwatch.store.direct.newest import NotDirectError, Version
from logdirwatch.store.direct.rewriting import read_columns
from logdirwatch.store.direct.table import DirectTable
from logdirwatch.store.rows.content import OF_REPLICA, OF_TOPIC_STATE, Subject, stored_partitions, stored_replicas
from logdirwatch.store.rows.digests import NO_ROWS
from logdirwatch.store.schema.definitions import REPLICA_STATE, TOPIC_STATE
from logdirwatch.store.writing.direct import Open
from logdirwatch.store.writing.direct_inventory import MOST_ROWS
from logdirwatch.store.writing.recognition import Content, Known

Versions: TypeAlias = tuple[Version, Version]
"""Those of ``replica_state`` and of ``topic_state``."""
Digests: TypeAlias = Mapping[Subject, bytes]

MOST_TABLE_BYTES = 512 << 20
"""The size of the files of a table that the driver reads whole."""

_OF_LOG_DIRS = ("cluster", "broker", "log_dir", *OF_REPLICA, "is_leader")
_OF_TOPICS = ("cluster", "topic", *OF_TOPIC_STATE)


@dataclass
class Trust:
    """The versions of the tables in which every row of ``replica_state`` is what was derived from the others.

    Digests of stored rows are only compared in these versions; a version that another writer made has none.
    """

    replicas: Version
    partitions: Version
    _contents: dict[Subject, tuple[bytes, Content]] = field(default_factory=dict)
    _of_replicas: tuple[Version, Digests] | None = None
    _of_partitions: tuple[Version, Digests] | None = None
    _has_strays: bool = True

    def known(self, opened: Open) -> Known:
        """Return what is known of the stored rows. Raises NotDirectError if another writer changed them."""
        replicas, partitions = opened(REPLICA_STATE), opened(TOPIC_STATE)
        self.check(replicas, partitions)
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

    def check(self, *tables: DirectTable) -> None:
        """Raise NotDirectError if another writer changed the rows of the tables."""
        for opened in tables:
            earlier = self.replicas if opened.table is REPLICA_STATE else self.partitions
            if not opened.has_rows_of(earlier):
                raise NotDirectError(f"{opened.table.name}: another writer changed it")

    @property
    def has_strays(self) -> bool:
        """Whether there are stored replicas of unknown partitions."""
        return self._has_strays


def versions(opened: Open) -> Versions:
    """Return the versions of the tables on which ``Trust`` depends."""
    return opened(REPLICA_STATE).version, opened(TOPIC_STATE).version


def trust(opened: Open, before: Versions, signature: str) -> Trust | None:
    """Return the trust in tables after everything was derived and written with a signature; None for small tables.

    There is none if another writer wrote since ``before``, either: what was derived may be from earlier rows.
    """
    tables = opened(REPLICA_STATE), opened(TOPIC_STATE)
    if not any(table.has_more_rows(MOST_ROWS) for table in tables):
        return None
    if not all(table.is_signed_since(earlier, signature) for table, earlier in zip(tables, before, strict=True)):
        return None
    return Trust(tables[0].version, tables[1].version)
