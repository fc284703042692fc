"""Shared by the reading commands: records from the telemetry topics, and the terminal."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from logdirwatch.cli import STARTED_S
from logdirwatch.cli.context import Context
from logdirwatch.clock import wall_ms
from logdirwatch.kafka import clients
from logdirwatch.kafka.deadline import Deadline, answers_by
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.report.folding import Latest, R, message_of
from logdirwatch.text.printable import printable_lines

F = TypeVar("F", bound=Latest[Any])
PIPE_COLUMNS = 100
now_ms = wall_ms
"""The wall clock, for what commands show and record."""


def telemetry(context: Context) -> KafkaSettings:
    """Return the telemetry cluster, with its client's own log disabled: an error is one line of ours."""
    if not context.debug:
        clients.quiet_client_logs()
    return context.settings.telemetry


def console() -> Console:
    """Return standard output: as wide as the terminal or COLUMNS, 100 columns in a pipe."""
    is_measured = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Terminal(highlight=False, width=None if is_measured else PIPE_COLUMNS)


class Terminal(Console):
    """Prints names, paths and errors as text, without control characters."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Return the segments of a renderable, with printable text."""
        if isinstance(renderable, Text) and not renderable.plain.replace("\n", "").isprintable():
            renderable = renderable.copy()
            renderable.plain = printable_lines(renderable.plain)
        return super().render(renderable, options)


def waiting_for_kafka(since_s: float = STARTED_S) -> AbstractContextManager[None]:
    """Limit all Kafka requests within to what is left of the time in which a command answers.

    It counts from the start of the process or, for later requests, from ``since_s``.
    """
    return answers_by(Deadline(since_s))


def read_into(fold: F, cluster: KafkaSettings) -> F:
    """Read a topic from its beginning to its end into its fold; print how many records could not be read."""
    for _ in fold.take_all(map(message_of, clients.read_all(cluster, fold.topic))):
        pass
    print_unreadable(fold.summary)
    return fold


def follow_into(fold: Latest[R], cluster: KafkaSettings) -> Iterator[R]:
    """Yield new records of a topic forever; reads it again from the beginning, so that there is no gap.

    Prints how many records could not be read whenever that is news.
    """
    fold.reader.tell = lambda *_: print_unreadable(fold.summary)
    return fold.take_all(map(message_of, clients.follow(cluster, fold.topic)))


def print_unreadable(summary: str | None) -> None:
    """Print on standard error that records were skipped, if any were."""
    if summary is not None:
        typer.echo(f"logdirwatch: {summary}", err=True)
