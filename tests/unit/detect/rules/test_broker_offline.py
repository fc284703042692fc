"""Maintenance, and restarts that are planned: what is quiet, what is not, and when it is told after all."""

from tests.unit.detect.absences import away_for, timeout
from tests.unit.detect.builders import Driver

MINUTE_MS = 60_000


class TestRestart:
    def test_the_first_failed_polls_after_the_controllers_word_raise_nothing(self):
        """A broker that was just let in again may not answer yet."""
        driver = away_for(Driver().polls(0.5), 2 * MINUTE_MS)
        timeout(timeout(driver, is_fenced=False), is_fenced=False)
        assert (driver.memory.status, driver.alerts) == ("unknown", [])
        timeout(driver, is_fenced=False)
        assert driver.said() == [("broker_unknown", "firing", "critical")]
