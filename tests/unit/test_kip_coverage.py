"""docs/kip-coverage.md: every row is answered, every test that it names exists, its counts are those of its rows."""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "kip-coverage.md").read_text(encoding="utf-8")
PROPOSALS = {"KIP-18", "KIP-112", "KIP-113", "KIP-928"}
COUNTS = re.compile(r"^(\d+) covered, (\d+) partly, (\d+) not yet, (\d+) do not apply: (\d+) rows\.$", re.MULTILINE)
OPENINGS = {"`tests/": "covered", "partly: ": "partly", "not covered yet: ": "not yet", "does not apply: ": "not"}

ROWS = [[cell.strip() for cell in line[1:-1].split("|")] for line in PAGE.splitlines() if re.match(r"\| *\d", line)]


def kind(answer):
    """Return what an answer amounts to, by how it begins."""
    return next((name for opening, name in OPENINGS.items() if answer.startswith(opening)), f"no answer: {answer}")


def named(answer):
    return re.findall(r"`(tests/[^`]*)`", answer)


@cache
def defined(file):
    """Return the tests of a file, those in classes as ``Class::test``."""
    path = ROOT / file
    return set(functions_in(ast.parse(path.read_text(encoding="utf-8")), "")) if path.is_file() else set()


def functions_in(scope, prefix):
    for node in scope.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield prefix + node.name
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            yield from functions_in(node, f"{node.name}::")


def exists(test):
    file, _, name = test.partition("::")
    return name in defined(file)


def test_the_rows_are_numbered_without_a_gap():
    assert [int(row[0]) for row in ROWS] == list(range(1, 110))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_row_names_its_proposal_and_tests_that_exist(row):
    _, proposal, says, answer = row
    assert proposal in PROPOSALS
    assert says
    assert [test for test in named(answer) if not exists(test)] == []
    assert bool(named(answer)) == (kind(answer) in {"covered", "partly"}), "what is proven names its tests"
    assert ("; not covered yet: " in answer) == (kind(answer) == "partly"), "what is proven in part says what is not"


def test_the_counts_are_those_of_the_rows():
    counted = Counter(kind(answer) for *_, answer in ROWS)
    (told,) = COUNTS.findall(PAGE)
    assert counted == Counter(dict(zip(OPENINGS.values(), map(int, told[:4]), strict=True)))
    assert int(told[4]) == len(ROWS)


@pytest.mark.parametrize(
    ("test", "found"),
    [
        ("tests/unit/test_kip_coverage.py::test_the_rows_are_numbered_without_a_gap", True),
        ("tests/unit/plan/test_recommend.py::TestFailed::test_rebuild_then_replace_then_restart", True),
        ("tests/unit/plan/test_recommend.py::test_rebuild_then_replace_then_restart", False),
        ("tests/unit/test_kip_coverage.py::test_that_was_renamed", False),
        ("tests/unit/test_kip_coverage.py::exists", False),
        ("tests/unit/test_kip_coverage.py", False),
        ("tests/unit/test_gone.py::test_the_rows_are_numbered_without_a_gap", False),
    ],
)
def test_a_test_that_was_renamed_is_missed(test, found):
    assert exists(test) is found
