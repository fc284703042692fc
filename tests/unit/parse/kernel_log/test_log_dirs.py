"""Of what the kernel said of a directory's disk the record names the worst."""

import pytest

from logdirwatch.model.records import HostLogDir, KernelNews
from logdirwatch.model.vocabulary import KernelTrouble
from logdirwatch.parse.kernel_log.lines import KernelError
from logdirwatch.parse.kernel_log.log_dirs import with_kernel_errors


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
