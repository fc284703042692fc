"""What all tiers share: a test that was skipped has proved nothing, so it fails the run; and no test judges by time."""

import gc
import sys
from collections.abc import Iterator

import hypothesis
import pytest

# jsonschema's grammar of URIs takes as long to build as 1,000 tests to run, and no schema here is checked for formats.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

# How fast a machine is proves nothing; pytest's own timeout ends what hangs. A run judges a change, so it draws the
# same few cases each time; a search for new ones draws others, and fifty times as many: make test-search.
_UNTIMED = hypothesis.settings(deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.register_profile("search", _UNTIMED, max_examples=500)
hypothesis.settings.register_profile("same", _UNTIMED, derandomize=True, max_examples=10)
# A planted defect is caught by the first case that fails; the smallest one is of no interest.
_FIRST = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
hypothesis.settings.register_profile("mutation", _UNTIMED, derandomize=True, max_examples=25, phases=_FIRST)
hypothesis.settings.load_profile("same")


class _NoSkips:
    """Collects what was skipped and turns the run red for it."""

    def __init__(self) -> None:
        self.skipped: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self.skipped.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self.skipped.append(report.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.skipped and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for nodeid in self.skipped:
            terminalreporter.write_line(f"SKIPPED, which fails the run: {nodeid}", red=True)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Import and collect without a look for garbage; what was collected stays, and is not looked through again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_NoSkips(), "no-skips")
