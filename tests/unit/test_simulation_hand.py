"""Some schedules of executions against everybody else, and that planted defects of the kernel are found."""

import pytest

from logdirwatch.execute import kernel
from tests.simulation.hand.adversary import Event
from tests.simulation.hand.pair import of_pair
from tests.simulation.hand.run import every, of_seed, of_story

SEEDS = range(1, 201)
PAIRS = range(1, 31)
FOUND = [
    (10_512, (Event(116, "replica_is_placed", 180_421),)),
    (21_495, (Event(20, "topic_is_created_again", 515_325), Event(21, "replica_is_placed", 624_453))),
    (
        30_672,
        (
            Event(29, "replicas_change", 143_871),
            Event(100, "broker_dies", 741_886),
            Event(105, "plan_is_done", 698_296),
        ),
    ),
    (
        60_223_156,
        (
            Event(58, "acl_changes", 511_168),
            Event(75, "replicas_are_reordered", 59_489),
            Event(90, "kill", 1_005_043),
        ),
    ),
    (60_254_194, (Event(51, "topic_is_created_again", 150_188), Event(53, "configs_are_reset", 448_578))),
    (
        60_274_644,
        (
            Event(18, "request_is_lost", 559_177),
            Event(27, "acl_changes", 226_628),
            Event(28, "plan_is_done", 701_029),
        ),
    ),
    (
        72_003_978,
        (
            Event(1, "disk_fails", 936_342),
            Event(64, "move_is_cancelled", 443_392),
            Event(78, "topic_is_deleted", 472_230),
        ),
    ),
    (
        75_012_014,
        (
            Event(29, "request_is_lost", 985_192),
            Event(35, "throttles_are_cleared", 577_488),
            Event(38, "request_is_lost", 631_541),
            Event(40, "answer_is_lost", 81_814),
        ),
    ),
]
"""Schedules that broke a law, with the fewest events that it takes."""
DEFECTS = {
    "no second look": ("kernel.may_call", lambda call, again: True),
    "what somebody cancelled begins again": ("kernel.begun_by", lambda step, call, seen: kernel.NONE),
    "throttles that are gone stay gone": ("kernel.throttle_before", lambda steps, number: None),
    "copies go on at the end": ("changes.moves_of", lambda steps, record: []),
    "what others did is taken back": ("changes.part_of", lambda step, changes: step),
}
RARE = {"what others did is taken back": [(seed, (Event(6, "plan_is_done", 0),)) for seed in range(-400, -250)]}
"""Small worlds, each with the event that shows a defect which few drawn schedules find."""
ENOUGH = 1_500


def test_no_law_is_broken():
    assert [found for found in map(of_seed, SEEDS) if found.broken] == []


def test_no_law_is_broken_by_two_beside_each_other():
    assert [found for found in map(of_pair, PAIRS) if found.broken] == []


def test_two_that_do_not_know_of_each_other_stop_each_other(monkeypatch):
    monkeypatch.setattr("logdirwatch.execute.watch.with_others", lambda first, others: first)
    assert any("the other execution stops it" in text for seed in PAIRS for text in of_pair(seed).broken)


@pytest.mark.parametrize("story", FOUND, ids=lambda story: str(story[0]))
def test_what_broke_a_law_does_not_any_more(story):
    assert of_story(story).broken == ()


def test_no_law_is_broken_by_any_event_at_any_edge_of_a_small_world():
    assert [found for found in map(of_story, every(worlds=1, ways=1)) if found.broken] == []


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_planted_defect_is_found(defect, monkeypatch):
    monkeypatch.setattr(f"logdirwatch.execute.{DEFECTS[defect][0]}", DEFECTS[defect][1])
    found = map(of_story, RARE[defect]) if defect in RARE else map(of_seed, range(1, ENOUGH))
    assert any(one.broken for one in found)
