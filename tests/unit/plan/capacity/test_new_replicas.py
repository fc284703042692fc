"""Where new replicas may be born, and what that brings to directories that the plan did not choose."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.plan.capacity.new_replicas import most_births, passing_bytes


@pytest.mark.parametrize(
    ("counts", "new", "births"),
    [
        ({"/d1": 0, "/d2": 9}, 5, 5),
        ({"/d1": 9, "/d2": 0}, 5, 0),
        ({"/d1": 3, "/d2": 3}, 1, 1),
        ({"/d1": 3, "/d2": 3}, 4, 2),
        ({"/d1": 3, "/d2": 3}, 5, 3),
        ({"/d1": 3}, 5, 5),
    ],
)
def test_the_directory_with_the_fewest_logs_is_born_into(counts, new, births):
    assert most_births(counts, dict.fromkeys(counts, 0), "/d1", new) == births


def reachable(counts, targeted, path, new):
    """Every way Kafka may take: ties in any order, and any number of the copies arrived at any time."""
    arrived = itertools.product(*(range(targeted[other] + 1) for other in counts))
    return max(
        _walk({p: counts[p] + more for p, more in zip(counts, extra, strict=True)}, path, new) for extra in arrived
    )


def _walk(counts, path, new):
    if new == 0:
        return 0
    fewest = min(counts.values())
    taken = [other for other, count in counts.items() if count == fewest]
    return max((other == path) + _walk(counts | {other: counts[other] + 1}, path, new - 1) for other in taken)


@given(
    counts=st.lists(st.integers(0, 3), min_size=1, max_size=3),
    targeted=st.lists(st.integers(0, 2), min_size=3, max_size=3),
    new=st.integers(0, 4),
)
def test_no_way_that_kafka_may_take_gives_a_directory_more(counts, targeted, new):
    named = {f"/d{number}": count for number, count in enumerate(counts)}
    arrived = {path: targeted[number] for number, path in enumerate(named)}
    for path in named:
        others = arrived | {path: 0}
        assert most_births(named, arrived, path, new) >= reachable(named, others, path, new)


@pytest.mark.parametrize(
    ("counts", "landed", "passing"),
    [
        ({"/big": 9, "/small": 0}, [(100, "/big")], {"/big": 0, "/small": 100}),
        ({"/big": 0, "/small": 9}, [(100, "/big")], {"/big": 0, "/small": 0}),
        ({"/big": 9, "/small": 0}, [(100, "/big"), (300, "/big")], {"/big": 0, "/small": 400}),
        ({"/big": 1, "/small": 0}, [(100, "/big"), (300, "/big"), (200, "/big")], {"/big": 0, "/small": 600}),
        ({"/big": 0, "/small": 0}, [(100, None)], {"/big": 100, "/small": 100}),
        ({"/only": 5}, [(100, "/only")], {"/only": 0}),
        ({0: 4, 1: 4}, [(100, 0)], {0: 0, 1: 100}),
    ],
)
def test_what_may_be_born_beside_its_directory_counts_there_at_its_full_size(counts, landed, passing):
    assert passing_bytes(counts, landed) == passing
