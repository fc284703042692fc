"""The kernel's messages about the disks of log directories, as part of an observation. Pure."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from logdirwatch.model.records import HostLogDir
from logdirwatch.model.vocabulary import BELOW_DISK, KernelTrouble
from logdirwatch.parse.kernel_log import arrays
from logdirwatch.parse.kernel_log.lines import KernelError, is_io_error

_FOLLOWS = {KernelTrouble.FILE_SYSTEM_ERROR: 0, KernelTrouble.REMOUNTED_READ_ONLY: 1}
"""What a device that fails does to the file system on it, the least telling first."""


def with_kernel_errors(log_dirs: Sequence[HostLogDir], news: Mapping[str, Sequence[KernelError]]) -> list[HostLogDir]:
    """Return ``log_dirs`` with the kernel's messages about their disks, which a passing probe does not refute."""
    return [_with_news(log_dir, news.get(log_dir.path, ())) for log_dir in log_dirs]


def _with_news(log_dir: HostLogDir, news: Sequence[KernelError]) -> HostLogDir:
    if not news:
        return log_dir
    # Of what does not heal by itself the loudest and latest stands for all the others; a file system that shut itself
    # down or turned read-only follows from the device that failed below it.
    members = arrays.given_up((error.trouble, error.text) for error in news)
    worst = max(
        (
            error
            for error in reversed(news)
            if not error.is_over and not arrays.is_explained(error.trouble, error.device, members)
        ),
        key=lambda error: (
            not error.heals,
            error.trouble.severity.rank,
            _FOLLOWS.get(error.trouble, len(_FOLLOWS)),
        ),
        default=None,
    )
    told = replace(log_dir, kernel=[error.news for error in news])
    if worst is None:
        return told
    worst = _explained(worst, news)
    cause = worst.trouble.cause
    return replace(
        told, device=worst.device, kernel_error=worst.text, kernel_cause=None if cause is None else str(cause)
    )


def _explained(error: KernelError, news: Sequence[KernelError]) -> KernelError:
    """Return what explains an I/O error: a lost path, or a full pool that a later line reports as over."""
    if error.trouble is not KernelTrouble.DEVICE_ERROR or not is_io_error(error.text):
        return error
    later = news[news.index(error) + 1 :]
    return next((one for one in reversed(later) if one.is_over and one.trouble in BELOW_DISK), error)
