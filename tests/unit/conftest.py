"""What the unit tests share: none leaves a thread that draws random numbers behind."""

import threading

import pytest

from tests.support.waiting import DEADLINE_S

KAFKA_THREADS = ("connects-to-kafka", "kafka-io")


@pytest.fixture(autouse=True)
def no_thread_of_kafka_outlives_its_test():
    """Wait for the clients that a test gave up.

    Their pauses are random, and hypothesis takes that for a random number drawn by the test that runs by then.
    """
    yield
    for thread in threading.enumerate():
        if thread.name.startswith(KAFKA_THREADS):
            thread.join(DEADLINE_S)
