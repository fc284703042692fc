"""Standard input, output and error as a process finds them: closed, on a full disk, or a pipe that nobody reads.

No process ends and no loop waits because a line of its log cannot be written, and no line has control characters.
"""

import errno
import io
import logging
import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

import structlog
from structlog.typing import EventDict, ExcInfo

from logdirwatch.errors import UserError
from logdirwatch.text.printable import printable, printable_lines

PATIENCE_MS = 1_000
"""How long a write to standard error may wait for whoever reads it; after one that was lost none waits."""
COLUMNS = range(20, 10_001)
_PIECE_BYTES = select.PIPE_BUF
"""A pipe or socket that is ready takes as much at once, so that the write does not wait."""
_OF_A_FILE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG})
"""Errors that come from a write to a file; those of standard output have no name of a file."""
_LOST = b"logdirwatch: log lines are missing here, standard error could not be written\n"


class _StandardError(io.RawIOBase):
    """A stream that takes everything: what cannot be written is lost, which is said once it can be."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream  # which closes the descriptor when nobody has it any more
        self._descriptor = descriptor = stream.fileno()
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLOUT)
        self._has_lost = False

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        rest = memoryview((_LOST if self._has_lost else b"") + bytes(data))
        try:
            while rest:
                self._wait()
                rest = rest[os.write(self._descriptor, rest[:_PIECE_BYTES]) :]
        except OSError:
            self._has_lost = True
        else:
            self._has_lost = False
        return len(data)

    def _wait(self) -> None:
        if not self._poll.poll(0 if self._has_lost else PATIENCE_MS):
            raise TimeoutError


class _StandardOutput(io.FileIO):
    """Standard output that ends the process without a word once nobody reads it, as ``| head -1`` does.

    The exit code is that of the programs that SIGPIPE ends. Python ignores the signal, since it would also end a
    service whose socket somebody closes.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream.fileno(), "w", closefd=False)
        self._stream = stream  # which closes the descriptor when nobody has it any more
        self._has_reader = True

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data) if self._has_reader else len(data)
        except BrokenPipeError:
            self._has_reader = False  # what is still buffered goes nowhere
            raise SystemExit(128 + signal.SIGPIPE) from None


def _open_what_is_closed() -> None:
    """Open /dev/null in place of streams that are closed: the next file or socket would get their number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - until the process ends


def _forget_no_width() -> None:
    """Take COLUMNS for unset when it is no width: rich prints nothing for 0, and fails for more than it can count."""
    text = os.environ.get("COLUMNS", "")
    if not text.isdecimal() or int(text) not in COLUMNS:
        os.environ.pop("COLUMNS", None)


@contextmanager
def prepared() -> Iterator[None]:
    """Make the standard streams usable, and raise UserError for what the system refuses and nobody else named."""
    _open_what_is_closed()
    _forget_no_width()
    with suppress(AttributeError):  # a test's
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # names, in a locale without UTF-8
    with suppress(OSError, ValueError):  # the streams of a notebook or a test have no descriptor
        stream = io.BufferedWriter(_StandardOutput(sys.stdout))
        sys.stdout = io.TextIOWrapper(stream, sys.stdout.encoding, "backslashreplace", line_buffering=True)
    with suppress(OSError, ValueError):  # the streams of a notebook or a test have no descriptor
        sys.stderr = io.TextIOWrapper(
            _StandardError(sys.stderr), encoding=sys.stderr.encoding, errors="backslashreplace", line_buffering=True
        )
    try:
        Path.cwd()
    except FileNotFoundError:
        raise UserError("the working directory was deleted: change to another one") from None
    try:
        yield
    except OSError as error:
        named = error.filename or ("standard output" if error.errno in _OF_A_FILE else None)
        raise UserError(f"{named}: {error.strerror}" if named else str(error.strerror or error)) from error


def to_stderr(*, debug: bool = False) -> None:
    """Write structlog's lines to standard error, so that standard output has only what the command prints.

    Lines of level DEBUG are written only with ``debug``.
    """
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _plain,
            structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=_traceback),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG if debug else logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


def _plain(_: object, __: str, event: EventDict) -> EventDict:
    """Escape line ends and control characters; values other than strings are shown by ``repr``."""
    return {name: printable(value) if isinstance(value, str) else value for name, value in event.items()}


def _traceback(target: TextIO, error: ExcInfo) -> None:
    """Write a plain traceback; structlog's default shows local variables, and so the passwords in the settings."""
    shown = io.StringIO()
    structlog.dev.plain_traceback(shown, error)
    target.write(printable_lines(shown.getvalue()))
