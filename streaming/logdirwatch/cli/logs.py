"""Log lines of the commands: to standard error, coloured only on a terminal."""

import io
import logging
import sys
from typing import TextIO

import structlog
from structlog.typing import EventDict, ExcInfo

from logdirwatch.text.printable import printable, printable_lines


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
