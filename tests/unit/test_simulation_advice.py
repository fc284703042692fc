"""Some small clusters, what is advised for them against everything that could be done, and planted defects."""

import pytest

from tests.simulation.advice.laws import of_seed

SEEDS = range(1001, 1061)
FOUND = [
    3,
    6,
    8,
    9,
    15,
    18,
    35,
    42,
    44,
    58,
    167,
    337,
    341,
    633,
    724,
    820,
    103_089,
    104_286,
    104_806,
    300_264,
    500_410,
    501_640,
    *range(1_000_001, 1_000_011),
    1_800_483,
]
"""Worlds in which planted defects break a law, or advice did."""
DEFECTS = {
    "a destination fills by what it gets": ("reassignment.arrivals.Arrivals.veto", lambda *given: None),
    "what stays fills the directory again": ("relief.without_loss._short_bytes", lambda *given: 0),
    "nobody waits for more room": ("relief.planner._has_time_for", lambda *given: False),
    "loss comes beside what loses nothing": (
        "relief.planner.bytes_to_delete",
        lambda source, proposals, needed, *others: needed,
    ),
}


@pytest.mark.parametrize("seed", [*FOUND, *SEEDS])
def test_no_law_is_broken(seed):
    assert of_seed(seed) == []


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_planted_defect_is_found(defect, monkeypatch):
    name, instead = DEFECTS[defect]
    monkeypatch.setattr(f"logdirwatch.plan.{name}", instead)
    assert any(of_seed(seed) for seed in FOUND)
