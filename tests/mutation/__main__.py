"""``python -m tests.mutation --mutants 60 --seed 1``: plant single-line defects and count those that no test catches.

Lines are drawn, and for each one of its defects; the unit tests that reach the line are run.
"""

import argparse
import importlib
import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from tests.mutation.defects import Defect, defects, is_of_adapter, is_python
from tests.mutation.judged import EQUIVALENT
from tests.mutation.reach import PACKAGE, Reach
from tests.mutation.trying import Outcome, copies, tried

PACKAGES = (
    "parse",
    "notify",
    "store",
    "jobs",
    "detect/columns",
    "detect",
    "fleet",
    "model",
    "plan",
    "execute",
    "autopilot",
)
CAUGHT_RATIO = 0.95
# Imported once, not by each run of the tests; nothing of the package is among them.
LIBRARIES = (
    "hypothesis",
    "kafka",
    "msgspec",
    "jsonschema",
    "numpy",
    "pyarrow.compute",
    "pydantic",
    "pyspark.sql.functions",
    "structlog",
    "typer",
)


class Drawn(NamedTuple):
    """A defect of a file below the package."""

    file: str
    defect: Defect


def main() -> int:
    arguments = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    arguments.add_argument("--mutants", type=int, default=60, help="how many are drawn in each of the places")
    arguments.add_argument("--seed", type=int, default=1, help="of the draw")
    arguments.add_argument("--only", nargs="+", default=PACKAGES, help="places: files or folders below the package")
    arguments.add_argument(
        "--tests",
        nargs="+",
        default=_own_tests(),
        help="files or folders below tests/unit that may catch them: with those of one folder it takes minutes",
    )
    arguments.add_argument("--processes", type=int, default=1)
    chosen = arguments.parse_args()
    for library in LIBRARIES:
        importlib.import_module(library)
    drawn = {place: _drawn(place, chosen.mutants, chosen.seed) for place in chosen.only}
    with copies(chosen.processes, chosen.tests) as (stages, reach):
        for test in reach.left_out:
            print(f"left out, since it fails without a defect: {test}")
        are_enough = [_told(place, found, _outcomes(found, stages, reach)) for place, found in drawn.items()]
    return 0 if all(are_enough) else 1


def _own_tests() -> list[str]:
    """Return the folders of the tests of the package; what lies beside them judges documents and builds."""
    return sorted(folder.name for folder in Path("tests/unit").iterdir() if (folder / "__init__.py").exists())


def _drawn(place: str, number: int, seed: int) -> list[Drawn]:
    """Return defects of as many lines, the same ones for the same code and seed."""
    chance = random.Random(f"{seed} {place}")
    path = PACKAGE / place
    of_line: dict[tuple[str, int], list[Defect]] = {}
    sources = {str(file.relative_to(PACKAGE)): file.read_text() for file in _files(path)}
    for name, source in sources.items():
        for defect in defects(source):
            of_line.setdefault((name, defect.line), []).append(defect)
    lines = sorted(of_line)
    chance.shuffle(lines)
    chosen = ((line[0], chance.choice(of_line[line])) for line in lines)
    readable = (Drawn(name, defect) for name, defect in chosen if is_python(sources[name], defect))
    return sorted(islice(readable, number), key=lambda drawn: (drawn.file, drawn.defect))


def _files(path: Path) -> list[Path]:
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


def _outcomes(drawn: Sequence[Drawn], stages: Sequence[Path], reach: Reach) -> Iterator[Outcome]:
    free: SimpleQueue[Path] = SimpleQueue()
    for stage in stages:
        free.put(stage)

    def outcome(planted: Drawn) -> Outcome:
        stage = free.get()
        try:
            return tried(stage, planted.file, planted.defect, reach)
        finally:
            free.put(stage)

    with ThreadPoolExecutor(len(stages)) as pool:
        yield from pool.map(outcome, drawn)


def _told(place: str, drawn: Sequence[Drawn], outcomes: Iterable[Outcome]) -> bool:
    """Print what became of a place's defects, each as soon as it is known; tell whether enough were caught."""
    caught = judged = unreached = adapted = 0
    for planted, outcome in zip(drawn, outcomes, strict=True):
        before, after = planted.defect.before.strip(), planted.defect.after.strip()
        if outcome is Outcome.CAUGHT:
            caught += 1
        elif (before, after) in EQUIVALENT:
            judged += 1
        elif outcome is Outcome.UNREACHED and _is_of_adapter(planted):
            adapted += 1
            print(f"{planted.file}:{planted.defect.line}: of an adapter, for the tests with Spark or Kafka")
        else:
            unreached += outcome is Outcome.UNREACHED
            print(f"{planted.file}:{planted.defect.line}: {outcome.value}\n- {before}\n+ {after}", flush=True)
    counted = len(drawn) - judged - adapted
    print(
        f"{place}: {caught} of {counted} are caught ({caught / max(1, counted):.0%}), {CAUGHT_RATIO:.0%} wanted; "
        f"no unit test reaches {unreached}; {judged} others change nothing that anybody sees, "
        f"{adapted} are in adapters\n",
        flush=True,
    )
    return caught >= CAUGHT_RATIO * counted


def _is_of_adapter(planted: Drawn) -> bool:
    return is_of_adapter((PACKAGE / planted.file).read_text(), planted.defect.line)


if __name__ == "__main__":
    sys.exit(main())
