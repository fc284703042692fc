"""Directories whose replicas have more bytes than their volume has in use: what leaves them frees less."""

import pytest

from logdirwatch.model.vocabulary import ActionKind, LogDirStatus
from tests.unit.plan.answers import recommended, the
from tests.unit.plan.builders import MIB, directory, facts, offline, replica, topic

HERE = (1, "/d1")


def stored(path, *sizes, number=1, name="t", **fields):
    return [replica(number, path, name, n, size * MIB, **fields) for n, size in enumerate(sizes)]


T = topic("t", *[(1,)] * 4)


@pytest.mark.parametrize(
    ("case", "parts", "ratio"),
    [
        ("less than what is used", [directory(1, used=900 * MIB), *stored("/d1", 400, 400)], 1.0),
        ("as much", [directory(1, used=800 * MIB), *stored("/d1", 400, 400)], 1.0),
        ("twice as much", [directory(1, used=400 * MIB), *stored("/d1", 400, 400)], 0.5),
        ("its use is not known", [directory(1, used=None), *stored("/d1", 400, 400)], 1.0),
        ("nothing is used, as its first sample says", [directory(1, used=0), *stored("/d1", 400)], 1.0),
        ("sizes are not known", [directory(1, used=400 * MIB), replica(1, "/d1", "t", size=None)], 1.0),
        ("a copy that arrives is there, too", [directory(1, used=400 * MIB), *stored("/d1", 400),
         *stored("/d1", 400, name="u", is_future=True)], 0.5),
        ("a stray is there, too", [directory(1, used=400 * MIB), *stored("/d1", 400),
         *stored("/d1", 400, name="s")], 0.5),
        ("two directories of one volume share it", [directory(1, used=400 * MIB, volume="v"),
         directory(1, "/d2", 400 * MIB, volume="v"), *stored("/d1", 400), *stored("/d2", 400, name="u")], 0.5),
        ("another volume is another", [directory(1, used=400 * MIB, volume="v"),
         directory(1, "/d2", 400 * MIB, volume="w"), *stored("/d1", 400), *stored("/d2", 800, name="u")], 1.0),
        ("another broker is another", [directory(1, used=400 * MIB), directory(2, used=400 * MIB),
         *stored("/d1", 400), *stored("/d1", 800, number=2)], 1.0),
        ("it is offline, with its last numbers", [offline(1, used=400 * MIB), *stored("/d1", 400, 400)], 0.5),
    ],
)  # fmt: skip
def test_the_share_of_its_size_that_a_replica_takes(case, parts, ratio):
    assert facts(T, *parts).on_disk_ratio(HERE) == pytest.approx(ratio), case


def test_a_directory_that_nobody_lists_takes_replicas_with_their_size():
    assert facts(T).on_disk_bytes(HERE, 100) == 100


FULL = directory(1, used=900 * MIB, growth_bytes_per_s=0.01 * MIB, status=LogDirStatus.CRITICAL)
LIMITED = {"retention.bytes": str(10 * MIB)}
"""Segments have 10 MiB, so no lower limit frees anything."""
HALF = stored("/d1", 450, 450, 450, 450)
"""Together twice what is used."""


@pytest.mark.parametrize(
    ("kind", "parts", "frees_mib"),
    [
        # 201 MiB are needed: one replica of 450 frees 225 of them.
        (ActionKind.MOVE_LOG_DIR, [directory(1, "/d2", 300 * MIB), T, *HALF], 225),
        (ActionKind.MOVE_LOG_DIR, [directory(1, "/d2"), T, *stored("/d1", 300, 300, 600, 600)], 300),
        (ActionKind.MOVE_LOG_DIR, [directory(1, "/d2"), T, *stored("/d1", 200, 200)], 400),
        (ActionKind.REASSIGN, [directory(2, used=300 * MIB), T, *HALF], 225),
        (ActionKind.LOWER_RETENTION, [topic("t", *[(1,)] * 4), *HALF], 50),
        (
            ActionKind.LOWER_RETENTION,
            [topic("t", *[(1,)] * 4, configs={"cleanup.policy": "compact,delete"}), *HALF],
            50,
        ),
        (ActionKind.DELETE_RECORDS, [topic("t", *[(1,)] * 60, configs=LIMITED), *stored("/d1", *[30] * 60)], 50),
    ],
)
def test_what_leaves_it_frees_what_it_takes_on_its_disk(kind, parts, frees_mib):
    action = the(kind, recommended(FULL, *parts, limits={"cut_ratio": 0.85}))
    here = next(one["bytes"] for one in action.expected["on"] if one["log_dir"] == "/d1" and one["broker"] == 1)
    assert here == action.expected["frees_bytes"]
    assert here / MIB == pytest.approx(frees_mib, abs=10)


def test_at_its_destination_it_counts_with_its_size():
    found = recommended(FULL, directory(1, "/d2", 450 * MIB), T, *HALF)
    assert ActionKind.MOVE_LOG_DIR not in {one.kind for one in found if not one.vetoes}
    roomy = the(ActionKind.MOVE_LOG_DIR, recommended(FULL, directory(1, "/d2"), T, *HALF))
    arrives = next(one["bytes"] for one in roomy.expected["on"] if one["log_dir"] == "/d2")
    assert arrives == -450 * MIB
    assert "move 450 MiB in 1 replica" in roomy.reason
    assert "they take 225 MiB of its disk, which come free; enough" in roomy.reason
