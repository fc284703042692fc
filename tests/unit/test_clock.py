"""No code waits by the wall clock, which can be set: the sources are read for it."""

import ast
import time
from functools import cache
from pathlib import Path

import pytest

from logdirwatch import clock

SOURCES = Path(clock.__file__).parent
READS_CLOCKS = frozenset({"clock.py"})
OF_TIME = frozenset({"time", "time_ns", "localtime", "gmtime", "ctime", "clock_gettime", "clock_gettime_ns"})
OF_DATETIME = frozenset({"now", "utcnow", "today"})
WALL = frozenset({"now_ms", "_now_ms", "wall_ms", "_clock", "clock"})
"""The names of the wall clock, wherever it is called without arguments."""
TELLS = {
    "cli": "what commands show and record",
    "jobs": "names what is put aside, and records",
    "store": "when a table was changed",
    "autopilot": "decisions and windows, which end by date",
    "collect": "when a record was written",
    "console": "what pages show",
    "alone": "when a cluster was looked at",
    "doctor": "what is compared with a broker's clock",
    "execute": "when an execution was noted",
    "notify": "silences, which end by date",
    "pipeline": "when a record was written",
}
"""The folders that ask the wall clock, and what for."""
COMPARES = {
    "autopilot/board.py::facts": "the moment of a reading by today's wall clock, from its age by the monotonic clock",
    "autopilot/worker.py::_accept": "a decision is newer than those before it",
    "cli/deciding.py::decided_at_ms": "a decision is newer than those before it",
    "collect/rounds/rising_clock.py::__call__": "the times of a collector's records, which the stream orders anew",
    "console/pages.py::directory": "whether the period that a page shows ends now",
}
"""The functions that calculate with the wall clock, and why that waits for nothing."""


@cache
def modules():
    return [(path.relative_to(SOURCES).as_posix(), ast.parse(path.read_text())) for path in SOURCES.rglob("*.py")]


def readers(tree):
    """The places where a module reads the machine's wall clock itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "time":
            yield from (node.lineno for name in node.names if name.name in OF_TIME)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            of_time = node.value.id == "time" and node.attr in OF_TIME
            if of_time or (node.value.id in {"datetime", "date"} and node.attr in OF_DATETIME):
                yield node.lineno


def is_wall(node):
    if not isinstance(node, ast.Call) or node.args or node.keywords:
        return False
    named = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return named in WALL


def calculations(tree):
    """The functions that compare, add or subtract what the wall clock says, directly or by a local name."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        names = {
            target.id
            for node in ast.walk(function)
            if isinstance(node, ast.Assign)
            for target, value in assigned(node)
            if isinstance(target, ast.Name) and is_wall(value)
        }

        def says_so(node, names=names):
            return is_wall(node) or (isinstance(node, ast.Name) and node.id in names)

        for node in ast.walk(function):
            parts = (
                [node.left, *node.comparators]
                if isinstance(node, ast.Compare)
                else [node.left, node.right]
                if isinstance(node, ast.BinOp)
                else []
            )
            extremes = isinstance(node, ast.Call) and getattr(node.func, "id", "") in {"min", "max"}
            if any(map(says_so, parts)) or (extremes and any(map(says_so, node.args))):
                yield function.name, node.lineno


def assigned(node):
    """The names and values of an assignment, those of a tuple each by itself."""
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
        else:
            yield target, node.value


def test_one_module_reads_the_wall_clock():
    found = {name: lines for name, tree in modules() if (lines := list(readers(tree)))}
    assert found.keys() == READS_CLOCKS, f"use logdirwatch.clock: {found}"


def test_every_folder_that_asks_the_wall_clock_is_known():
    asking = {
        name.partition("/")[0]
        for name, tree in modules()
        if name not in READS_CLOCKS and any(is_wall(node) for node in ast.walk(tree))
    }
    assert asking == set(TELLS)


def test_nothing_is_compared_with_the_wall_clock_and_no_pause_or_deadline_is_made_of_it():
    found = {
        f"{name}::{function}": line
        for name, tree in modules()
        if name not in READS_CLOCKS
        for function, line in calculations(tree)
    }
    assert found.keys() == COMPARES.keys(), {where: line for where, line in found.items() if where not in COMPARES}


@pytest.mark.parametrize(
    "body",
    [
        "self.until_ms = self._now_ms() + pause_ms",
        "return now_ms() - self.began_ms > 5_000",
        "now = wall_ms()\n    return now >= self.until_ms",
        "began_ms, stop = self.clock(), False\n    return self.ends_ms - began_ms",
        "while self._now_ms() < until_ms: pass",
        "return max(0, min(until_ms, wall_ms()))",
    ],
)
def test_a_deadline_by_the_wall_clock_is_found(body):
    assert list(calculations(ast.parse(f"def waits(self):\n    {body}")))


@pytest.mark.parametrize(
    "body", ["time.time()", "time.time_ns()", "datetime.now(UTC)", "date.today()", "time.localtime()"]
)
def test_a_reading_of_the_wall_clock_is_found(body):
    assert list(readers(ast.parse(body)))


def test_a_steady_clock_begins_as_the_wall_clock_and_goes_on_whatever_it_does(monkeypatch):
    began_ms, began_wall_ms = clock.steady_ms(), clock.wall_ms()
    assert abs(began_ms - began_wall_ms) < 24 * 3_600_000
    real_ns = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real_ns() - 3_600_000_000_000)
    assert clock.wall_ms() < began_wall_ms
    assert began_ms <= clock.steady_ms() < began_ms + 3_600_000
