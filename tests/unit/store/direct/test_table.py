"""A table that the driver reads and writes: with a log store of the local disk instead of Delta's."""

import json
from pathlib import Path

import pytest
from delta.exceptions import ConcurrentWriteException

from logdirwatch.store import first_version, log_store
from logdirwatch.store.direct.arrow import arrow_rows
from logdirwatch.store.direct.merge import Changes, Rewrite, merge, rewrite
from logdirwatch.store.direct.table import DirectTable, NotDirectError
from logdirwatch.store.schema.columns import Table, columns

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


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(log_store, "write", put)
    return created(tmp_path, FIELDS)


def created(folder, fields, properties=()):
    schema = json.dumps({"type": "struct", "fields": fields})
    (folder / "_delta_log").mkdir()
    put(None, folder, 0, first_version.actions(TABLE, schema, dict(properties), "an-id", 1))
    return folder


def put(_, folder, version, lines):
    try:
        with (Path(folder) / "_delta_log" / log_store.file_name(version)).open("x") as file:
            file.write("\n".join(lines) + "\n")
    except FileExistsError:
        return False
    return True


def opened(folder):
    return DirectTable(None, folder, TABLE)


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
    with pytest.raises(ConcurrentWriteException):
        second.commit([arrow_rows(TABLE, [guest("bob")])])
    assert rows(folder) == [guest("ada")]
    assert len(list(folder.glob("*.parquet"))) == 1


def test_a_merge_replaces_only_files_with_changed_rows(folder):
    add(folder, guest("ada"), guest("bob"), guest("cyd"))
    add(folder, guest("dan"))
    (first, second) = sorted(opened(folder).files(), key=lambda file: file.size_bytes, reverse=True)
    written = {("ada",): guest("ada", 2), ("eve",): guest("eve")}
    merge(opened(folder), lambda stored: Changes(written, {("cyd",)}), ("sequence",))
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


def test_a_merge_decides_from_the_stored_rows_and_may_leave_all_as_it_is(folder):
    add(folder, guest("ada"))
    found = []
    merge(opened(folder), lambda stored: found.append(stored) or Changes(), ("sequence", "room"))
    assert found == [{("ada",): {"guest": "ada", "sequence": 1, "room": "a"}}]
    assert not (folder / "_delta_log" / log_store.file_name(2)).exists()


def test_the_log_is_check_pointed_and_needs_no_entry_before(folder):
    for number in range(10):
        add(folder, guest(str(number)))
    for version in range(10):
        (folder / "_delta_log" / log_store.file_name(version)).unlink()
    add(folder, guest("x"))
    assert [row["guest"] for row in rows(folder)] == [*map(str, range(10)), "x"]


def test_a_table_with_another_shape_is_for_spark(tmp_path):
    with pytest.raises(NotDirectError, match="other columns"):
        opened(created(tmp_path, FIELDS[:2]))


@pytest.mark.parametrize("key", ["delta.appendOnly", "delta.enableDeletionVectors", "delta.constraints.x"])
def test_a_table_with_other_properties_is_for_spark(tmp_path, key):
    with pytest.raises(NotDirectError):
        opened(created(tmp_path, FIELDS, {key: "true"}))


def test_files_that_are_too_large_are_for_spark(folder, monkeypatch):
    add(folder, guest("ada"))
    monkeypatch.setattr("logdirwatch.store.direct.table.MOST_BYTES", 100)
    with pytest.raises(NotDirectError):
        opened(folder).all_files()
