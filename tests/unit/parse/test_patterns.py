"""Patterns for lines that others write: every repeat has an end, and no line keeps them busy."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from logdirwatch.parse import broker_log, kernel_log
from logdirwatch.parse.patterns import LONGEST, bounded, compiled
from tests.support.adversarial import lines, modules_of, patterns_of, unbounded_repeats
from tests.support.waiting import DEADLINE_S

ROOT = Path(__file__).parents[3]
MODULES = modules_of(broker_log, kernel_log)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("a*b+", f"a{{0,{LONGEST}}}b{{1,{LONGEST}}}"),
        ("(?:a|b)*?c+?", f"(?:a|b){{0,{LONGEST}}}?c{{1,{LONGEST}}}?"),
        (r"\*\+\\*", rf"\*\+\\{{0,{LONGEST}}}"),
        ("[*+][^]*]+[]+]", f"[*+][^]*]{{1,{LONGEST}}}[]+]"),
        (r"[\]*]\[*", rf"[\]*]\[{{0,{LONGEST}}}"),
        (r"(?P<a>.{0,9})(?<!b)(?=c)d?", r"(?P<a>.{0,9})(?<!b)(?=c)d?"),
    ],
)
def test_a_repeat_without_an_end_gets_one(written, expected):
    assert bounded(written) == expected
    re.compile(expected)


def test_what_is_longer_does_not_match():
    pattern = compiled("a.*b", re.IGNORECASE)
    assert pattern.fullmatch("A" + "x" * LONGEST + "B")
    assert not pattern.fullmatch("a" + "x" * (LONGEST + 1) + "b")


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.removeprefix("logdirwatch.parse."))
def test_no_pattern_has_a_repeat_without_an_end(module):
    assert [found.pattern for found in patterns_of([module]) if unbounded_repeats(found)] == []


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.removeprefix("logdirwatch.parse."))
def test_patterns_are_made_in_one_way_only(module):
    nodes = ast.walk(ast.parse(Path(module.__file__).read_text(encoding="utf-8")))
    used = {ast.unparse(node) for node in nodes if isinstance(node, ast.Attribute)}
    makers = ("compile", "match", "search", "fullmatch", "sub", "findall", "finditer", "split")
    assert used & {f"re.{name}" for name in makers} == set()


def test_the_check_finds_a_repeat_without_an_end():
    found = [unbounded_repeats(re.compile(text)) for text in ("a*", "(?:a|(b)+)", "(?=a*)b{2,}", "a{0,9}b?", "[*]")]
    assert found == [1, 1, 2, 0, 0]
    assert len(list(patterns_of(MODULES))) > 300


def test_its_lines_are_what_makes_a_pattern_slow():
    found = list(lines(re.compile(r"sd \d+: .*?.*end"), 12))
    assert "sd 7: xxxxxxxxxxxx" in found
    assert "sd 7: 7: 7: 7: " in [line[:15] for line in found]


def test_no_line_of_a_patterns_own_pieces_keeps_it_busy():
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.adversarial"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=DEADLINE_S,
    )
    assert int(done.stdout) > 3_000
