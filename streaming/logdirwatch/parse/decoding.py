"""The only decoder of JSON: whatever is wrong with it is one error, with the reason in one line. Pure."""

import re
from typing import Generic, TypeVar

import msgspec

from logdirwatch.text.printable import printable

LONGEST_REASON = 300

T = TypeVar("T")

FAILURES = (msgspec.MsgspecError, ValueError, RecursionError)
"""What msgspec and Python raise: malformed JSON, a wrong type, a number of too many digits, deep nesting."""

_LONE_SURROGATE = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])")


class NotReadableError(ValueError):
    """JSON that is malformed or of another form; the message says why in one line."""


class Decoder(Generic[T]):
    """Decodes JSON in UTF-8 into values of one type; fields that the type lacks are ignored."""

    def __init__(self, kind: type[T]) -> None:
        self._decoder = msgspec.json.Decoder(kind)

    def decode(self, value: bytes | str) -> T:
        """Return the value; raises NotReadableError for anything else, whatever the bytes are."""
        try:
            return self._decoder.decode(value)
        except FAILURES as error:
            text = value.encode(errors="replace") if isinstance(value, str) else value
            raise NotReadableError(why(text, error)) from None


def why(value: bytes, error: Exception) -> str:
    """Return in one printable line why bytes could not be decoded."""
    return one_line(_why(value, error))


def _why(value: bytes, error: Exception) -> str:
    if not value.strip():
        return "empty value: expected a JSON object"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8: {error.reason} at byte {error.start}"
    # msgspec calls a lone surrogate truncated input.
    surrogate = None if isinstance(error, msgspec.ValidationError) else _LONE_SURROGATE.search(value)
    return f"half of a surrogate pair at byte {surrogate.start()}" if surrogate else str(error)


def one_line(text: str) -> str:
    """Return a text as one printable line of at most ``LONGEST_REASON`` characters."""
    line = printable(" ".join(text[: 2 * LONGEST_REASON].split()))
    return line if len(line) <= LONGEST_REASON else f"{line[: LONGEST_REASON - 3]}..."
