"""How full directories get, and which of them share a volume."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.model.vocabulary import LogDirStatus
from logdirwatch.plan.capacity.projected_use import Space, alike, is_same_volume, most_births, passing_sizes, volumes
from tests.unit.plan.builders import MIB, directory, facts, replica


def test_directories_of_one_volume_fill_together():
    shared = [directory(1, path, 500 * MIB, volume="sda1") for path in ("/d1", "/d2")]
    space = Space(facts(*shared, directory(1, "/d3", 500 * MIB)))
    space.add((1, "/d1"), 100 * MIB)
    assert space.ratio((1, "/d1")) == space.ratio((1, "/d2")) == pytest.approx(0.6)
    assert space.ratio((1, "/d3")) == pytest.approx(0.5)


def test_what_is_not_known_is_no_shared_volume():
    one = directory(1, "/d1")
    assert not is_same_volume(one, directory(1, "/d2", used=None))
    assert not is_same_volume(one, replace(one, path="/d2", total_bytes=None))
    assert is_same_volume(one, replace(one, path="/d2"))


GIB = 1 << 30


@pytest.mark.parametrize(
    ("total_gib", "free_bytes", "other_gib", "other_free_bytes", "is_one"),
    [
        (4096, 600 * GIB, 700, 600 * GIB, True),
        (700, 600 * GIB, 4096, 600 * GIB, True),
        (4096, 600 * GIB, 600, 600 * GIB, True),
        (4096, 600 * GIB, 700, 600 * GIB + MIB, True),
        (4096, 600 * GIB, 700, 600 * GIB - MIB, True),
        (4096, 600 * GIB, 700, 600 * GIB + 2 * MIB, False),
        (4096, 600 * GIB, 700, 599 * GIB, False),
        (4096, GIB, 700, GIB, True),
        (4096, GIB, 700, GIB + MIB, False),
        (4096, 0, 700, 0, False),
        (4096, 4096, 700, 4096, False),
        (4096, 600 * GIB, 4096, 600 * GIB + 16 * MIB, True),
    ],
    ids=[
        "a small one beside it",
        "or a large one",
        "an empty one",
        "seen a moment later",
        "or before",
        "much later",
        "another disk",
        "nearly full to the byte",
        "nearly full by chance",
        "both full",
        "but for a block",
        "the same size: one volume",
    ],
)
def test_data_sets_of_one_pool_have_the_same_free_bytes(total_gib, free_bytes, other_gib, other_free_bytes, is_one):
    pair = [(total_gib * GIB, free_bytes), (other_gib * GIB, other_free_bytes)]
    one, other = (
        directory(1, f"/d{n}", total - free, total=total, status=LogDirStatus.CRITICAL)
        for n, (total, free) in enumerate(pair)
    )
    assert is_same_volume(one, other) is is_one
    if total_gib != other_gib:
        shared = volumes(facts(one, other))[one.place]
        assert len(shared) == (2 if is_one else 1)


def held(path, size_mib):
    return replica(1, path, "t", partition=int(path[-1]), size=size_mib * MIB)


@pytest.mark.parametrize(
    ("parts", "are_one"),
    [
        ([directory(1, "/d1", 0), directory(1, "/d2", 0)], False),
        ([directory(1, "/d1", 50 * MIB), directory(1, "/d2", 50 * MIB)], False),
        ([directory(1, "/d1", 60 * MIB), directory(1, "/d2", 60 * MIB), held("/d1", 10), held("/d2", 10)], False),
        ([directory(1, "/d1", 60 * MIB), directory(1, "/d2", 60 * MIB), held("/d1", 1)], False),
        ([directory(1, "/d1", 400 * MIB), directory(1, "/d2", 400 * MIB), held("/d1", 390), held("/d2", 390)], False),
        ([directory(1, "/d1", 400 * MIB), directory(1, "/d2", 400 * MIB), held("/d1", 390)], True),
        ([directory(1, "/d1", 400 * MIB), directory(1, "/d2", 400 * MIB), held("/d1", 190), held("/d2", 190)], True),
        ([directory(1, "/d1", 400 * MIB), directory(1, "/d2", 400 * MIB), held("/d1", 300), held("/d2", 20)], True),
        ([directory(1, "/d1", 400 * MIB), directory(1, "/d2", 300 * MIB), held("/d1", 190)], False),
        ([directory(1, "/d1", 0, volume="sda1"), directory(1, "/d2", 0, volume="sda1")], True),
        ([directory(1, "/d1", 0, volume="sda1"), directory(1, "/d2", 5 * MIB, volume="sda1")], True),
        (
            [directory(1, "/d1", 400 * MIB, volume="a"), directory(1, "/d2", 400 * MIB, volume="b"), held("/d1", 390)],
            False,
        ),
        ([directory(1, "/d1", 400 * MIB, volume="a"), directory(1, "/d2", 400 * MIB), held("/d1", 390)], False),
    ],
    ids=[
        "new and empty",
        "with the overhead of a file system",
        "with a little on both",
        "with next to nothing on one",
        "balanced to the byte",
        "what one holds is missing in both",
        "each has room for both in its used bytes",
        "they hold different amounts and are used the same",
        "different use",
        "told",
        "told, and read a moment apart",
        "told to be two",
        "told of one of them",
    ],
)
def test_directories_are_one_volume_when_it_is_told_or_their_replicas_show_it(parts, are_one):
    shared = volumes(facts(*parts))[1, "/d1"]
    assert shared == (((1, "/d1"), (1, "/d2")) if are_one else ((1, "/d1"),))


def test_those_that_look_alike_and_count_as_separate_are_named():
    parts = [directory(1, f"/d{number}", 0) for number in (3, 1, 2)]
    told = [directory(2, path, 0, volume="sda1") for path in ("/d1", "/d2")]
    different = [directory(3, "/d1", 0), directory(3, "/d2", 400 * MIB)]
    assert [tuple(d.path for d in found) for found in alike(facts(*parts, *told, *different))] == [
        ("/d1", "/d2", "/d3")
    ]


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
    assert {one: sum(passing_sizes(counts, landed, one)) for one in counts} == passing
