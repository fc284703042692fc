"""Counts, lists, times and ids, formatted the same everywhere."""

import difflib
import re
from collections.abc import Iterable
from datetime import datetime, timezone

from logdirwatch.text.units import human_count

ID_CHARACTERS = 8
CAN_WAIT = "can wait until morning"


def until_morning(answer: tuple[bool, str]) -> str:
    """Return whether an alert can wait until morning, and why, as the end of its summary."""
    can_wait, why = answer
    return f"{CAN_WAIT}: {'yes' if can_wait else 'no'}, because {why}"


def short_id(identity: str) -> str:
    """Return the beginning of an id, which commands accept for the whole."""
    return identity[:ID_CHARACTERS]


def utc(at_ms: int) -> str:
    """Return a time to the second, in UTC; in words if it is outside the calendar, such as one in microseconds."""
    try:
        return datetime.fromtimestamp(at_ms / 1000, tz=timezone.utc).strftime("%Y-%m-%d %H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return "an unknown time"


def natural(name: str) -> list[tuple[int, str]]:
    """Return the key that sorts a name by the numbers in it: r2 before r10."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"([0-9]+)", name)]


def shortened(text: str, characters: int) -> str:
    """Return a text of at most ``characters``, cut in the middle: a log's line begins with what, and ends with why."""
    if len(text) <= characters:
        return text
    head = (characters - 5) // 3
    return f"{text[:head]} ... {text[head + 5 - characters :]}"


def some_of(names: Iterable[object], limit: int = 5) -> str:
    """Return the first ``limit`` names, and how many more there are."""
    found = [str(name) for name in names]
    more = f" and {len(found) - limit} more" if len(found) > limit else ""
    return ", ".join(found[:limit]) + more


def number_ranges(numbers: Iterable[int], limit: int = 8) -> str:
    """Return whole numbers in order, consecutive ones as a range: ``1-4, 6``; of many the first ``limit`` ranges."""
    found: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    words = [str(first) if first == last else f"{first}-{last}" for first, last in found[:limit]]
    rest = sum(last - first + 1 for first, last in found[limit:])
    return ", ".join(words) + (f" and {rest} more" if rest else "")


def counted(count: int, noun: str, many: str | None = None) -> str:
    """Return a count with its noun in singular or plural: ``1 replica``, ``5 replicas``, ``2 directories``.

    ``many`` is the phrase for numbers other than 1 when more than a noun follows, such as ``partitions come``.
    """
    if count == 1 or many is not None:
        return f"1 {noun}" if count == 1 else f"{human_count(count)} {many}"
    return f"{human_count(count)} {noun[:-1]}ies" if noun.endswith("y") else f"{human_count(count)} {noun}s"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``; did you mean NAME?`` with the most similar known name, capitals aside, or nothing if there is none."""
    by_letters = {name.lower(): name for name in known}
    similar = difflib.get_close_matches(word.lower(), by_letters, n=1)
    return f"; did you mean {by_letters[similar[0]]}?" if similar else ""
