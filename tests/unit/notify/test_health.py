"""What probes are told of ``notify``."""

import pytest

from logdirwatch.notify.health import Health
from logdirwatch.observe.progress import ILL_AFTER, declared_s
from tests.support.clocks import Clock


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def health(clock):
    return Health(clock)


def test_a_loop_without_progress_is_not_ready_at_once_and_ill_when_that_lasts(health, clock):
    health.is_reading(is_reading=True)
    clock.now_s += declared_s("notify")
    assert health.is_unready() is None
    clock.now_s += 1
    assert health.is_unready() == "no progress: notify for 1 min 1 s"
    assert health.is_ill() is None
    clock.now_s += (ILL_AFTER - 1) * declared_s("notify")
    assert health.is_ill() == "no progress: notify for 2 min 1 s"
    health.went_round()
    assert (health.is_ill(), health.is_unready()) == (None, None)


def test_it_is_ready_while_the_topics_are_read(health):
    assert health.is_unready() == "the telemetry topics cannot be read"
    health.is_reading(is_reading=True)
    assert health.is_unready() is None
    health.unheard = {"pager": 360_000}
    assert (health.is_unready(), health.is_ill()) == ("takes no messages: pager for 6 min", None)
    health.is_reading(is_reading=False)
    assert health.is_unready() == "the telemetry topics cannot be read"
