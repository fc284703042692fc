"""What the tests with Spark and Kafka expect of records that nobody can read, where it takes a moment to see."""

import pytest

from logdirwatch.parse.records import Rejected, parse
from tests.support import bad


@pytest.mark.parametrize(("topic", "value", "says"), bad.RECORDS)
def test_the_reason_says_what_is_wrong(topic, value, says):
    refused = parse(topic, None, value, 5, "prod")
    assert isinstance(refused, Rejected)
    assert says in refused.reason
