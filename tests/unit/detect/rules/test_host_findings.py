"""Which finding of the host would explain a failure, and which kernel line is kept as its explanation."""

import pytest

from logdirwatch.detect.causes import INODES_OUT_RATIO
from logdirwatch.detect.rules.host_findings import PATH_LOST, forget, note, used_inodes_ratio
from logdirwatch.detect.state.broker_state import HostFinding, KernelFinding, LogDirMemory, Verdict
from logdirwatch.model.vocabulary import Cause, FullBy
from tests.unit.detect.builders import T0, host_dir

IO, GONE = "write: Input/output error", "look: No such file or directory"


def look(seen, **known):
    """What one observation finds: cause, step, what ran out, what it said."""
    log_dir = LogDirMemory(**known)
    note(log_dir, seen, T0)
    if log_dir.host_word is None:
        return None
    assert log_dir.host_word.at_ms == T0
    verdict = log_dir.host_word.verdict
    return verdict.cause, verdict.decided_by, verdict.full_by, verdict.said


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"probe_ms": 3.0}, None),
        ({"is_read_only": False}, None),
        ({"is_read_only": True}, (Cause.READ_ONLY, "host_read_only", None, "mounted read-only")),
        # Read-only is what stopped it, whatever else is full.
        ({"is_read_only": True, "full_by": "quota"}, (Cause.READ_ONLY, "host_read_only", None, "mounted read-only")),
        ({"full_by": "quota"}, (Cause.FULL, "host_quota", FullBy.QUOTA, None)),
        ({"full_by": "quota", "probe_error": "x"}, (Cause.FULL, "host_quota", FullBy.QUOTA, "x")),
        ({"full_by": "space"}, None),
        ({"probe_error": IO}, (Cause.FAILED, "host_io_error", None, IO)),
        ({"config_error": IO}, (Cause.FAILED, "host_io_error", None, IO)),
        ({"probe_error": IO, "config_error": "other"}, (Cause.FAILED, "host_io_error", None, IO)),
        (
            {"probe_error": "write: No space left on device"},
            (Cause.FULL, "host_no_space", None, "write: No space left on device"),
        ),
        (
            {"probe_error": "write: Disk quota exceeded"},
            (Cause.FULL, "host_quota", FullBy.QUOTA, "write: Disk quota exceeded"),
        ),
        (
            {"probe_error": "write: Read-only file system"},
            (Cause.READ_ONLY, "host_read_only", None, "write: Read-only file system"),
        ),
        (
            {"probe_error": "write: Permission denied"},
            (Cause.PERMISSION, "host_permission", None, "write: Permission denied"),
        ),
        ({"probe_error": "open: Too many open files"}, None),  # a limit of the host source itself
        ({"probe_error": "something else"}, None),
    ],
)
def test_what_one_observation_finds(fields, found):
    assert look(host_dir(**fields)) == found


@pytest.mark.parametrize(
    ("total", "free", "ratio", "is_out"),
    [
        (1_000, 5, INODES_OUT_RATIO, True),
        (1_000, 6, 0.994, False),
        (1_000, 0, 1.0, True),
        (1_000, None, None, False),
        (None, 0, None, False),
        (0, 0, 0.0, False),  # a file system without a fixed number
    ],
)
def test_inodes_are_out_from_995_in_a_thousand(total, free, ratio, is_out):
    seen = host_dir(total_inodes=total, free_inodes=free)
    assert used_inodes_ratio(seen) == (None if ratio is None else pytest.approx(ratio))
    assert look(seen) == ((Cause.FULL, "host_inodes", FullBy.INODES, None) if is_out else None)


LOST = Verdict(cause=Cause.REMOUNT, decided_by=PATH_LOST)
ELSEWHERE = Verdict(cause=Cause.READ_ONLY, decided_by="host_read_only")
ROOT = "the path is on the root volume now"


@pytest.mark.parametrize(
    ("fields", "known", "said"),
    [
        # On the root volume: lost only where it was seen elsewhere before, or was lost already.
        ({"is_root_volume": True}, {"is_root_volume": False}, ROOT),
        ({"is_root_volume": True}, {"is_root_volume": None}, None),
        ({"is_root_volume": True}, {"is_root_volume": True}, None),
        ({"is_root_volume": True}, {"is_root_volume": True, "host_word": HostFinding(at_ms=T0, verdict=LOST)}, ROOT),
        (
            {"is_root_volume": True},
            {"is_root_volume": True, "host_word": HostFinding(at_ms=T0, verdict=ELSEWHERE)},
            None,
        ),
        ({"is_root_volume": False}, {"is_root_volume": False}, None),
        # Gone: lost only where its volume was known before, and is not seen now.
        ({"probe_error": GONE}, {"is_volume_told": True}, GONE),
        (
            {"config_error": "/d1 does not exist on this host"},
            {"is_volume_told": True},
            "/d1 does not exist on this host",
        ),
        ({"probe_error": "Not a directory"}, {"is_volume_told": True}, "Not a directory"),
        ({"config_error": "it is not a directory"}, {"is_volume_told": True}, "it is not a directory"),
        ({"probe_error": GONE, "volume": "sda"}, {"is_volume_told": True}, None),
        ({"probe_error": GONE}, {"is_volume_told": False}, None),
        ({}, {"is_volume_told": True}, None),
    ],
)
def test_a_path_is_lost_only_where_it_was_seen_before(fields, known, said):
    found = look(host_dir(**fields), **known)
    assert found == (None if said is None else (Cause.REMOUNT, PATH_LOST, None, said))


def test_a_lost_path_comes_before_its_consequences():
    found = look(host_dir(is_root_volume=True, is_read_only=True, probe_error=IO), is_root_volume=False)
    assert found == (Cause.REMOUNT, PATH_LOST, None, IO)


def kernel_line(cause, text="line", device="sdb"):
    return host_dir(kernel_error=text, kernel_cause=cause, device=device)


def test_a_kernel_line_is_kept_until_another_one():
    log_dir = LogDirMemory()
    note(log_dir, kernel_line("file_system"), T0)
    word = KernelFinding(at_ms=T0, cause=Cause.FILE_SYSTEM, text="line", device="sdb")
    assert log_dir.kernel == word
    note(log_dir, host_dir(), T0 + 1)
    assert log_dir.kernel == word
    note(log_dir, kernel_line("read_only", "other"), T0 + 2)
    assert (log_dir.kernel.cause, log_dir.kernel.text, log_dir.kernel.at_ms) == (Cause.READ_ONLY, "other", T0 + 2)


def test_a_newer_io_error_replaces_an_older_one():
    log_dir = LogDirMemory(kernel=KernelFinding(at_ms=T0, cause=Cause.FAILED, text="first"))
    note(log_dir, kernel_line("failed", "second"), T0 + 1)
    assert log_dir.kernel.text == "second"


@pytest.mark.parametrize(("until_ms", "is_kept"), [(T0 - 1, True), (T0, False), (T0 + 1, False)])
def test_kernel_lines_up_to_the_word_of_a_person_are_forgotten(until_ms, is_kept):
    log_dir = LogDirMemory(kernel=KernelFinding(at_ms=T0, cause=Cause.FAILED, text="first"))
    forget(log_dir, until_ms)
    assert (log_dir.kernel is not None) is is_kept
    forget(LogDirMemory(), until_ms)
