"""A table that the driver reads and writes, in a folder."""

import json

import pyarrow.parquet as pq
import pytest

from logdirwatch import __version__
from logdirwatch.store import first_version, tables
from logdirwatch.store.delta_log.entries import complete_actions, encoded, file_name
from logdirwatch.store.direct.arrow import arrow_rows, statistics
from logdirwatch.store.direct.merge import Rewrite, rewrite
from logdirwatch.store.direct.newest import Newest, NotDirectError
from logdirwatch.store.direct.table import ConflictError, DirectTable
from logdirwatch.store.schema.columns import Table, columns
from logdirwatch.store.settings import MaintainSettings
from logdirwatch.store.storage.local import LocalFolder
from logdirwatch.store.tables import kept_properties

TABLE = Table(
    "guests",
    "Guests",
    columns("""
        guest     string  Name
        sequence  bigint  Newest visit
        room      string  Where
        since_ms  bigint  When
    """),
    key=("guest",),
    clustered_by=("guest",),
    time="since_ms",
)
TYPES = {"bigint": "long"}
FIELDS = [
    {"name": each.name, "type": TYPES.get(each.kind, each.kind), "nullable": True, "metadata": {"comment": "c"}}
    for each in TABLE.columns
]


SCHEMA = json.dumps({"type": "struct", "fields": FIELDS})


@pytest.fixture
def folder(tmp_path):
    return created(tmp_path, FIELDS)


def created(folder, fields, properties=()):
    schema = json.dumps({"type": "struct", "fields": fields})
    put(folder, 0, first_version.actions(TABLE, schema, dict(properties), "an-id", 1))
    return folder


def put(folder, version, actions):
    assert LocalFolder(str(folder)).create(file_name(version), encoded(actions))


def opened(folder):
    return DirectTable(Newest(LocalFolder(str(folder)), TABLE))


def add(folder, *rows):
    opened(folder).commit([arrow_rows(TABLE, rows)])


def rows(folder):
    table = opened(folder)
    return sorted(table.read(table.all_files()).to_pylist(), key=str)


def guest(name, sequence=1, room="a", since_ms=5):
    return {"guest": name, "sequence": sequence, "room": room, "since_ms": since_ms}


def test_what_is_committed_is_read_and_its_times_are_known(folder):
    add(folder, guest("ada", since_ms=5), guest("bob", since_ms=9))
    assert rows(folder) == [guest("ada", since_ms=5), guest("bob", since_ms=9)]
    assert [(file.from_ms, file.to_ms) for file in opened(folder).files()] == [(5, 9)]


def test_the_second_of_two_writers_of_a_version_writes_nothing(folder):
    first, second = opened(folder), opened(folder)
    first.commit([arrow_rows(TABLE, [guest("ada")])])
    with pytest.raises(ConflictError):
        second.commit([arrow_rows(TABLE, [guest("bob")])])
    assert rows(folder) == [guest("ada")]
    assert len(list(folder.glob("*.parquet"))) == 1


def test_a_merge_replaces_only_files_with_changed_rows(folder):
    add(folder, guest("ada"), guest("bob"), guest("cyd"))
    add(folder, guest("dan"))
    (first, second) = sorted(opened(folder).files(), key=lambda file: file.size_bytes, reverse=True)
    changes = Rewrite(arrow_rows(TABLE, [guest("ada", 2), guest("eve")]), {("ada",), ("cyd",)})
    rewrite(opened(folder), lambda _: changes, ("sequence",))
    assert rows(folder) == [guest("ada", 2), guest("bob"), guest("dan"), guest("eve")]
    paths = {file.path for file in opened(folder).files()}
    assert second.path in paths
    assert first.path not in paths


def test_a_rewrite_replaces_columns_of_rows_that_stay(folder):
    add(folder, guest("ada"), guest("bob"), guest("cyd"))
    add(folder, guest("dan"))
    found, new = [], arrow_rows(TABLE, [guest("ada", 2)])
    changes = Rewrite(new, {("ada",), ("dan",)}, {("bob",): {"room": "b"}})
    rewrite(opened(folder), lambda stored: found.append(stored) or changes, ("sequence",))
    assert [stored.column_names for stored in found] == [["guest", "sequence"]]
    assert rows(folder) == [guest("ada", 2), guest("bob", room="b"), guest("cyd")]


