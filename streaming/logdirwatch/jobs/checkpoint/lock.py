"""One process for each query of a checkpoint: two would take each other's batches for damage.

Spark notices a second query at a checkpoint only when both end a batch. The lock is one on a file, which the kernel
releases when its process ends, in whatever way. In an object store there is none.
"""

import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import structlog

from logdirwatch.errors import UserError

log = structlog.get_logger(__name__)

WAIT_S = 30.0
"""A supervisor may start the stream again before the process that it stopped has ended."""
_PAUSE_S = 0.2


@contextmanager
def locked(checkpoints: str, names: Sequence[str], wait_s: float = WAIT_S) -> Iterator[None]:
    """Hold the checkpoints of the named queries; raises UserError if another process has one for ``wait_s``."""
    place = checkpoints.removeprefix("file://").removeprefix("file:")
    with ExitStack() as held:
        if "://" not in place:
            end_s = time.monotonic() + wait_s
            for name in names:
                _lock(Path(place), name, end_s, held)
        yield


def _lock(folder: Path, name: str, end_s: float, held: ExitStack) -> None:
    path = folder / f".{name}.lock"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = held.enter_context(path.open("a+"))
        while not _is_taken(file.fileno()):
            if time.monotonic() > end_s:
                raise UserError(
                    f"stream: process {_holder(path)} runs the query {name} with the same checkpoint, {folder}/{name}: "
                    "stop that process, or set another checkpoints.path"
                )
            time.sleep(_PAUSE_S)
        file.truncate(0)
        file.write(f"{os.getpid()} of {os.uname().nodename}")
        file.flush()
    except OSError as error:
        log.warning("checkpoint.not_locked", query=name, reason=f"{error}")


def _is_taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(path: Path) -> str:
    return path.read_text(errors="replace").strip() or "of another user"
