"""What is done to the files of a checkpoint before its query starts: torn, moved, or written by an older release."""

import json
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from logdirwatch.errors import UserError
from logdirwatch.jobs.checkpoint import folder, repair, unusable
from logdirwatch.jobs.checkpoint.folder import Folder, TornError
from tests.unit.jobs.checkpoint.test_torn import COMMITS, OFFSETS, SOURCES

NOW_MS = 1_700_000_000_000
CUT = "v1\n{"
BAD_SUM = "whole, but of another checksum"


class Disk:
    """A folder on the disk, without Spark's JVM."""

    def __init__(self, spark, path):
        self._path = Path(path)
        self.uri = f"file:{path}"

    def names(self):
        return [file.name for file in self._path.iterdir()] if self._path.exists() else []

    def read(self, name):
        text = (self._path / name).read_text()
        if text == BAD_SUM:
            raise TornError(name)
        return text

    def write(self, name, text):
        (self._path / name).write_text(text)

    def remove(self, name):
        (self._path / name).unlink(missing_ok=True)

    def rename(self, path):
        self._path.rename(path)


def note(place, *variables):
    state = {"stateVariables": [{"stateName": name} for name in ("$procTimers", *variables)]}
    store = {"stateSchemaFilePaths": [f"file:{place}/state/0/_stateSchema/default/0"]}
    return "v2\n" + json.dumps({"operatorPropertiesJson": json.dumps(state), "stateStoreInfo": [store]})


NOTES = "state/0/_metadata/v2"
BATCHES = ["offsets/9", "commits/9", "offsets/10", "commits/10"]


@pytest.fixture
def sound(tmp_path, monkeypatch):
    """The files of a checkpoint whose newest batch is 10, by their paths; a batch 9 comes before it, a note 3 too."""
    for module in (repair, unusable, folder, repair):
        monkeypatch.setattr(module, "Folder", Disk)
    offsets = {f"offsets/{batch}": OFFSETS for batch in (9, 10)} | {"offsets/.10.crc": "?", "offsets/11.tmp": CUT}
    commits = {f"commits/{batch}": COMMITS for batch in (9, 10)}
    notes = {f"{NOTES}/{batch}": note(tmp_path / "c", "brokers") for batch in (3, 10)} | {f"{NOTES}/.10.crc": "?"}
    return {"metadata": '{"id":"x"}', "sources/0/0": SOURCES, **offsets, **commits, **notes}


def repaired(folder, files):
    """Return what is left of the files of a checkpoint once its query may start."""
    for name, text in files.items():
        (folder / "c" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "c" / name).write_text(text)
    repair.take_back(None, str(folder / "c"), NOW_MS)
    repair.follow(None, str(folder / "c"))
    unusable.set_aside(None, str(folder / "c"), ["brokers", "due"], NOW_MS)
    return left_of(folder)


def left_of(folder):
    return {
        str(file.relative_to(folder / "c")): file.read_text() for file in (folder / "c").rglob("*") if file.is_file()
    }


def test_a_sound_checkpoint_stays_as_it_is(tmp_path, sound):
    assert repaired(tmp_path, sound) == sound


@pytest.mark.parametrize("name", ["metadata", "offsets/10", "offsets/9", "commits/10", f"{NOTES}/10"])
def test_nothing_is_removed_because_a_file_cannot_be_read(tmp_path, sound, monkeypatch, name):
    read = Disk.read

    def denied(disk, file):
        if f"{disk.uri}/{file}".endswith(f"/c/{name}"):
            raise PermissionError(name)
        return read(disk, file)

    monkeypatch.setattr(Disk, "read", denied)
    with pytest.raises(PermissionError):
        repaired(tmp_path, sound)
    assert left_of(tmp_path) == sound


def test_at_most_the_two_newest_batches_are_planned_again(tmp_path, sound):
    files = {**sound, **{f"offsets/{batch}": CUT for batch in (7, 8, 9, 10)}}
    assert repaired(tmp_path, files) == {name: text for name, text in files.items() if name not in BATCHES}


def test_a_query_that_never_started_has_nothing_to_repair(tmp_path, sound):
    assert repaired(tmp_path, {}) == {}


@pytest.mark.parametrize(
    ("torn_files", "gone"),
    [
        (["offsets/10"], ["offsets/10", "commits/10"]),
        (["offsets/10", "offsets/9"], BATCHES),
        (["commits/10"], ["commits/10"]),
        (["offsets/10", "commits/10"], ["offsets/10", "commits/10"]),
        ([f"{NOTES}/10"], [f"{NOTES}/10"]),
        ([f"{NOTES}/3"], [f"{NOTES}/3"]),
        (["commits/9"], []),
        (["sources/0/0"], []),
        (["offsets/9"], BATCHES),
        (["offsets/9", "sources/0/0"], [*BATCHES, "sources/0/0"]),
    ],
)
@pytest.mark.parametrize("text", [CUT, BAD_SUM])
def test_the_last_batches_are_planned_again_and_an_older_note_of_the_state_serves(
    tmp_path, sound, torn_files, gone, text
):
    files = {**sound, **dict.fromkeys(torn_files, text)}
    assert repaired(tmp_path, files) == {name: text for name, text in files.items() if name not in gone}


def test_a_torn_id_is_replaced_by_another(tmp_path, sound):
    found = repaired(tmp_path, {**sound, "metadata": '{"id":'})
    assert json.loads(found.pop("metadata")).keys() == {"id"}
    assert found == {name: text for name, text in sound.items() if name != "metadata"}


@pytest.mark.parametrize(
    "notes",
    [dict.fromkeys((f"{NOTES}/3", f"{NOTES}/10"), CUT), {f"{NOTES}/10": note("/c", "brokers", "of an older release")}],
    ids=["no whole note of the state", "other variables in the newest note"],
)
def test_state_that_cannot_be_read_is_set_aside_with_all_of_its_checkpoint(tmp_path, sound, notes):
    assert repaired(tmp_path, {**sound, **notes}) == {}
    assert {file.name for file in (tmp_path / f"c.{NOW_MS}").iterdir()} == {
        *("metadata", "sources", "offsets", "commits", "state")
    }


def test_an_older_note_with_other_variables_is_history(tmp_path, sound):
    files = {**sound, f"{NOTES}/3": note(tmp_path / "c", "another")}
    assert repaired(tmp_path, files) == files


def test_the_notes_of_a_moved_checkpoint_follow_it(tmp_path, sound):
    there = {f"{NOTES}/{batch}": note("/old/place", "brokers") for batch in (3, 10)}
    assert repaired(tmp_path, {**sound, **there}) == sound


@pytest.mark.parametrize(("is_deleted", "is_there", "fails"), [(1, 0, 0), (0, 0, 0), (0, 1, 1)])
def test_a_file_that_cannot_be_removed_is_an_error(is_deleted, is_there, fails):
    folder = Folder(MagicMock(), "s3a://bucket/c/offsets")
    folder._files.delete.return_value, folder._files.exists.return_value = bool(is_deleted), bool(is_there)
    if not fails:
        folder.remove("10")
        return
    with pytest.raises(UserError, match=r"/10 is damaged and cannot be removed: check the permissions"):
        folder.remove("10")
