"""Log lines of the long-running commands: to standard error, coloured on a terminal only."""

import sys

import structlog


def to_stderr() -> None:
    """Write structlog's lines to standard error, so that standard output stays what the command prints."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            # Its other tracebacks show every local variable, and so the passwords of the settings.
            structlog.dev.ConsoleRenderer(
                colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
            ),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
