"""How much a volume is grown by."""

import pytest

from logdirwatch.plan.actions.brokers.expand_disk import expand_disk
from logdirwatch.plan.settings import LogDirRule
from tests.unit.plan.builders import MIB, directory, policy
from tests.unit.plan.failures import holds

NEARLY_ENOUGH = 2


def grown(needed, *, maximum=None, used=900):
    rules = () if maximum is None else (LogDirRule(max_bytes=maximum * MIB),)
    return expand_disk(directory(1, "/d1", used * MIB), policy(log_dirs=rules), needed)


@pytest.mark.parametrize(("needed", "more"), [(NEARLY_ENOUGH, 100), (7 * MIB, 100), (140 * MIB, 200)])
def test_a_volume_is_grown_by_what_is_needed_but_never_by_a_few_bytes(needed, more):
    draft = grown(needed)
    assert draft.expected["frees_bytes"] == pytest.approx(more * MIB, abs=MIB)
    assert f"by {more} MiB" in draft.reason


def test_a_maximum_below_a_tenth_more_is_enough_where_less_is_needed():
    draft = grown(NEARLY_ENOUGH, maximum=1050)
    assert draft.expected["frees_bytes"] == 50 * MIB
    assert "allows no more" not in draft.reason
    assert holds(draft, "volume_can_grow") is True


def test_a_maximum_below_what_is_needed_is_said():
    draft = grown(140 * MIB, maximum=1050)
    assert "200 MiB are needed; its maximum allows no more" in draft.reason
    assert holds(draft, "volume_can_grow") is False
