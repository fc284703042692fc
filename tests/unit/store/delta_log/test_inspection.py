"""Damaged logs and tables with features: what every reader says of them, and that a complete log is read."""

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from logdirwatch.cli.reading.tables.delta_files import DeltaFiles
from logdirwatch.errors import UserError
from logdirwatch.store.delta_log.entries import FOLDER, file_name
from logdirwatch.store.delta_log.inspection import (
    READABLE,
    DamagedLogError,
    features_beyond_deltalake,
    log_files,
    read_log,
)
from logdirwatch.store.direct.newest import Newest, NotDirectError
from logdirwatch.store.schema.definitions import BROKER_STATE
from logdirwatch.store.storage.local import LocalFolder
from tests.support.delta import Written

TABLE, VERSIONS = "broker_state", 4
NEWEST = VERSIONS - 1


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A table with a version for each of its brokers."""
    root = tmp_path_factory.mktemp("tables")
    for number in range(VERSIONS):
        Written(root).write(TABLE, {"cluster": "prod", "broker": number, "status": "online", "at_ms": number})
    return root


@pytest.fixture
def root(written, tmp_path):
    return shutil.copytree(written, tmp_path / "tables")


def entry(root, version=NEWEST):
    return root / TABLE / file_name(version)


def brokers(root):
    return sorted(row["broker"] for row in DeltaFiles(str(root)).select(TABLE, "SELECT broker FROM t"))


def check_pointed(root):
    """Write a checkpoint of the newest version, and return its file."""
    DeltaTable(root / TABLE).create_checkpoint()
    (path,) = (root / TABLE / "_delta_log").glob("*.checkpoint.parquet")
    return path


def cut(path, size_bytes=None, lines=None):
    whole = path.read_bytes()
    path.write_bytes(whole[:size_bytes] if lines is None else b"".join(whole.splitlines(keepends=True)[:lines]))


def without_entries(root):
    for version in range(VERSIONS):
        entry(root, version).unlink()


def rewritten(path, rows):
    pq.write_table(pq.read_table(path).slice(0, rows), path)


def redefined(root, old, new):
    """Change the schema in the first entry, as another writer does in a later one."""
    path = entry(root, 0)
    path.write_text(path.read_text().replace(old, new))


HINT = "_delta_log/_last_checkpoint"
DAMAGE = {
    "the newest entry is empty": (lambda root: cut(entry(root), 0), f"entry {file_name(3)} is empty"),
    "the newest entry is zeros": (
        lambda root: entry(root).write_bytes(bytes(entry(root).stat().st_size)),
        f"entry {file_name(3)} contains no action",
    ),
    "the newest entry is cut within a line": (lambda root: cut(entry(root), -40), f"entry {file_name(3)} is cut or"),
    "the newest entry is cut after a line": (lambda root: cut(entry(root), lines=1), f"entry {file_name(3)} is cut: "),
    "the two newest entries are empty": (
        lambda root: [cut(entry(root, version), 0) for version in (2, 3)],
        f"entry {file_name(2)} is empty",
    ),
    "an entry in between is empty": (lambda root: cut(entry(root, 1), 0), f"entry {file_name(1)} is empty"),
    "an entry in between is missing": (lambda root: entry(root, 2).unlink(), f"entry {file_name(2)} is missing"),
    "the first entry is missing": (lambda root: entry(root, 0).unlink(), f"entry {file_name(0)} is missing"),
    "the first entry is cut after a line": (lambda root: cut(entry(root, 0), lines=1), f"entry {file_name(0)} is cut"),
    "all entries are missing": (without_entries, "no entries in _delta_log"),
    "the checkpoint is cut": (lambda root: cut(check_pointed(root), 100), "003.checkpoint.parquet is cut or damaged"),
    "the checkpoint is empty": (lambda root: cut(check_pointed(root), 0), "003.checkpoint.parquet is cut or damaged"),
    "the checkpoint is missing": (
        lambda root: check_pointed(root).unlink(),
        "checkpoint of version 3, which _delta_log/_last_checkpoint names, or a part of it, is missing",
    ),
    "the checkpoint has no row": (
        lambda root: rewritten(check_pointed(root), 0),
        "003.checkpoint.parquet contains no action",
    ),
    "a part of the checkpoint is missing": (
        lambda root: (path := check_pointed(root)).rename(
            path.with_name(f"{NEWEST:020}.checkpoint.{1:010}.{2:010}.parquet")
        ),
        "checkpoint of version 3, which _delta_log/_last_checkpoint names, or a part of it, is missing",
    ),
    "the checkpoint is cut and the entries have expired": (
        lambda root: (cut(check_pointed(root), 100), without_entries(root)),
        "003.checkpoint.parquet is cut or damaged",
    ),
}
HARMLESS = {
    "nothing": lambda _: None,
    "entries before the checkpoint have expired": lambda root: (check_pointed(root), without_entries(root)),
    "an entry before the checkpoint is cut": lambda root: (check_pointed(root), cut(entry(root, 1), 5)),
    "the hint is empty": lambda root: (check_pointed(root), (root / TABLE / HINT).write_bytes(b"")),
    "the hint is cut": lambda root: (check_pointed(root), cut(root / TABLE / HINT, 5)),
    "the hint is zeros": lambda root: (check_pointed(root), (root / TABLE / HINT).write_bytes(bytes(40))),
    "the hint is no object": lambda root: (check_pointed(root), (root / TABLE / HINT).write_text("[1]")),
    "a part of an older checkpoint is missing": lambda root: (
        root / TABLE / "_delta_log" / f"{1:020}.checkpoint.{1:010}.{2:010}.parquet"
    ).write_bytes(b""),
    "a writer was killed": lambda root: (root / TABLE / "entry-1.tmp").write_bytes(b"{"),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_damage_of_the_log_names_the_file_for_readers_and_writers(root, case):
    damage, reason = DAMAGE[case]
    damage(root)
    with pytest.raises(UserError) as read:
        brokers(root)
    with pytest.raises(UserError) as written:
        Newest(LocalFolder(str(root / TABLE)), BROKER_STATE).snapshot()
    for error in map(str, (read.value, written.value)):
        assert "cannot be read: its log is damaged: " in error
        assert reason in error
        assert "\n" not in error


def test_a_checkpoint_without_the_definition_of_the_table_is_named(root):
    rewritten(check_pointed(root), 2)
    with pytest.raises(UserError, match=r"damaged: no action \w+ in _delta_log/0*3\.checkpoint\.parquet"):
        brokers(root)


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        ('\\"broker\\"', '\\"brokr\\"', "it has no column broker"),
        (
            '\\"broker\\",\\"type\\":\\"integer',
            '\\"broker\\",\\"type\\":\\"string',
            "its column broker is string, not int",
        ),
        (
            '\\"at_ms\\",\\"type\\":\\"long',
            '\\"at_ms\\",\\"type\\":\\"timestamp',
            "its column at_ms is timestamp, not bigint",
        ),
    ],
)
def test_a_column_that_another_program_changed_is_named_and_is_no_damage(root, old, new, change):
    redefined(root, old, new)
    for read in (lambda files: files.select(TABLE, "SELECT broker FROM t"), lambda files: files.rows(TABLE)):
        with pytest.raises(UserError, match=f"is not as logdirwatch wrote it: {change};") as error:
            list(read(DeltaFiles(str(root))))
        assert "rebuild" not in str(error.value)


def test_a_column_of_the_key_that_nobody_asks_for_may_be_missing(root):
    redefined(root, r"\"cluster\"", r"\"klaster\"")
    assert brokers(root) == list(range(VERSIONS))


def test_a_wider_number_and_a_column_of_another_release_are_no_change(root):
    redefined(root, '\\"broker\\",\\"type\\":\\"integer', '\\"broker\\",\\"type\\":\\"long')
    redefined(root, '\\"host\\"', '\\"of_a_later_release\\"')
    assert brokers(root) == list(range(VERSIONS))


@pytest.mark.parametrize("case", HARMLESS)
def test_what_is_not_needed_of_a_log_may_be_gone_or_damaged(root, case):
    HARMLESS[case](root)
    assert brokers(root) == list(range(VERSIONS))


@pytest.mark.parametrize("change", [lambda path: path.unlink(), lambda path: cut(path, 0), lambda path: cut(path, 90)])
def test_a_damaged_data_file_is_named(root, change):
    path = next((root / TABLE).glob("*.parquet"))
    change(path)
    with pytest.raises(UserError, match=f"cannot be read: its file {path.name} is damaged or gone"):
        brokers(root)


def with_protocol(root, protocol, configuration=()):
    actions = [json.loads(line) for line in entry(root, 0).read_text().splitlines()]
    for action in actions:
        if "protocol" in action:
            action["protocol"] = protocol
        if "metaData" in action:
            action["metaData"]["configuration"].update(configuration)
    entry(root, 0).write_text("\n".join(map(json.dumps, actions)))


FEATURES = (
    *("typeWidening", "typeWidening-preview", "catalogManaged", "catalogOwned-preview", "vacuumProtocolCheck"),
    *("variantShredding-preview", "aFeatureOfTheFuture"),
)


def of_features(*names):
    return {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": names, "writerFeatures": names}


@pytest.mark.parametrize("feature", FEATURES)
def test_a_feature_that_deltalake_lacks_is_named_and_is_no_damage(root, feature):
    with_protocol(root, of_features(feature, "timestampNtz"))
    with pytest.raises(UserError) as ended:
        brokers(root)
    error = str(ended.value)
    assert f"is complete, but it has table features that this program's reader (deltalake) lacks: {feature};" in error
    assert not any(word in error for word in ("damaged", "rebuild", "restore", "timestampNtz"))
    with pytest.raises(NotDirectError):
        Newest(LocalFolder(str(root / TABLE)), BROKER_STATE).snapshot()


def test_a_feature_is_found_in_the_checkpoint_too(root):
    with_protocol(root, of_features("deletionVectors"))
    check_pointed(root)
    without_entries(root)
    assert features_beyond_deltalake(LocalFolder(str(root / TABLE))) == []
    assert brokers(root) == list(range(VERSIONS))


@pytest.mark.parametrize("feature", sorted(READABLE))
def test_deltalake_reads_tables_with_the_features_that_it_is_said_to_have(root, feature):
    with_protocol(root, of_features(feature))
    assert brokers(root) == list(range(VERSIONS))


def test_a_later_version_of_the_protocol_is_named(root):
    with_protocol(root, {"minReaderVersion": 4, "minWriterVersion": 8})
    with pytest.raises(UserError, match=r"is complete, but .* lacks: reader version 4;"):
        brokers(root)


@pytest.mark.parametrize("protocol", [{"minReaderVersion": 1, "minWriterVersion": 9}, of_features()])
def test_what_is_asked_of_writers_hinders_no_reader(root, protocol):
    with_protocol(root, protocol)
    assert brokers(root) == list(range(VERSIONS))


def test_a_place_without_a_table_has_no_log(tmp_path):
    assert read_log(LocalFolder(str(tmp_path / "nowhere"))) is None
    (tmp_path / "_delta_log").mkdir()
    assert read_log(LocalFolder(str(tmp_path))) is None


def test_a_log_gives_the_entries_after_its_checkpoint(root):
    folder = LocalFolder(str(root / TABLE))
    assert len(read_log(folder)) == VERSIONS
    check_pointed(root)
    assert read_log(folder) == []
    Written(root).write(TABLE, {"cluster": "prod", "broker": 9})
    ((info, added),) = read_log(folder)
    assert (set(info), set(added)) == ({"commitInfo"}, {"add"})
    entry(root, VERSIONS).rename(entry(root, VERSIONS + 1))
    with pytest.raises(DamagedLogError, match=f"entry {file_name(VERSIONS)} is missing"):
        read_log(folder)


def test_the_newest_checkpoint_counts_with_all_its_parts():
    names = ["_last_checkpoint", f"{9:020}.json", f"{10:020}.json", f"{11:020}.json", f"{12:020}.crc", "0.json"]
    parts = [f"{10:020}.checkpoint.{part:010}.{2:010}.parquet" for part in (2, 1)]
    assert log_files([*names, *parts, f"{5:020}.checkpoint.parquet"]) == (10, sorted(parts), [11], True)
    assert log_files(names[1:]) == (None, [], [9, 10, 11], False)
    assert log_files([]) == (None, [], [], False)


@pytest.mark.parametrize(
    "reads", [brokers, lambda root: len(Newest(LocalFolder(str(root / TABLE)), BROKER_STATE).snapshot().files)]
)
def test_an_entry_that_a_listing_lacks_since_it_is_created_meanwhile_is_not_called_missing(root, monkeypatch, reads):
    sizes, lacking = LocalFolder.sizes, [NEWEST - 1]

    def listed(folder, name):
        found = sizes(folder, name)
        if name == FOLDER and lacking:
            del found[Path(file_name(lacking.pop())).name]
        return found

    monkeypatch.setattr(LocalFolder, "sizes", listed)
    assert reads(root)
    assert lacking == []