def test_a_file_of_which_nothing_stays_is_not_read_again(folder, monkeypatch):
    add(folder, guest("ada"), guest("bob"))
    read, seen = DirectTable.read, []
    monkeypatch.setattr(DirectTable, "read", lambda self, *args: seen.append(args[1:2]) or read(self, *args))
    changes = Rewrite(arrow_rows(TABLE, [guest("ada", 2)]), {("ada",), ("bob",)})
    rewrite(opened(folder), lambda _: changes, ("sequence",))
    assert () not in seen, "only columns were read"
    assert rows(folder) == [guest("ada", 2)]


def test_a_rewrite_may_leave_all_as_it_is(folder):
    add(folder, guest("ada"))
    rewrite(opened(folder), lambda _: Rewrite(arrow_rows(TABLE, []), set()), ("sequence", "room"))
    assert not (folder / file_name(2)).exists()


def test_the_log_is_check_pointed_and_needs_no_entry_before(folder):
    for number in range(10):
        add(folder, guest(str(number)))
    for version in range(10):
        (folder / file_name(version)).unlink()
    add(folder, guest("x"))
    assert [row["guest"] for row in rows(folder)] == [*map(str, range(10)), "x"]


FEATURES = ["domainMetadata", "clustering", "invariants", "appendOnly"]


@pytest.mark.parametrize(
    ("protocol", "metadata", "fields", "reason"),
    [
        ({"minWriterVersion": 2, "writerFeatures": None}, {}, FIELDS, None),
        ({"minWriterVersion": 4, "writerFeatures": None}, {}, FIELDS, "other protocol"),
        ({"minReaderVersion": 2, "minWriterVersion": 5, "writerFeatures": None}, {}, FIELDS, "other protocol"),
        ({"writerFeatures": [*FEATURES, "changeDataFeed"]}, {}, FIELDS, "features changeDataFeed"),
        ({}, {"partitionColumns": ["room"]}, FIELDS, "deletion vectors or partitions"),
        ({}, {"configuration": {"delta.enableDeletionVectors": "true"}}, FIELDS, "deletion vectors or partitions"),
        ({}, {"configuration": {"delta.appendOnly": "true"}}, FIELDS, "properties delta.appendOnly"),
        ({}, {"configuration": {"delta.constraints.x": "true"}}, FIELDS, "properties delta.constraints.x"),
        ({}, {}, FIELDS[:2], "other columns"),
        ({}, {}, [*FIELDS[:3], {**FIELDS[3], "nullable": False}], "other columns"),
        ({}, {}, [*FIELDS[:3], {**FIELDS[3], "metadata": {"delta.invariants": "x"}}], "other columns"),
        ({}, {}, [*FIELDS[:3], {**FIELDS[3], "metadata": {}}], None),
    ],
)
def test_a_table_that_asks_more_of_a_writer_is_for_spark(tmp_path, protocol, metadata, fields, reason):
    schema = json.dumps({"type": "struct", "fields": fields})
    info, about, needed, _ = first_version.actions(TABLE, schema, {}, "an-id", 1)
    needed = {name: value for name, value in {**needed["protocol"], **protocol}.items() if value is not None}
    put(tmp_path, 0, [info, {"metaData": {**about["metaData"], **metadata}}, {"protocol": needed}])
    if reason is None:
        assert opened(tmp_path).files() == ()
        return
    with pytest.raises(NotDirectError, match=f"^guests: {reason}$"):
        opened(tmp_path)


def test_a_table_with_the_properties_that_every_table_gets_is_written_directly(tmp_path):
    kept = kept_properties(TABLE, MaintainSettings(deleted_files_ms=60_000, table_log_ms=120_000))
    assert kept == {
        "delta.dataSkippingStatsColumns": ",".join(TABLE.sought_by),
        "delta.deletedFileRetentionDuration": "interval 60 seconds",
        "delta.logRetentionDuration": "interval 120 seconds",
    }
    others = {"delta.checkpointInterval": "10", "delta.enableDeletionVectors": "false"}
    opened(created(tmp_path, FIELDS, {**tables.PROPERTIES, **kept, **others})).commit(
        [arrow_rows(TABLE, [guest("ada")])]
    )
    assert rows(tmp_path) == [guest("ada")]


