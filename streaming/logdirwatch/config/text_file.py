"""Text files that people write: in UTF-8, with a byte order mark or without one, and no larger than makes sense."""

from pathlib import Path
from typing import TextIO

from logdirwatch.errors import UserError

MOST_CHARACTERS = 10_000_000


class TooLargeError(ValueError):
    """A file that is larger than any that somebody writes, or a device that has no end."""


def opened(path: Path) -> TextIO:
    """Open a file for :func:`text_of`; raises OSError."""
    return path.open(encoding="utf-8-sig")


def text_of(file: TextIO) -> str:
    """Return the text of an open file; raises UnicodeError, and TooLargeError for too large a one."""
    text = file.read(MOST_CHARACTERS + 1)
    if len(text) > MOST_CHARACTERS:
        raise TooLargeError(f"more than {MOST_CHARACTERS} characters")
    return text


def read(path: str, key: str) -> str:
    """Return the text of the file that a key of the configuration names; raises UserError when it cannot be read."""
    try:
        with opened(Path(path).expanduser()) as file:
            return text_of(file)
    except (OSError, ValueError) as error:
        reason = "not text in UTF-8" if isinstance(error, UnicodeError) else getattr(error, "strerror", None) or error
        raise UserError(f"{key} {path}: {reason}", exit_code=2) from None
