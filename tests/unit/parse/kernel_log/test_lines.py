"""Lines as kernels of many ages and subsystems write them: which trouble of which device, or none at all."""

import pytest

from logdirwatch.model.records import HostLogDir, KernelNews
from logdirwatch.model.vocabulary import KernelTrouble
from logdirwatch.parse.kernel_log.lines import ERROR_CHARACTERS, KernelError, kernel_error, kernel_news
from logdirwatch.parse.kernel_log.log_dirs import with_kernel_errors
from tests.support.tables import rows

LINES = rows("kernel_log")
ROWS = [row for row in LINES if row[1]]

BENIGN = [line for line, trouble, _ in LINES if not trouble]


def test_the_table_is_as_large_as_it_is_meant_to_be():
    lines = [line for line, _, _ in ROWS] + BENIGN
    assert len(set(lines)) == len(lines) > 250
    assert len(BENIGN) * 3 >= len(lines)
    assert {trouble for _, trouble, _ in ROWS} == {str(trouble) for trouble in KernelTrouble}


@pytest.mark.parametrize(("line", "trouble", "device"), ROWS, ids=[row[0][:60] for row in ROWS])
def test_a_line_tells_which_trouble_of_which_device(line, trouble, device):
    for spelled in (line, line.upper(), line.lower()):
        found = kernel_error(spelled)
        assert found is not None, spelled
        assert found.trouble == trouble
        assert (found.device or "").lower() == (device or "").lower()
    assert kernel_error(line).text == line.strip()[:ERROR_CHARACTERS]
    assert kernel_error(line).device == device


@pytest.mark.parametrize("line", BENIGN, ids=lambda line: line[:60])
def test_a_benign_line_is_no_evidence(line):
    assert kernel_error(line) is None


MESSAGE = "XFS (dm-4): Corruption detected. Unmount and run xfs_repair"
PREFIXES = dict(rows("kernel_log_prefixes"))


@pytest.mark.parametrize(
    ("line", "device"),
    [
        ('{"_TRANSPORT":"kernel","MESSAGE":"critical medium error, dev sdq, sector 12"}', "sdq"),
        ('{"SYSLOG_IDENTIFIER":"multipathd","MESSAGE":"sdq: mark as failed"}', "sdq"),
        ('{"MESSAGE":[99,114]}', None),
        ('{"MESSAGE":"critical medium err', None),
    ],
)
def test_the_journal_as_json_is_read(line, device):
    found = kernel_error(line)
    assert (found and found.device) == device


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES)
def test_every_prefix_is_left_out(prefix):
    found = kernel_error(prefix + MESSAGE)
    assert found is not None
    assert (found.device, found.text) == ("dm-4", MESSAGE)


@pytest.mark.parametrize(
    "line",
    [
        f"Jan 11 05:55:54 broker7 sudo[7]:   ada : COMMAND=/usr/bin/grep '{MESSAGE}' /var/log/kern.log",
        f"Jan 11 05:55:54 broker7 kafka[71]: {MESSAGE}",
        f"2026-01-11T05:55:54.123456+00:00 broker7 audit: {MESSAGE}",
        f"30,9,1,-;systemd[1]: {MESSAGE}",
        f"[12225.445356] systemd[1]: {MESSAGE}",
        "Jan 11 05:55:54 broker7 alertmanager: nfs: server filer3 not responding, still trying",
    ],
)
def test_what_another_program_writes_is_none_of_the_kernels(line):
    assert kernel_news(line) == []


@pytest.mark.parametrize(("line", "ended", "device"), rows("kernel_log_over"))
def test_a_line_that_heals_says_what_is_over(line, ended, device):
    news = kernel_news(f"Jan 11 05:55:54 broker7 kernel: {line}" if "[" not in line and ":" in line[:20] else line)
    assert [(str(one.trouble), one.device, one.is_over) for one in news] == [
        (kind, device, True) for kind in ended.split(",")
    ]


def test_a_line_of_trouble_is_news_and_one_of_nothing_is_none():
    (news,) = kernel_news("nfs: server filer3 not responding, still trying")
    assert (news.device, news.is_over, news.heals) == ("filer3", False, True)
    assert kernel_news("usb 1-1: new high-speed USB device") == []


def test_what_heals_by_itself_and_how_loud_it_is():
    told = {str(trouble): (trouble.heals, str(trouble.severity), trouble.cause) for trouble in KernelTrouble}
    assert told == {
        "medium_error": (False, "warning", "failed"),
        "device_error": (False, "critical", "failed"),
        "array_degraded": (False, "warning", None),
        "command_failed": (True, "warning", None),
        "timed_out": (True, "warning", "remount"),
        "path_lost": (True, "warning", "remount"),
        "server_not_responding": (True, "warning", "remount"),
        "hung": (True, "warning", None),
        "file_system_error": (False, "critical", "file_system"),
        "recorded_error": (False, "warning", None),
        "remounted_read_only": (False, "critical", "read_only"),
        "pool_full": (False, "critical", "full"),
        "pool_low": (False, "warning", None),
        "no_space": (True, "critical", "full"),
        "no_memory": (True, "critical", "limit"),
    }


def test_a_long_line_is_cut():
    assert len(kernel_error("I/O error, dev sdb, " + "x" * 1_000).text) == ERROR_CHARACTERS


def error(device, text, trouble=KernelTrouble.DEVICE_ERROR, **fields):
    return KernelError(device, text, trouble, **fields)


def test_a_record_names_the_worst_of_what_the_kernel_said_and_has_it_all():
    news = [
        error("sdb", "gone", KernelTrouble.PATH_LOST),
        error("sdc", "bad", KernelTrouble.MEDIUM_ERROR),
        error("dm-1", "shut", KernelTrouble.FILE_SYSTEM_ERROR),
        error("dm-2", "shut too", KernelTrouble.FILE_SYSTEM_ERROR),
        error("sdd", "back", KernelTrouble.PATH_LOST, is_over=True),
    ]
    (told, other) = with_kernel_errors([HostLogDir(path="/a", probe_error="x"), HostLogDir(path="/b")], {"/a": news})
    assert (told.device, told.kernel_error, told.kernel_cause) == ("dm-2", "shut too", "file_system")
    assert told.probe_error == "x"
    assert told.kernel[0] == KernelNews(trouble="path_lost", text="gone", device="sdb")
    assert [one.is_over for one in told.kernel] == [False] * 4 + [True]
    assert other == HostLogDir(path="/b")


@pytest.mark.parametrize(
    ("news", "expected"),
    [
        ([error("sdd", "back", KernelTrouble.PATH_LOST, is_over=True)], (None, None, None)),
        ([error("sdd", "slow", KernelTrouble.COMMAND_FAILED)], ("sdd", "slow", None)),
        (
            [error("sdd", "bad", KernelTrouble.MEDIUM_ERROR), error("sdd", "gone", KernelTrouble.PATH_LOST)],
            ("sdd", "bad", "failed"),
        ),
    ],
)
def test_what_heals_stands_behind_what_does_not(news, expected):
    (told,) = with_kernel_errors([HostLogDir(path="/a")], {"/a": news})
    assert (told.device, told.kernel_error, told.kernel_cause) == expected
