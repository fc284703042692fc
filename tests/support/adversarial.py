"""Lines made of a pattern's own pieces, again and again: what makes a regular expression try every way to match."""

import importlib
import itertools
import pkgutil
import re
import sys
from collections.abc import Iterator
from typing import Any

try:
    from re import _constants as constants
    from re import _parser as parser
except ImportError:  # Python 3.10
    import sre_constants as constants  # type: ignore[no-redef]
    import sre_parse as parser  # type: ignore[no-redef]

_CHARACTERS = "a7 ./-:[("


def patterns_of(modules: list[Any]) -> Iterator["re.Pattern[str]"]:
    """Yield every compiled pattern that a module holds, in whatever container."""
    for module in modules:
        yield from _patterns_in(list(vars(module).values()))


def _patterns_in(value: Any) -> Iterator["re.Pattern[str]"]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        yield from _patterns_in(list(value.values()))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _patterns_in(inner)


def unbounded_repeats(pattern: "re.Pattern[str]") -> int:
    """Return how many repeats of a pattern have no end."""
    return sum(most is constants.MAXREPEAT for most, _ in _repeats(_parsed(pattern)))


def _parsed(pattern: "re.Pattern[str]") -> Any:
    return parser.parse(pattern.pattern, pattern.flags)


def _repeats(tree: Any) -> Iterator[tuple[Any, Any]]:
    for name, argument in tree:
        if name in {constants.MAX_REPEAT, constants.MIN_REPEAT}:
            yield argument[1], argument[2]
        for inner in _inside(argument):
            yield from _repeats(inner)


def _inside(argument: Any) -> Iterator[Any]:
    if isinstance(argument, parser.SubPattern):
        yield argument
    elif isinstance(argument, list | tuple):
        for one in argument:
            yield from _inside(one)


def pieces(tree: Any) -> list[str]:
    """Return a text for each part of a pattern, in order: joined, they nearly match it."""
    found: list[str] = []
    is_word = False
    for name, argument in tree:
        if name is constants.LITERAL and is_word:
            found[-1] += chr(argument)
        elif name is constants.LITERAL:
            found.append(chr(argument))
        elif name is constants.ANY:
            found.append("x")
        elif name is constants.IN:
            found.append(_member(argument))
        elif name in {constants.MAX_REPEAT, constants.MIN_REPEAT}:
            found.append("".join(pieces(argument[2])) * max(1, argument[0]))
        elif name is constants.SUBPATTERN:
            found += pieces(argument[-1])
        elif name is constants.BRANCH:
            found += pieces(max(argument[1], key=len))
        is_word = name is constants.LITERAL and chr(argument).isalnum()
    return found


def _member(of: Any) -> str:
    one = parser.SubPattern(parser.State())
    one.append((constants.IN, of))
    accepts = re._compiler.compile(one) if hasattr(re, "_compiler") else __import__("sre_compile").compile(one)
    return next((character for character in _CHARACTERS if accepts.match(character)), "~")


def lines(pattern: "re.Pattern[str]", length: int) -> Iterator[str]:
    """Yield lines of about ``length`` characters: the beginning of what a pattern matches, then a part repeated."""
    found = pieces(_parsed(pattern))
    for begin, size in itertools.product(range(len(found)), (1, 3)):
        if pump := "".join(found[begin : begin + size]):
            yield "".join(found[:begin]) + pump * (length // len(pump))


HEADS = (
    "",
    "[2026-01-01 00:00:00,000] ",
    "[2026-01-01 00:00:00,000] ERROR ",
    "[2026-01-01 00:00:00,000] ERROR x (kafka.log.Log) java.lang.Exception ",
    '{"log":"',
    'level=error msg="',
    "STATUS | ",
    "Jan  1 00:00:00 host kernel: ",
    "multipathd: ",
    "sd 0:0:0:0: ",
)
PUMPS = (" ", "-", ": ", "a.", "[(", "a-7", "Aa", "- -", "7a", '="', "\\", ".\x1b[", "at a(", "|;")


def main() -> None:
    """Let every pattern see lines of its own pieces, and the parsers long lines; print how many there were."""
    from logdirwatch.parse import broker_log, kernel_log
    from logdirwatch.parse.broker_log.entries import Entries
    from logdirwatch.parse.broker_log.findings import findings
    from logdirwatch.parse.broker_log.process_ends import reason_in_log_of_host
    from logdirwatch.parse.kernel_log.lines import kernel_news

    count = 0
    for pattern in patterns_of(modules_of(broker_log, kernel_log)):
        for line in lines(pattern, 4_096):
            pattern.match(line), pattern.search(line), pattern.fullmatch(line)
            count += 1
    for head, pump in itertools.product(HEADS, PUMPS):
        line = head + pump * (60_000 // len(pump))
        kernel_news(line), reason_in_log_of_host(line)
        entries = Entries()
        for entry in (*entries.feed(f"{line}\n".encode() * 2), *entries.end()):
            list(findings(entry, ("/data/d1",)))
        count += 1
    sys.stdout.write(f"{count}\n")


def modules_of(*packages: Any) -> list[Any]:
    """Return the modules of packages."""
    return [
        importlib.import_module(f"{package.__name__}.{found.name}")
        for package in packages
        for found in pkgutil.iter_modules(package.__path__)
    ]


if __name__ == "__main__":
    main()
