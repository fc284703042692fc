"""The state of a broker is read by the release that wrote it."""

import pytest

from logdirwatch.detect.state.broker_state import BrokerMemory, decode, encode
from logdirwatch.errors import UserError


def test_state_of_another_release_is_refused_with_one_line():
    body = encode(BrokerMemory(cluster="prod", broker=7))
    with pytest.raises(UserError, match="state of version 2, this release reads version 1"):
        decode(2, body)
    with pytest.raises(UserError, match="cannot be read"):
        decode(1, "{}")
