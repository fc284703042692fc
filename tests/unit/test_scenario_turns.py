import json
import re
from pathlib import Path

from tests.scenarios.turns import LAST, UNKNOWN_S, Budget, InTime, in_turn

pytest_plugins = ["pytester"]

SCENARIOS = Path(__file__).parents[1] / "scenarios"
NAMES = ["a", "b", "c", f"file::{LAST}"]


def test_every_scenario_is_there_whichever_is_the_first_and_the_last_stays_the_last():
    for begin in range(7):
        turn = in_turn(NAMES, begin)
        assert sorted(turn) == sorted(NAMES)
        assert turn[0] == NAMES[begin % 3]
        assert turn[-1] == NAMES[-1]


def test_the_last_one_alone_is_a_turn_too():
    assert in_turn(NAMES[-1:], 5) == NAMES[-1:]


def test_what_would_end_too_late_is_left_out_and_a_shorter_one_is_not():
    budget = Budget(100, {"long": 80, "short": 20, NAMES[-1]: 30}, now_s=1_000)
    assert not budget.allows("long", 1_000)
    assert budget.allows("short", 1_040)
    assert not budget.allows("short", 1_051)
    assert budget.allows(NAMES[-1], 1_070)
    assert budget.left_out == ["long", "short"]


def test_on_a_slow_machine_less_fits():
    budget = Budget(100, {"a": 20, "b": 20}, now_s=0)
    budget.took("a", 60)
    assert not budget.allows("b", 60)
    assert budget.allows("b", 40)


def test_a_quick_machine_is_not_believed_to_stay_quick_and_a_new_scenario_takes_long():
    budget = Budget(UNKNOWN_S, {"a": 20}, now_s=0)
    budget.took("a", 1)
    assert budget.allows("new", 0)
    assert not budget.allows("new", 1)


def test_what_is_left_out_between_two_files_keeps_neither_from_running(pytester):
    pytester.makepyfile(test_one="def test_a(): pass\ndef test_b(): pass", test_two="def test_c(): pass")
    done = pytester.runpytest_inprocess(plugins=[InTime(600, {"test_one.py::test_b": 900})])
    done.assert_outcomes(passed=2)
    done.stdout.fnmatch_lines(["left out, no time: test_one.py::test_b"])


def test_the_length_of_every_scenario_is_known_and_of_nothing_else():
    written = {
        f"tests/scenarios/{file.name}::{name}"
        for file in SCENARIOS.glob("test_*.py")
        for name in re.findall(r"^def (test_\w+)\(", file.read_text(), re.MULTILINE)
    }
    known = json.loads((SCENARIOS / "durations.json").read_text())
    assert {name.partition("[")[0] for name in known} == written
    assert sum(name.endswith(LAST) for name in known) == 1
