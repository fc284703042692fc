"""The newest version of a table, found again from batch to batch without listing its log."""

import shutil

import pytest

from logdirwatch.store.delta_log.entries import file_name
from logdirwatch.store.direct.arrow import arrow_rows
from logdirwatch.store.direct.newest import Newest, NotDirectError
from logdirwatch.store.direct.table import ConflictError, DirectTable
from logdirwatch.store.storage.local import LocalFolder
from tests.unit.store.direct.test_table import FIELDS, TABLE, created, folder, guest  # noqa: F401 - a fixture


class Counted(LocalFolder):
    """A folder that counts how often it is listed."""

    listed = 0

    def sizes(self, folder):  # noqa: F811
        self.listed += 1
        return super().sizes(folder)


@pytest.fixture
def newest(folder):  # noqa: F811
    return Newest(Counted(str(folder)), TABLE)


def add(newest, name):
    DirectTable(newest).commit([arrow_rows(TABLE, [guest(name)])])


def names(table):
    return sorted(row["guest"] for row in table.read(table.all_files()).to_pylist())


def test_batches_list_no_log(newest):
    for number in range(8):
        add(newest, str(number))
        assert names(DirectTable(newest)) == [str(each) for each in range(number + 1)]
    assert newest.folder.listed == 1


def test_commits_of_other_writers_are_seen(newest, folder):  # noqa: F811
    add(newest, "ada")
    for name in ("bob", "cyd"):
        add(Newest(LocalFolder(str(folder)), TABLE), name)
    assert names(DirectTable(newest)) == ["ada", "bob", "cyd"]


def test_a_table_that_was_opened_stays_as_it_was(newest):
    before = DirectTable(newest)
    add(newest, "ada")
    after = DirectTable(newest)
    assert (names(before), names(after)) == ([], ["ada"])
    with pytest.raises(ConflictError):
        before.commit([arrow_rows(TABLE, [guest("bob")])])
    assert names(DirectTable(newest)) == ["ada"]


@pytest.mark.parametrize("commits", [0, 1, 3])
def test_a_table_that_was_made_again_is_read_anew(newest, folder, commits):  # noqa: F811
    add(newest, "ada")
    first = DirectTable(newest).version
    shutil.rmtree(folder)
    folder.mkdir()
    created(folder, FIELDS)
    for number in range(commits):
        add(Newest(LocalFolder(str(folder)), TABLE), str(number))
    table = DirectTable(newest)
    assert names(table) == [str(number) for number in range(commits)]
    assert (table.version.number, first.number) == (commits, 1)
    add(newest, "x")
    assert (folder / file_name(commits + 1)).exists()


def test_a_table_that_is_gone_is_for_spark_and_may_come_back(newest, folder):  # noqa: F811
    add(newest, "ada")
    folder.rename(folder.with_name("away"))
    with pytest.raises(NotDirectError, match="it does not exist"):
        DirectTable(newest)
    folder.with_name("away").rename(folder)
    assert names(DirectTable(newest)) == ["ada"]
