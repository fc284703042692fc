"""What the host sees of its directories, and that a dead disk holds up nobody."""

import errno
import os
from pathlib import Path

import pytest

from logdirwatch.collect.host.prober import (
    MISSING,
    PROBE_BYTES,
    PROBE_FILE,
    REFUSED,
    ProbeRules,
    look,
    probe,
    read_back,
)
from logdirwatch.model.records import HostLogDir

RULES = ProbeRules(is_on=True, reserve_of=lambda path, total_bytes: 0)


def test_a_healthy_directory_is_measured_and_probed_and_left_as_it_was(tmp_path):
    (tmp_path / ".lock").write_text("")
    seen = look(str(tmp_path), RULES)
    space = os.statvfs(tmp_path)
    device = tmp_path.stat().st_dev
    assert (seen.path, seen.probe_error) == (str(tmp_path), None)
    assert seen.probe_ms > 0
    assert seen.total_bytes == space.f_blocks * space.f_frsize
    assert seen.usable_bytes <= space.f_bfree * space.f_frsize
    assert seen.total_inodes == space.f_files
    assert seen.volume == f"dev {os.major(device)}:{os.minor(device)}"
    assert seen.is_root_volume == (device == Path("/").stat().st_dev)
    assert seen.is_read_only is False
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_usable_is_what_may_be_written_without_privileges(tmp_path, monkeypatch):
    class Space:
        f_blocks, f_bfree, f_bavail, f_frsize = 100, 60, 50, 4_096
        f_files, f_ffree, f_favail, f_flag = 10, 7, 6, os.ST_RDONLY

    monkeypatch.setattr(os, "statvfs", lambda path: Space)
    seen = look(str(tmp_path), RULES)
    assert (seen.total_bytes, seen.usable_bytes) == (100 * 4_096, 50 * 4_096)
    assert (seen.total_inodes, seen.free_inodes, seen.is_read_only) == (10, 6, True)


def test_another_volume_than_the_roots_is_told_apart():
    seen = look("/proc", ProbeRules(is_on=False, reserve_of=RULES.reserve_of))
    assert seen.is_root_volume is False


class TestReserveFile:
    def seen(self, folder, size_bytes=1 << 20):
        rules = ProbeRules(False, RULES.reserve_of, reserve_file_of=lambda path: (".spare", size_bytes))
        return look(str(folder), rules)

    def test_one_that_takes_its_blocks_is_there(self, tmp_path):
        with (tmp_path / ".spare").open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, 1 << 20)
        assert self.seen(tmp_path).is_reserve_there is True

    def test_one_that_is_gone_or_has_nothing_to_give_is_not(self, tmp_path):
        assert self.seen(tmp_path).is_reserve_there is False
        with (tmp_path / ".spare").open("wb") as sparse:
            sparse.truncate(1 << 20)
        assert self.seen(tmp_path).is_reserve_there is False

    def test_without_a_setting_nobody_looks(self, tmp_path):
        assert look(str(tmp_path), RULES).is_reserve_there is None


def test_a_missing_directory_is_said_and_never_made(tmp_path):
    seen = look(str(tmp_path / "gone"), RULES)
    assert seen == HostLogDir(path=str(tmp_path / "gone"), config_error=MISSING)
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_this_user_may_not_look_at_is_a_fault_of_the_configuration(tmp_path, monkeypatch):
    def refused(path):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "statvfs", refused)
    assert look(str(tmp_path), RULES) == HostLogDir(path=str(tmp_path), config_error=REFUSED)


def test_a_stale_mount_is_no_fault_of_the_configuration(tmp_path, monkeypatch):
    def stale(path):
        raise OSError(errno.ESTALE, "Stale file handle")

    monkeypatch.setattr(os, "statvfs", stale)
    assert look(str(tmp_path), RULES) == HostLogDir(path=str(tmp_path), probe_error="look: Stale file handle")


def test_a_file_in_the_directorys_place_is_said(tmp_path):
    (tmp_path / "d").write_text("")
    seen = look(str(tmp_path / "d"), RULES)
    assert (seen.probe_error, seen.probe_ms) == ("look: not a directory", None)


def test_a_probe_takes_no_byte_of_the_reserve(tmp_path):
    asked = []

    def reserve_of(path, total_bytes):
        asked.append((path, total_bytes))
        return total_bytes + 1

    seen = look(str(tmp_path), ProbeRules(is_on=True, reserve_of=reserve_of))
    assert asked == [(str(tmp_path), seen.total_bytes)]
    assert (seen.probe_ms, seen.probe_error) == (None, None)
    assert seen.usable_bytes is not None


def test_probing_can_be_turned_off(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: pytest.fail("probed"))
    seen = look(str(tmp_path), ProbeRules(is_on=False, reserve_of=RULES.reserve_of))
    assert (seen.probe_ms, seen.probe_error) == (None, None)


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC, errno.EROFS])
def test_a_step_that_fails_is_said_with_how_long_it_took_and_leaves_no_file(tmp_path, monkeypatch, code):
    def broken(descriptor):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", broken)
    ticks = iter((1.0, 3.5))
    seen = look(str(tmp_path), RULES, lambda: next(ticks))
    assert (seen.probe_error, seen.probe_ms) == (f"probe: {os.strerror(code)}", 2_500)
    assert list(tmp_path.iterdir()) == []


def test_another_users_directory_that_we_may_not_write_to_proves_nothing(tmp_path, monkeypatch):
    def refused(*args):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "open", refused)
    assert look(str(tmp_path), RULES).probe_error == "probe: Permission denied"
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    seen = look(str(tmp_path), RULES)
    assert (seen.probe_error, seen.probe_ms) == (None, None)


def test_other_bytes_than_were_written_are_noticed(tmp_path):
    content = os.urandom(PROBE_BYTES)
    file = tmp_path / PROBE_FILE
    assert probe(file, content) is None
    assert probe(file, content, lambda descriptor: _with_another_end(read_back(descriptor))) is not None
    assert probe(file, content, lambda descriptor: read_back(descriptor) + b"?") is not None
    assert not file.exists()


def test_what_an_earlier_probe_left_behind_is_no_obstacle_and_a_link_is_not_followed(tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("data")
    (tmp_path / PROBE_FILE).symlink_to(precious)
    assert look(str(tmp_path), RULES).probe_error is None
    assert precious.read_text() == "data"
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]


def _with_another_end(read):
    return read[:-1] + bytes([read[-1] ^ 1])
