"""How full directories get, and which of them share a volume."""

from dataclasses import replace

import pytest

from logdirwatch.plan.space import Space, is_same_volume
from tests.unit.plan.builders import MIB, directory, facts


def test_directories_of_one_volume_fill_together():
    shared = [directory(1, "/d1", 500 * MIB), directory(1, "/d2", 500 * MIB), directory(1, "/d3", 100 * MIB)]
    space = Space(facts(*shared))
    space.add((1, "/d1"), 100 * MIB)
    assert space.ratio((1, "/d1")) == space.ratio((1, "/d2")) == pytest.approx(0.6)
    assert space.ratio((1, "/d3")) == pytest.approx(0.1)


def test_what_is_not_known_is_no_shared_volume():
    one = directory(1, "/d1")
    assert not is_same_volume(one, directory(1, "/d2", used=None))
    assert not is_same_volume(one, replace(one, path="/d2", total_bytes=1))
    assert is_same_volume(one, replace(one, path="/d2"))
