"""Changes to a large table: rows as columns, and a file for each file with changed rows."""

import pyarrow.parquet as pq
import pytest

from logdirwatch.store.delta_log.entries import file_name
from logdirwatch.store.direct.merge import Changes
from logdirwatch.store.direct.rewriting import places_of, read_columns, replace, replacement
from logdirwatch.store.direct.table import ConflictError
from tests.unit.store.direct.test_table import TABLE, add, folder, guest, opened, put, rows  # noqa: F401 - a fixture

EVERYBODY = range(4)


@pytest.fixture
def guests(folder):  # noqa: F811
    add(folder, guest("ada"), guest("bob"), guest("cyd"))
    add(folder, guest("dan"))
    return folder


def change(folder, changes, places=EVERYBODY):  # noqa: F811
    table, seen = opened(folder), []
    columns = read_columns(table)
    replace(table, columns, replacement(TABLE, columns, [(places, lambda stored: seen.append(stored) or changes)]))
    return seen[0]


def test_each_file_with_changed_rows_is_replaced_by_one_of_its_own(guests):
    (untouched,) = [file.path for file in opened(guests).files() if file.rows == 1]
    written = {("ada",): guest("ada", 2, room="x"), ("eve",): guest("eve")}
    change(guests, Changes(written, deleted={("cyd",)}))
    assert rows(guests) == [guest("ada", 2, room="x"), guest("bob"), guest("dan"), guest("eve")]
    assert sorted(file.rows for file in opened(guests).files()) == [1, 1, 2]
    assert untouched in {file.path for file in opened(guests).files()}
    change(guests, Changes({("dan",): guest("dan", 3), ("bob",): guest("bob", 3)}))
    assert rows(guests)[1:3] == [guest("bob", 3), guest("dan", 3)]


def test_who_decides_sees_the_chosen_rows_and_nothing_is_written_without_changes(guests):
    table = opened(guests)
    chosen = places_of(read_columns(table).rows, ("guest", "sequence"), {("bob", 1), ("dan", 1), ("ada", 2), ("x", 1)})
    assert change(guests, Changes(), chosen) == {(name,): guest(name) for name in ("bob", "dan")}
    assert not table.files() or opened(guests).version == table.version


def test_a_table_without_rows_can_be_changed(folder):  # noqa: F811
    change(folder, Changes({("ada",): guest("ada")}), ())
    assert rows(folder) == [guest("ada")]
    change(folder, Changes(deleted={("ada",)}), (0,))
    assert rows(folder) == []
    assert places_of(read_columns(opened(folder)).rows, ("guest",), {("ada",)}) == []


def test_a_column_that_a_file_lacks_is_null_and_files_name_no_dictionary(guests):
    add(guests, guest("eve"))
    (path,) = [guests / file.path for file in opened(guests).files() if file.rows == 1][-1:]
    pq.write_table(pq.read_table(path).drop_columns(["room"]), path)
    lacks = {row["guest"]: row["room"] for row in read_columns(opened(guests)).rows.to_pylist()}
    assert sorted(lacks.values(), key=str) == [None, "a", "a", "a", "a"]
    change(guests, Changes({("ada",): guest("ada", 2)}), range(5))
    kinds = {str(pq.read_schema(guests / file.path).field("guest").type) for file in opened(guests).files()}
    assert kinds == {"string"}


def test_the_second_of_two_writers_of_a_version_writes_nothing(guests):
    table = opened(guests)
    columns = read_columns(table)
    add(guests, guest("eve"))
    found = replacement(TABLE, columns, [(EVERYBODY, lambda _: Changes({("ada",): guest("ada", 2)}))])
    with pytest.raises(ConflictError):
        replace(table, columns, found)
    assert guest("ada") in rows(guests)


def test_what_is_decided_in_parts_is_one_change(guests):
    table = opened(guests)
    columns, first, second = (
        read_columns(table),
        Changes({("ada",): guest("ada", 2)}),
        Changes({("eve",): guest("eve")}),
    )
    replace(table, columns, replacement(TABLE, columns, [((0, 1), lambda _: first), ((2,), lambda _: second)]))
    assert opened(guests).version == table.version.after(is_changed=True)
    assert rows(guests) == [guest("ada", 2), *map(guest, ("bob", "cyd", "dan", "eve"))]


@pytest.mark.parametrize("large", [2**31 - 1, 2**62])
def test_keys_with_large_numbers_are_found(guests, large):
    add(guests, guest("eve", large), guest("fay", large))
    found = places_of(read_columns(opened(guests)).rows, ("guest", "sequence"), {("eve", large), ("ada", large)})
    assert read_columns(opened(guests)).rows.take(found).column("guest").to_pylist() == ["eve"]


def entry(folder, *actions):  # noqa: F811
    put(folder, opened(folder).version.number + 1, actions)


def test_a_version_has_the_rows_of_an_earlier_one_if_files_were_only_rewritten(guests):
    before = opened(guests).version
    assert opened(guests).has_rows_of(before)
    assert not opened(guests).has_rows_of(before._replace(table_id="another"))
    assert not opened(guests).has_rows_of(before._replace(number=before.number + 1))
    file = opened(guests).files()[0]
    about = {"path": file.path, "partitionValues": {}, "size": file.size_bytes, "modificationTime": 1}
    entry(guests, {"add": {**about, "dataChange": False}}, {"commitInfo": {"operation": "OPTIMIZE"}})
    assert opened(guests).has_rows_of(before)
    again = opened(guests).version
    entry(guests, {"commitInfo": {}}, {"add": {**about, "dataChange": True}})
    assert not opened(guests).has_rows_of(again)


def test_of_an_expired_log_entry_nobody_knows_what_it_changed(guests):
    before = opened(guests).version
    for name in ("eve", "fay"):
        change(guests, Changes({(name,): guest(name)}), ())
    table = opened(guests)
    (guests / file_name(before.number + 1)).unlink()
    assert not table.has_rows_of(before)
