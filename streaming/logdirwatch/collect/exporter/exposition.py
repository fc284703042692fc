"""Parses the text of Prometheus exporters: the classic format and OpenMetrics 1.0. Pure.

Only a line that cannot be parsed is skipped; libraries reject the whole answer at the first such line.
"""

import io
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

_NAME = re.compile(r"\s*([A-Za-z_:][A-Za-z0-9_:]*)")
_LABELS_AND_VALUE = re.compile(r'(?:\s*\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\}\s*|\s+)(\S+)')
_LABEL = re.compile(r'\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)')
# No line about a broker is this long; parsing one would block everything else for seconds.
MAX_LINE_CHARACTERS = 1 << 16
_ESCAPED = re.compile(r"\\(.)")


class Sample(NamedTuple):
    """One line: a metric, its labels, and its value, which is None for NaN and the infinities."""

    name: str
    labels: Mapping[str, str]
    value: float | None


def samples(body: bytes, is_wanted: Callable[[str], bool]) -> Iterator[Sample]:
    """Yield the samples of ``body`` whose name ``is_wanted``, in its order.

    Raises nothing, whatever the bytes are. Timestamps, exemplars and comments are skipped. Most lines of a broker are
    about single topics, so a line is parsed completely only if its name is wanted.
    """
    for line in io.StringIO(body.decode("utf-8", "replace")):
        name = _NAME.match(line) if len(line) <= MAX_LINE_CHARACTERS else None
        if name is None or not is_wanted(name[1]):
            continue
        rest = _LABELS_AND_VALUE.match(line, name.end())
        if rest is not None:
            yield from _sample(name[1], rest[1] or "", rest[2])


def _sample(name: str, text: str, value: str) -> Iterator[Sample]:
    labels, number = _labels(text), _number(value)
    if labels is not None and number is not None:
        yield Sample(name, labels, number if math.isfinite(number) else None)


def _labels(text: str) -> dict[str, str] | None:
    labels, end = {}, len(text.rstrip())
    at = 0
    while at < end:
        label = _LABEL.match(text, at, end)
        if label is None:
            return None
        labels[label[1]] = _ESCAPED.sub(_unescaped, label[2])
        at = label.end()
    return labels


def _number(text: str) -> float | None:
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _unescaped(escape: re.Match[str]) -> str:
    return "\n" if escape[1] == "n" else escape[1]
