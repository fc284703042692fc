"""``python -m tests.mutation --mutants 200 --seed 1``: plant defects in the judgement and count those no test catches.

mutmut makes the mutants and runs for each the unit tests that reach it. All of them would take days, so some are drawn.
A mutant that changes nothing but a text for people is left out: what texts must say is asserted where it matters.
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.mutation.judged import EQUIVALENT

PACKAGES = ("detect", "fleet", "model", "notify", "parse", "plan", "store")
TESTS = (
    "collect",
    "detect",
    "fleet",
    "jobs",
    "model",
    "notify",
    "parse",
    "pipeline",
    "plan",
    "report",
    "situations",
    "store",
)
CAUGHT_RATIO = 0.95
# What mutmut says of a mutant; a mutant may loop for ever, or break the interpreter's stack.
CAUGHT, SURVIVED, UNREACHED = ("killed", "timeout", "segfault"), ("survived", "suspicious"), "no tests"
_PROSE = re.compile(r"""["'][^"']*[A-Za-z]{2,} [^"']*["']""")


def main() -> int:
    arguments = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    arguments.add_argument("--mutants", type=int, default=200, help="how many are drawn")
    arguments.add_argument("--seed", type=int, default=1, help="of the draw")
    arguments.add_argument(
        "--only", default="*", help="files below the package, such as plan/vetoes/replica_vetoes.py or fleet/*"
    )
    arguments.add_argument(
        "--tests",
        nargs="+",
        default=TESTS,
        help="files or folders below tests/unit that may catch them: with a module's own tests it takes a minute",
    )
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="logdirwatch-mutation-") as scratch:
        stage = Path(scratch) / "stage"
        _stage(stage, chosen.only, chosen.tests)
        _mutmut(stage, "run", "no-such-mutant")
        drawn = _drawn(stage, chosen.mutants, chosen.seed)
        if not drawn:
            print(f"no mutant in {chosen.only}")
            return 2
        _mutmut(stage, "run", *drawn)
        return _told(stage, drawn)


def _stage(stage: Path, only: str, tests: Iterable[str]) -> None:
    """Copy what the tests need, with the package in ``src``: mutmut looks for it there."""
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.splitlines()
    for name in filter(os.path.exists, listed):
        target = stage / re.sub("^streaming/", "src/", name)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(name, target)
    others = sorted({path.name for path in stage.iterdir()} - {"src", "pyproject.toml", ".git"})
    wanted = [f"src/logdirwatch/{only}"] if only != "*" else [f"src/logdirwatch/{name}/*" for name in PACKAGES]
    settings = {
        "source_paths": ["src"],
        "only_mutate": wanted,
        "also_copy": others,
        "pytest_add_cli_args_test_selection": [f"tests/unit/{name}" for name in tests],
        "use_git_change_detection": False,
    }
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items())
    with (stage / "pyproject.toml").open("a") as file:
        file.write(f"\n[tool.mutmut]\n{lines}")


def _mutmut(stage: Path, *words: str) -> str:
    """Return what mutmut says; it also fails where it found no mutant of a name, so its exit code tells nothing."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-m", "mutmut", *words]
    done = subprocess.run(command, cwd=stage, env=environment, capture_output=True, text=True, check=False)
    return done.stdout


def _drawn(stage: Path, number: int, seed: int) -> list[str]:
    """Return some of the mutants, the same ones for the same code and seed."""
    listed = re.findall(r"^ +(\S+): ", _mutmut(stage, "results", "--all", "true"), re.MULTILINE)
    names = sorted(listed)
    random.Random(seed).shuffle(names)
    found: list[str] = []
    for name in names:
        if len(found) == number:
            break
        if not _is_prose(_mutmut(stage, "show", name)):
            found.append(name)
    return found


def _is_prose(diff: str) -> bool:
    """Whether a mutant changes only texts that people read: the same lines but for what stands in their strings."""
    before, after = changed_lines(diff)
    return bool(_PROSE.search(before)) and _PROSE.sub("", before) == _PROSE.sub("", after)


def changed_lines(diff: str) -> tuple[str, str]:
    """Return what a diff takes away, and what it puts there."""
    lines = [line for line in diff.splitlines() if not line.startswith(("---", "+++"))]
    return tuple("\n".join(line[1:].strip() for line in lines if line.startswith(sign)) for sign in "-+")  # type: ignore[return-value]


def _told(stage: Path, drawn: list[str]) -> int:
    results = dict(re.findall(r"^ +(\S+): (.+)$", _mutmut(stage, "results", "--all", "true"), re.MULTILINE))
    strange = {name: results[name] for name in drawn if results[name] not in {*CAUGHT, *SURVIVED, UNREACHED}}
    if strange:
        print(f"mutmut did not try all mutants, so nothing is known: {strange}")
        return 2
    unreached = [name for name in drawn if results[name] == UNREACHED]
    survivors = {name: _mutmut(stage, "show", name) for name in drawn if results[name] in SURVIVED}
    judged = {name for name, diff in survivors.items() if changed_lines(diff) in EQUIVALENT}
    for name, diff in survivors.items():
        if name not in judged:
            print(f"\nnot caught: {name}\n{diff.split(chr(10), 1)[-1].rstrip()}")
    for name in unreached:
        print(f"reached by no unit test, only by those with Spark or Kafka: {name}")
    caught = len(drawn) - len(unreached) - len(survivors)
    counted = len(drawn) - len(unreached) - len(judged)
    print(f"\n{len(drawn)} mutants: {len(unreached)} reached by no unit test, {len(judged)} judged equivalent")
    by_result = Counter(results[name] for name in drawn)
    print(", ".join(f"{number} {result}" for result, number in by_result.most_common()))
    print(f"{caught} of the other {counted} are caught ({caught / max(1, counted):.1%}), {CAUGHT_RATIO:.0%} wanted")
    return 0 if caught >= CAUGHT_RATIO * counted else 1


if __name__ == "__main__":
    sys.exit(main())
