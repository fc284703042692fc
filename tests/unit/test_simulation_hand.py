"""Some schedules of executions against everybody else, and that planted defects of the kernel are found."""

import pytest

from logdirwatch.execute import kernel
from tests.simulation.hand.run import every, of_seed, of_story

SEEDS = range(1, 201)
DEFECTS = {
    "no second look": ("kernel.may_call", lambda call, again: True),
    "what somebody cancelled begins again": ("kernel.begun_by", lambda step, call, seen: kernel.NONE),
    "throttles that are gone stay gone": ("kernel.throttle_before", lambda steps, number: None),
    "copies go on at the end": ("changes.moves_of", lambda steps, record: []),
    "what others did is taken back": ("changes.part_of", lambda step, changes: step),
}
RARE = {"what others did is taken back": 3_600}
"""The seed from which on a defect is looked for that few schedules find."""
ENOUGH = 1_500


def test_no_law_is_broken():
    assert [found for found in map(of_seed, SEEDS) if found.broken] == []


def test_no_law_is_broken_by_any_event_at_any_edge_of_a_small_world():
    assert [found for found in map(of_story, every(worlds=1, ways=1)) if found.broken] == []


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_planted_defect_is_found(defect, monkeypatch):
    monkeypatch.setattr(f"logdirwatch.execute.{DEFECTS[defect][0]}", DEFECTS[defect][1])
    first = RARE.get(defect, 1)
    assert any(of_seed(seed).broken for seed in range(first, first + ENOUGH))
