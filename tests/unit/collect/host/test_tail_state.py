"""What the host source remembers over its own restart."""

import shutil

import pytest

from logdirwatch.collect.host.tail import Position, StateFile, TailState
from logdirwatch.errors import UserError


def test_the_state_comes_back_and_a_broken_one_is_a_warning(tmp_path, logged):
    file = StateFile(tmp_path / "state", "prod/eu", 7)
    assert file.load() == TailState()
    state = TailState({"/l": Position(1, 2, 3, "d")}, {"/d1": "full"})
    file.save(state)
    assert StateFile(tmp_path / "state", "prod/eu", 7).load() == state
    assert StateFile(tmp_path / "state", "prod", 7).load() == TailState()
    (written,) = (tmp_path / "state").iterdir()
    assert logged == []
    written.write_text("{broken")
    assert file.load() == TailState()
    assert logged[0]["event"] == "host.state.unreadable"


def test_a_state_that_cannot_be_written_is_one_warning_and_no_reason_to_stop(tmp_path, logged):
    file = StateFile(tmp_path / "state", "prod", 7)
    shutil.rmtree(tmp_path / "state")
    for offset in (1, 2):
        file.save(TailState({"/l": Position(1, offset)}))
    assert len(logged) == 1


def test_a_folder_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"host\.state_dir"):
        StateFile(tmp_path / "file" / "state", "prod", 7)
