"""``.ci/vocabulary``: which words it finds (that the repository is free of them: make lint); the glossary."""

import re
import runpy
from pathlib import Path

import pytest

from logdirwatch.model import vocabulary as words

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / ".ci" / "vocabulary"
Vocabulary = runpy.run_path(str(SCRIPT), run_name="vocabulary")["Vocabulary"]
LIST = "# a comment\nkeep led_anew\n\nanew => again\nparted by => separated by\n"


def found(text, *, is_python=True):
    return list(Vocabulary(LIST).found(text, is_python=is_python))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("# begins Anew", 1),
        ("x = 1\n\ny = 'read anew'", 3),
        ("x = f'{y} anew'", 1),
        ('"""First.\n\nparted\nby commas\n"""', 3),
        ("# parted\n", None),
        ("starts_anew = 1", 1),
        ("class StartsAnew: ...", 1),
        ("led_anew = 1", None),
        ("renewal = 'anewed'", None),
    ],
)
def test_names_comments_docstrings_and_strings_of_python_are_searched(text, line):
    assert [place for place, _ in found(text)] == ([] if line is None else [line])


def test_other_text_is_searched_as_a_whole():
    assert found("A line\nthat is parted\nby commas", is_python=False) == [(2, "parted by")]


@pytest.mark.parametrize("line", ["anew", "anew =>", "=> again"])
def test_a_line_of_another_form_is_refused(line):
    with pytest.raises(ValueError, match="expected"):
        Vocabulary(line)


@pytest.mark.parametrize(
    "kind",
    [
        words.LogDirStatus,
        words.BrokerStatus,
        words.ReplicaStatus,
        words.Cause,
        words.Rule,
        words.Severity,
        words.AlertStatus,
        words.Lane,
        words.ActionKind,
        words.ActionStatus,
        words.Decision,
    ],
)
def test_the_glossary_defines_every_value(kind):
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    rows = [line.split("|") for line in glossary.splitlines() if line.startswith("|")]
    defined = {word for row in rows if row[-2].strip() for word in re.findall(r"`([^`]+)`", "|".join(row[1:-2]))}
    assert {str(value) for value in kind} <= defined
