"""The files of a checkpoint that tests damage, and what the damage leaves."""

import pytest

from tests.support import checkpoints


@pytest.fixture
def checkpoint(tmp_path):
    names = [
        "metadata",
        *(f"{kind}/{number}" for kind in ("offsets", "commits") for number in (8, 9, 10)),
        "state/0/_metadata/v2/3",
        "state/0/_metadata/v2/12",
        "state/0/0/default/9.changelog",
        "state/0/1/default/10.changelog",
        "state/0/1/default/7.zip",
    ]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"v1\n{}")
        (tmp_path / name).with_name(f".{(tmp_path / name).name}.crc").touch()
    return tmp_path


def test_the_newest_file_of_each_kind_is_what_a_query_needs(checkpoint):
    needed = {kind: str(file.relative_to(checkpoint)) for kind, file in checkpoints.needed(checkpoint).items()}
    assert needed == {
        "metadata": "metadata",
        "offsets": "offsets/10",
        "commits": "commits/10",
        "state metadata": "state/0/_metadata/v2/12",
        "state changelog": "state/0/1/default/10.changelog",
        "state zip": "state/0/1/default/7.zip",
    }


@pytest.mark.parametrize(("way", "left"), [("cut", b"v1"), ("emptied", b""), ("zeroed", bytes(5))])
def test_a_damaged_file_has_no_checksum_that_tells(checkpoint, way, left):
    file = checkpoints.newest(checkpoint / "offsets")
    checkpoints.DAMAGES[way](file)
    assert file.read_bytes() == left
    assert not file.with_name(".10.crc").exists()


def test_a_query_without_state_needs_none(tmp_path):
    assert checkpoints.needed(tmp_path) == {}
