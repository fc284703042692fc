"""Which unit tests run which lines: measured once for each file of tests, and kept for the next run."""

import ast
import functools
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple, TypedDict

import coverage
import pytest

PACKAGE = Path("streaming/logdirwatch")
KEPT = Path(".pytest_cache/mutation-reach.json")


class Measured(TypedDict):
    """What the tests of one file run: the seconds of each test, the tests of each line of each module."""

    digest: str
    seconds: dict[str, float]
    failing: list[str]
    modules: dict[str, dict[str, list[str]]]
    module_digests: dict[str, str]


class Test(NamedTuple):
    """A test function by its node id; its cases reach about the same."""

    name: str
    seconds: float


class Reach:
    """Which tests run which lines of which modules."""

    def __init__(self, measured: Sequence[Measured]) -> None:
        self._measured = measured
        # Under coverage's eyes threads may fail to start; a test that fails without a defect proves nothing.
        self.left_out = sorted(test for of_file in measured for test in of_file["failing"])

    def tests(self, module: str, line: int) -> list[Test]:
        """Return the tests of a line: those of its own folder first, of these the quickest first.

        A line that is run by imports has the tests of its module, or all of its package if the module has none. So has
        a line of a module that was changed since it was measured.
        """
        found = {test for of_file in self._measured for test in _tests(of_file, module, line)}
        if not found and _is_imported(module, line):
            package = f"tests/unit/{module.partition('/')[0]}/"
            found = {test for test in self._all() if test.name.startswith(package)}
        left_out = set(self.left_out)
        return sorted(
            (test for test in found if test.name not in left_out),
            key=lambda test: (-_in_common(test.name, module), test.seconds, test.name),
        )

    def _all(self) -> Iterator[Test]:
        for of_file in self._measured:
            yield from (Test(*item) for item in of_file["seconds"].items())


def _tests(measured: Measured, module: str, line: int) -> Iterator[Test]:
    lines = measured["modules"].get(module, {})
    if _is_imported(module, line) or measured["module_digests"].get(module) != _digest(PACKAGE / module):
        names = {name for names in lines.values() for name in names}
    else:
        names = set(lines.get(str(_statement(module, line).lineno), ()))
    for name in names:
        yield Test(name, measured["seconds"][name])


def _in_common(test: str, module: str) -> int:
    """Return how many folders of a test are those of a module, and its name: test_routing.py is about routing.py."""
    names = test.partition("::")[0].replace("tests/unit/", "").replace("test_", "").split("/")
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(names, module.split("/"), strict=False)))


def _statement(module: str, line: int) -> ast.stmt:
    """Return the statement that a line belongs to: only its first line is measured."""
    found = [statement for statement in _statements(module) if statement.lineno <= line <= (statement.end_lineno or 0)]
    return max(found, key=lambda statement: statement.lineno)


def _is_imported(module: str, line: int) -> bool:
    statement = _statement(module, line)
    return not any(statement in ast.walk(body) for body in _bodies(module) if body.lineno <= line)


@functools.cache
def _statements(module: str) -> list[ast.stmt]:
    return [node for node in ast.walk(_tree(module)) if isinstance(node, ast.stmt)]


@functools.cache
def _bodies(module: str) -> list[ast.stmt]:
    functions = [node for node in _statements(module) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [statement for function in functions for statement in function.body]


@functools.cache
def _tree(module: str) -> ast.Module:
    return ast.parse((PACKAGE / module).read_text())


@functools.cache
def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def kept() -> dict[str, Measured]:
    """Return what was measured of the files of tests that are as they were."""
    found: dict[str, Measured] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    return {
        file: of_file
        for file, of_file in found.items()
        if Path(file).exists() and of_file["digest"] == _digest(Path(file))
    }


def keep(measured: dict[str, Measured]) -> None:
    """Keep what was measured, by files of tests."""
    KEPT.parent.mkdir(exist_ok=True)
    KEPT.write_text(json.dumps(measured))


class Meter:
    """A plugin of pytest: says to coverage which test runs, and notes how long it takes and whether it fails."""

    def __init__(self, stage: Path) -> None:
        self._stage = stage
        self._coverage = coverage.Coverage(data_file=None, source=[str(stage / PACKAGE)], config_file=False)
        self._seconds: dict[str, float] = defaultdict(float)
        self._failing: set[str] = set()
        self._coverage.start()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[_function(report.nodeid)] += report.duration
        if report.failed:
            self._failing.add(_function(report.nodeid))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._coverage.switch_context(_function(item.nodeid))
        yield
        self._coverage.switch_context("")

    def measured(self, files: Sequence[str]) -> dict[str, Measured]:
        """Return what the tests of each file ran."""
        self._coverage.stop()
        found = {file: self._empty(file) for file in files}
        data = self._coverage.get_data()
        for path in data.measured_files():
            module = str(Path(path).relative_to(self._stage.resolve() / PACKAGE))
            for line, names in data.contexts_by_lineno(path).items():
                for name in filter(None, names):
                    of_file = found[name.partition("::")[0]]
                    of_file["module_digests"][module] = _digest(Path(path))
                    of_file["modules"].setdefault(module, {}).setdefault(str(line), []).append(name)
        return found

    def _empty(self, file: str) -> Measured:
        seconds = {name: seconds for name, seconds in self._seconds.items() if name.partition("::")[0] == file}
        failing = [name for name in sorted(self._failing) if name in seconds]
        return Measured(digest=_digest(Path(file)), seconds=seconds, failing=failing, modules={}, module_digests={})


def _function(test: str) -> str:
    return test.partition("[")[0]
