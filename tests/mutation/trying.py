"""Whether a test catches a planted defect: those tests are run that reach its line, in a copy of the repository."""

import ast
import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import takewhile
from pathlib import Path

import coverage
import pytest

from tests.mutation.defects import Defect

PACKAGE = Path("streaming/logdirwatch")
# A defect may loop for ever.
CPU_S = 240
FAILING = ".failing"


class Outcome(Enum):
    """What became of a defect."""

    CAUGHT = "caught"
    SURVIVED = "not caught"
    UNREACHED = "reached by no unit test"


class Reach:
    """Which tests run which lines of which files."""

    def __init__(self, tests_of: Mapping[str, Mapping[int, set[str]]], left_out: Sequence[str] = ()) -> None:
        """``left_out`` are the tests that fail without a defect."""
        self._tests_of = tests_of
        self._all = {test for of_file in tests_of.values() for tests in of_file.values() for test in tests}
        self.left_out = left_out

    def tests(self, file: str, line: int) -> list[str]:
        """Return the tests of a line, those of its own folder first.

        A line that is run by imports has the tests of its file, or all of its package if the file has none.
        """
        of_file = self._tests_of.get(file, {})
        reached = of_file.get(_statement(file, line), set())
        found = reached - {""}
        if reached and not found:
            package = f"tests/unit/{file.partition('/')[0]}/"
            found = set().union(*of_file.values()) - {""} or {test for test in self._all if test.startswith(package)}
        return sorted(found, key=lambda test: (-_in_common(test, file), test))


def _statement(file: str, line: int) -> int:
    """Return the first line of the statement that a line belongs to: only that one is measured."""
    statements = [node for node in ast.walk(ast.parse((PACKAGE / file).read_text())) if isinstance(node, ast.stmt)]
    return max(node.lineno for node in statements if node.lineno <= line <= (node.end_lineno or 0))


def _in_common(test: str, file: str) -> int:
    """Return how many folders of a test are those of a file, and its name: test_routing.py is about routing.py."""
    names = test.partition("::")[0].replace("tests/unit/", "").replace("test_", "").split("/")
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(names, file.split("/"), strict=False)))


@contextlib.contextmanager
def copies(number: int, tests: Sequence[str]) -> Iterator[tuple[list[Path], Reach]]:
    """Make copies of the repository; in the first the tests are run once, to know which lines each reaches."""
    with tempfile.TemporaryDirectory(prefix="logdirwatch-mutation-") as scratch:
        first = Path(scratch) / "0"
        listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.splitlines()
        for name in filter(os.path.exists, listed):
            target = first / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(name, target)
        reach = _reach(first, tests)
        others = [Path(scratch) / str(more) for more in range(1, number)]
        for other in others:
            shutil.copytree(first, other, symlinks=True)
        yield [first, *others], reach


def _reach(stage: Path, tests: Sequence[str]) -> Reach:
    data = stage / ".reach"
    said = stage / ".output"
    if _in_child(lambda: _run_covered(stage, data, tests), str(said)) not in {0, 1}:
        raise SystemExit(f"without a defect the tests cannot be run:\n{said.read_text()}")
    # Under coverage's eyes threads may fail to start; a test that fails without a defect proves nothing.
    failing = set((stage / FAILING).read_text().splitlines())
    found: dict[str, dict[int, set[str]]] = defaultdict(dict)
    read = coverage.CoverageData(str(data))
    read.read()
    for file in read.measured_files():
        name = str(Path(file).relative_to(stage.resolve() / PACKAGE))
        found[name] = {line: set(names) - failing for line, names in read.contexts_by_lineno(file).items()}
    return Reach(found, sorted(failing))


def _run_covered(stage: Path, data: Path, tests: Sequence[str]) -> int:
    measured = coverage.Coverage(data_file=str(data), source=[str(stage / PACKAGE)], config_file=False)
    measured.start()
    switch = _Switch(measured)
    code = _pytest(stage, [f"tests/unit/{name}" for name in tests], [switch])
    measured.stop()
    measured.save()
    (stage / FAILING).write_text("\n".join(switch.failing))
    return code


def _function(test: str) -> str:
    return test.partition("[")[0]


class _Switch:
    """Says which test runs, by its function: its cases reach about the same. Notes those that fail."""

    def __init__(self, measured: coverage.Coverage) -> None:
        self._measured = measured
        self.failing: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failing.add(_function(report.nodeid))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._measured.switch_context(_function(item.nodeid))
        yield
        self._measured.switch_context("")


def tried(stage: Path, file: str, defect: Defect, reach: Reach) -> Outcome:
    """Plant a defect, run the tests that reach it, and take it out again."""
    tests = reach.tests(file, defect.line)
    if not tests:
        return Outcome.UNREACHED
    path = stage / PACKAGE / file
    source = path.read_text()
    lines = source.splitlines()
    lines[defect.line - 1] = defect.after
    try:
        _write(path, "\n".join([*lines, ""]))
        code = _in_child(lambda: _pytest(stage, ["-x", *tests], []), os.devnull, CPU_S)
    finally:
        _write(path, source)
    return Outcome.SURVIVED if code == 0 else Outcome.CAUGHT


def _write(path: Path, source: str) -> None:
    """Write a module, and forget its compiled file: Python compares only sizes and whole seconds."""
    path.write_text(source)
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()


def _pytest(stage: Path, tests: Iterable[str], plugins: list[object]) -> int:
    os.chdir(stage)
    sys.path[:0] = [str(stage), str(stage / "streaming")]
    os.environ["PYTHONPATH"] = str(stage / "streaming")
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]
    words = ["-n", "0", "-q", "-p", "no:cacheprovider", "--hypothesis-profile=mutation", "--timeout=300"]
    # The parent imported libraries that bring plugins.
    words += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    return int(pytest.main([*words, *tests], plugins=plugins))


def _in_child(work: Callable[[], int], said: str, cpu_s: int = resource.RLIM_INFINITY) -> int:
    """Run something in a process of its own, which has imported nothing of the package yet; return its exit code."""
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))
        output = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        try:
            os._exit(work())
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(ProcessLookupError):
        # What a test started that was ended.
        os.killpg(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(status)
