"""Whether a test catches a planted defect: those tests are run that reach its line, in a copy of the repository."""

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from pathlib import Path

import pytest

from tests.mutation.defects import Defect, planted
from tests.mutation.reach import PACKAGE, Meter, Reach, Test, keep, kept

# A defect may loop for ever, and a test may wait for what never comes: how long beyond what the tests took without it.
MORE_S = 30
# The nearest tests come first, by themselves: most defects are caught by them, and the rest need not be imported.
NEAREST_S = 10.0


class Outcome(Enum):
    """What became of a defect."""

    CAUGHT = "caught"
    SURVIVED = "not caught"
    UNREACHED = "reached by no unit test"


@contextlib.contextmanager
def copies(number: int, tests: Sequence[str]) -> Iterator[tuple[list[Path], Reach]]:
    """Make copies of the repository; in the first those tests are measured that were not, to know what they reach."""
    with tempfile.TemporaryDirectory(prefix="logdirwatch-mutation-") as scratch:
        first = Path(scratch) / "0"
        for name in _listed():
            target = first / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(name, target)
        reach = _reach(first, [name for test in tests for name in _files(Path("tests/unit") / test)])
        others = [Path(scratch) / str(more) for more in range(1, number)]
        for other in others:
            shutil.copytree(first, other, symlinks=True)
        yield [first, *others], reach


def _listed() -> list[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [name for name in listed if Path(name).exists()]


def _files(tests: Path) -> list[str]:
    return [str(tests)] if tests.is_file() else sorted(str(file) for file in tests.rglob("test_*.py"))


def _reach(stage: Path, files: Sequence[str]) -> Reach:
    measured = kept()
    if missing := [file for file in files if file not in measured]:
        said = stage / ".output"
        if _in_child(lambda: _measure(stage, missing, Path.cwd()), str(said)) not in {0, 1}:
            raise SystemExit(f"without a defect the tests cannot be run:\n{said.read_text()}")
        measured = kept()
    return Reach([measured[file] for file in files])


def _measure(stage: Path, files: Sequence[str], root: Path) -> int:
    meter = Meter(stage)
    code = _pytest(stage, files, meter)
    os.chdir(root)
    keep(kept() | meter.measured(files))
    return code


def tried(stage: Path, module: str, defect: Defect, reach: Reach) -> Outcome:
    """Plant a defect, run the tests that reach it, and take it out again."""
    tests = reach.tests(module, defect.line)
    path = stage / PACKAGE / module
    source = path.read_text()
    try:
        _write(path, planted(source, defect))
        is_caught = any(_is_failing(stage, some) for some in _in_turn(tests))
    finally:
        _write(path, source)
    if is_caught:
        return Outcome.CAUGHT
    return Outcome.SURVIVED if tests else Outcome.UNREACHED


def _in_turn(tests: Sequence[Test]) -> Iterator[Sequence[Test]]:
    """Yield the nearest tests, then the others."""
    number, seconds = 0, 0.0
    while number < len(tests) and seconds < NEAREST_S:
        seconds += tests[number].seconds
        number += 1
    return filter(None, [tests[:number], tests[number:]])


def _is_failing(stage: Path, tests: Sequence[Test]) -> bool:
    names = [test.name for test in tests]
    longest_s = MORE_S + 3 * int(max(test.seconds for test in tests))
    all_s = MORE_S + int(sum(test.seconds for test in tests))
    return _in_child(lambda: _pytest(stage, ["-x", *names], timeout_s=longest_s), os.devnull, all_s) != 0


def _write(path: Path, source: str) -> None:
    """Write a module, and forget its compiled file: Python compares only sizes and whole seconds."""
    path.write_text(source)
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()


def _pytest(stage: Path, tests: Iterable[str], *plugins: object, timeout_s: int = 1200) -> int:
    os.chdir(stage)
    sys.path[:0] = [str(stage), str(stage / "streaming")]
    os.environ["PYTHONPATH"] = str(stage / "streaming")
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]
    words = ["-n", "0", "-q", "-p", "no:cacheprovider", "--hypothesis-profile=mutation", f"--timeout={timeout_s}"]
    # The parent imported libraries that bring plugins.
    words += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    return int(pytest.main([*words, *tests], plugins=list(plugins)))


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
