"""A few seeds of the simulation, the regressions, and that it finds planted defects; ``make simulate`` runs many."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.simulation.defects import DEFECTS, FOUND_BY
from tests.simulation.promises import PROMISES
from tests.simulation.run import of_seed, simulate
from tests.simulation.shrink import shrunk
from tests.simulation.story import Story, story_of

ROOT = Path(__file__).parents[2]
SEEDS = 5


class Regression(msgspec.Struct):
    """A line of the list: a story that broke a law once, and which."""

    why: str
    story: Story


REGRESSIONS = [
    msgspec.json.decode(line, type=Regression)
    for line in (ROOT / "tests/simulation/regressions.jsonl").read_bytes().splitlines()
]


@pytest.mark.parametrize("seed", range(1, SEEDS + 1))
def test_people_know_what_is_true(seed):
    assert of_seed(seed).wrong == ()


@pytest.mark.parametrize("regression", REGRESSIONS, ids=lambda regression: regression.why)
def test_what_was_mended_stays_mended(regression):
    assert simulate(regression.story).wrong == ()


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_planted_defect_is_found(defect):
    with DEFECTS[defect]():
        assert of_seed(FOUND_BY[defect]).wrong


def test_the_story_of_a_failing_seed_is_made_minimal():
    with DEFECTS["a level never changes"]():
        story, result = shrunk(story_of(FOUND_BY["a level never changes"]))
    assert [fault.kind for fault in story.faults] == ["a disk fills"]
    assert result.wrong[0].law.startswith("worse than what is told")


def test_the_documentation_has_every_promise():
    text = " ".join((ROOT / "docs/reliability.md").read_text(encoding="utf-8").split())
    missing = [promise.sentence for promise in PROMISES.values() if promise.sentence.rstrip(".") not in text]
    assert missing == []


def test_one_seed_is_the_same_run_with_another_order_of_hashes():
    program = "from tests.simulation.run import of_seed; print(of_seed(6).digest, of_seed(7).digest)"
    other = {**os.environ, "PYTHONHASHSEED": "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=other, check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == [of_seed(6).digest, of_seed(7).digest]
