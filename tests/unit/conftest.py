"""What the unit tests share: the lines that are logged; none leaves a thread that draws random numbers behind."""

import threading

import pytest
import structlog

from tests.support.waiting import DEADLINE_S, wait_until

KAFKA_THREADS = ("asks-kafka", "connects-to-kafka", "kafka-io")


@pytest.fixture
def logged():
    with structlog.testing.capture_logs() as lines:
        yield lines


@pytest.fixture(autouse=True)
def no_thread_of_kafka_outlives_its_test():
    """Wait for the clients that a test abandoned.

    Their pauses are random, and hypothesis takes that for a random number drawn by the test that runs by then.
    """
    yield
    wait_until(lambda: not _threads(), DEADLINE_S, lambda: f"still running: {_threads()}", pause_s=0.01)


def _threads():
    return [thread.name for thread in threading.enumerate() if thread.name.startswith(KAFKA_THREADS)]