def test_files_that_are_too_large_are_for_spark(folder, monkeypatch):
    add(folder, guest("ada"))
    monkeypatch.setattr("logdirwatch.store.direct.table.MOST_BYTES", 100)
    with pytest.raises(NotDirectError):
        opened(folder).all_files()


@pytest.mark.parametrize("loser", [0, 1])
def test_a_commit_whose_outcome_nobody_knows_leaves_its_files(folder, monkeypatch, loser):
    """The entry may have arrived: without its file the table could not be read. VACUUM deletes what is not in use."""
    create = LocalFolder.create

    def lost(self, name, data):
        if not loser:
            create(self, name, data)
        raise TimeoutError

    table = opened(folder)
    with monkeypatch.context() as patched:
        patched.setattr(LocalFolder, "create", lost)
        with pytest.raises(TimeoutError):
            table.commit([arrow_rows(TABLE, [guest("ada")])])
    assert rows(folder) == ([] if loser else [guest("ada")])
    assert len(list(folder.glob("*.parquet"))) == 1


def test_two_equal_commits_are_two_writers(folder, monkeypatch):
    """An entry that is found in place of one's own is one's own only if nobody else can write the same."""
    monkeypatch.setattr("logdirwatch.store.direct.table.wall_ms", lambda: 1)
    first, second = opened(folder), opened(folder)
    first.commit([])
    with pytest.raises(ConflictError):
        second.commit([])
    assert opened(folder).version.number == 1


def test_a_commit_is_written_as_deltas_protocol_says(folder, monkeypatch):
    for name in ("ada", "bob"):
        add(folder, guest(name))
    monkeypatch.setattr("logdirwatch.store.direct.table.wall_ms", lambda: 17)
    before = opened(folder).files()
    opened(folder).commit([arrow_rows(TABLE, [guest("eve")]), arrow_rows(TABLE, [])], before)
    info, added, *removed = complete_actions((folder / file_name(3)).read_bytes())
    assert len(info["commitInfo"].pop("txnId")) == 36
    assert info["commitInfo"] == {
        "timestamp": 17,
        "operation": "MERGE",
        "operationParameters": {},
        "readVersion": 2,
        "isolationLevel": "Serializable",
        "isBlindAppend": False,
        "operationMetrics": {"numTargetFilesAdded": "1", "numTargetFilesRemoved": "2"},
        "engineInfo": f"logdirwatch/{__version__}",
    }
    (file,) = opened(folder).files()
    about = {"partitionValues": {}, "dataChange": True}
    stats = statistics(arrow_rows(TABLE, [guest("eve")]), TABLE.sought_by)
    assert added["add"] == {**about, "path": file.path, "size": file.size_bytes, "modificationTime": 17, "stats": stats}
    assert file.size_bytes == (folder / file.path).stat().st_size
    gone = {**about, "deletionTimestamp": 17, "extendedFileMetadata": True}
    assert [action["remove"] for action in removed] == [
        {**gone, "path": file.path, "size": file.size_bytes} for file in before
    ]
    assert pq.ParquetFile(folder / file.path).metadata.row_group(0).column(0).compression == "ZSTD"


def test_the_log_is_check_pointed_before_its_entries_are_deleted(folder, monkeypatch):
    flushed = []
    monkeypatch.setattr(LocalFolder, "flush", lambda _, names: flushed.extend(names))
    for number in range(10):
        add(folder, guest(str(number)))
    assert flushed == [f"_delta_log/{10:020}.checkpoint.parquet"]


def test_checkpoints_are_as_frequent_as_the_table_says(tmp_path):
    folder = created(tmp_path, FIELDS, {"delta.checkpointInterval": "3"})
    for number in range(7):
        add(folder, guest(str(number)))
    found = sorted(path.name for path in (folder / "_delta_log").glob("*.checkpoint.parquet"))
    assert found == [f"{3:020}.checkpoint.parquet", f"{6:020}.checkpoint.parquet"]


def test_a_failed_checkpoint_fails_no_commit(folder, monkeypatch):
    def fails(*_):
        raise OSError("no space")

    for number in range(9):
        add(folder, guest(str(number)))
    table = opened(folder)
    with monkeypatch.context() as patched:
        patched.setattr(LocalFolder, "sizes", fails)
        table.commit([arrow_rows(TABLE, [guest("x")])])
    assert len(rows(folder)) == 10
