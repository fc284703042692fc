"""What probes are told of ``notify``."""

import pytest

from logdirwatch.notify.health import Health
from logdirwatch.observe.rounds import STUCK_AFTER_S
from tests.support.clocks import Clock


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def health(clock):
    return Health(clock)


def test_a_loop_that_stands_still_is_ill(health, clock):
    clock.now_s += STUCK_AFTER_S
    assert health.is_ill() is None
    clock.now_s += 1
    assert health.is_ill() == "no round since 2 min"
    health.went_round()
    assert health.is_ill() is None


def test_it_is_ready_while_the_topics_are_read(health):
    assert health.is_unready() == "the telemetry topics cannot be read"
    health.is_reading(is_reading=True)
    assert health.is_unready() is None
    health.is_reading(is_reading=False)
    assert health.is_unready() is not None
