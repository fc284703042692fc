"""``.ci/lanes``: make's targets side by side, by a make that only tells."""

import os
import re
import subprocess
from pathlib import Path

import pytest

LANES = Path(__file__).parents[2] / ".ci" / "lanes"
MAKE = """#!/bin/sh
echo "$1" >>"$TOLD"
case $1 in
  bad) echo "FAILED tests/test_it.py::test_it - of course"; exit 2 ;;
  loud) echo "of loud" ;;
esac
"""


@pytest.fixture
def lanes(tmp_path):
    program = tmp_path / "make"
    program.write_text(MAKE)
    program.chmod(0o755)

    def run(*arguments):
        environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "TOLD": str(tmp_path / "told")}
        done = subprocess.run([LANES, *arguments], capture_output=True, text=True, env=environment, check=False)
        return done, (tmp_path / "told").read_text().split()

    return run


def test_what_passes_passes_and_each_target_tells_how_long_it_took(lanes):
    done, told = lanes("one two", "loud")
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(told) == ["loud", "one", "two"]
    assert told.index("one") < told.index("two")
    assert "== loud\nof loud\nloud: passed, " in done.stdout
    summary = done.stdout.split("\n\n")[-1]
    assert sorted(re.sub(r"\d+", "N", line) for line in summary.splitlines()) == [
        f"{target}: passed, N s, N s of processors" for target in ("loud", "one", "two")
    ]


@pytest.mark.parametrize("arguments", [["bad one", "two"], ["two", "bad one"], ["bad one two"]], ids=str)
def test_a_target_that_fails_fails_the_whole_and_stops_no_other(lanes, arguments):
    done, told = lanes(*arguments)
    assert done.returncode == 1
    assert sorted(told) == ["bad", "one", "two"]
    assert re.search(r"^bad: FAILED, \d+ s, \d+ s of processors$", done.stdout.split("\n\n")[-1], re.MULTILINE)
    assert "== bad failed; the end of what it said\nFAILED tests/test_it.py::test_it" in done.stdout
    assert done.stdout.splitlines()[-1] == "FAILED tests/test_it.py::test_it - of course"
