"""Which scenarios a run begins with that has no time for all of them, and which ones it leaves out."""

import time
from collections.abc import Mapping, Sequence

import pytest

LAST = "test_the_tables_that_all_scenarios_left_are_sound"
UNKNOWN_S = 120.0


def in_turn(names: Sequence[str], begin: int) -> list[str]:
    """Return all names, beginning with another one for another ``begin``; what looks at all scenarios stays last."""
    last = [name for name in names if name.endswith(LAST)]
    others = [name for name in names if name not in last]
    first = begin % len(others) if others else 0
    return [*others[first:], *others[:first], *last]


class Budget:
    """How much time is left, reckoned with how much longer than ``durations_s`` scenarios take on this machine."""

    def __init__(self, seconds: float, durations_s: Mapping[str, float], now_s: float) -> None:
        self.left_out: list[str] = []
        self._end_s = now_s + seconds
        self._durations_s = durations_s
        self._reserve_s = sum(length for name, length in durations_s.items() if name.endswith(LAST))
        self._expected_s = self._taken_s = 0.0

    def allows(self, name: str, now_s: float) -> bool:
        """Return whether a scenario would end in time, and leave time for the last one; remember it if not."""
        reserve_s = 0.0 if name.endswith(LAST) else self._reserve_s
        slower = max(1.0, self._taken_s / self._expected_s) if self._expected_s else 1.0
        is_in_time = now_s + slower * (self._duration_s(name) + reserve_s) <= self._end_s
        if not is_in_time:
            self.left_out.append(name)
        return is_in_time

    def took(self, name: str, seconds: float) -> None:
        """Remember how long a scenario really took."""
        self._expected_s += self._duration_s(name)
        self._taken_s += seconds

    def _duration_s(self, name: str) -> float:
        return self._durations_s.get(name, UNKNOWN_S)


class InTime:
    """Begins no test that would not end within ``seconds``, and names those at the end."""

    def __init__(self, seconds: float, durations_s: Mapping[str, float]) -> None:
        self._began_s = time.monotonic()
        self._budget = Budget(seconds, durations_s, self._began_s)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        self._began_s = time.monotonic()
        if self._budget.allows(item.nodeid, self._began_s):
            return None
        # The test before kept for this one what both of them share; the next one may need less of it.
        item.session._setupstate.teardown_exact(nextitem)
        return True

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._budget.took(nodeid, time.monotonic() - self._began_s)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for nodeid in self._budget.left_out:
            terminalreporter.write_line(f"left out, no time: {nodeid}")
