"""Where remote storage does not get what fills a directory, that is looked at; not where copies wait on purpose."""

import pytest

from logdirwatch.plan.relief.remote_copies import STEP, remote_copy_drafts
from tests.unit.plan.builders import MIB, directory, facts, replica, topic

TIERED = {"remote.storage.enable": "true", "local.retention.bytes": "-2"}


@pytest.mark.parametrize(
    ("lag", "is_looked_at"),
    [
        ({}, True),
        ({"remote.copy.lag.ms": "0", "remote.copy.lag.bytes": "-1"}, True),
        ({"remote.copy.lag.ms": "3600000", "remote.copy.lag.bytes": "-1"}, False),
        ({"remote.copy.lag.ms": "-1"}, False),
        ({"remote.copy.lag.ms": "3600000", "remote.copy.lag.bytes": "0"}, True),
    ],
)
def test_what_waits_on_purpose_is_no_fault_to_look_for(lag, is_looked_at):
    source = directory(1)
    waiting = topic("t", (1,), configs=TIERED | lag, remote_copy_lag_bytes=90 * MIB)
    found = remote_copy_drafts(source, facts(source, waiting, replica(1, "/d1", "t", size=100 * MIB)))
    assert [draft.target["step"] for draft in found] == [STEP] * is_looked_at
