"""Which directories share a volume, as they are told to or as their numbers show, and whose alert is for all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.detect.state.broker_state import BrokerMemory, LogDirMemory
from logdirwatch.detect.state.shared_volumes import (
    APART_BYTES,
    TOGETHER,
    first_serving,
    may_share,
    on_volume,
    sharing,
    unaccounted_bytes,
    unaccounted_bytes_of_all,
    watch,
)
from logdirwatch.model.records import LogDirSample
from logdirwatch.model.vocabulary import LogDirStatus

TIB = 1 << 40


def sample(path, usable, total=TIB, **fields):
    return LogDirSample(path=path, error_code=0, total_bytes=total, usable_bytes=usable, **fields)


def broker(**dirs):
    return BrokerMemory(cluster="prod", broker=7, log_dirs={f"/{name}": one for name, one in dirs.items()})


def seen(usable=None, total=TIB, status=LogDirStatus.ONLINE, **fields):
    return LogDirMemory(status=status, total_bytes=total, usable_bytes=usable, **fields)


def polls(memory, *rounds):
    """Each round is one answer; the numbers are remembered after they were compared."""
    for samples in rounds:
        watch(memory, samples)
        for one in samples:
            memory.log_dirs[one.path].total_bytes = one.total_bytes
            memory.log_dirs[one.path].usable_bytes = one.usable_bytes
    return {path: log_dir.volume for path, log_dir in memory.log_dirs.items()}


def together(count, *paths, apart=0, total=TIB, **fields):
    """Rounds in which all directories change, each ``apart`` bytes from the one before it."""
    return [
        [sample(path, total // 2 - number * 4096 - at * apart, total, **fields) for at, path in enumerate(paths)]
        for number in range(count)
    ]


def pair():
    return broker(a=LogDirMemory(), b=LogDirMemory())


@pytest.mark.parametrize(("rounds", "volume"), [(TOGETHER, None), (TOGETHER + 1, "of /a"), (2 * TOGETHER, "of /a")])
def test_numbers_that_change_together_ten_times_are_one_volume(rounds, volume):
    assert polls(pair(), *together(rounds, "/a", "/b")) == {"/a": volume, "/b": volume}


@pytest.mark.parametrize(
    ("total", "apart", "is_one"),
    [
        (TIB, APART_BYTES, True),
        (TIB, APART_BYTES + 1, False),
        (1_000_000, 1_000, True),  # a small one: a thousandth of it
        (1_000_000, 1_001, False),
    ],
)
def test_how_near_the_free_bytes_must_be(total, apart, is_one):
    found = polls(pair(), *together(TOGETHER + 1, "/a", "/b", apart=apart, total=total))
    assert found == dict.fromkeys(("/a", "/b"), "of /a" if is_one else None)


def test_directories_of_another_size_are_not_compared():
    rounds = [[sample("/a", 500 - n), sample("/b", 500 - n, TIB + 1)] for n in range(2 * TOGETHER)]
    assert polls(pair(), *rounds) == {"/a": None, "/b": None}


def test_one_sample_apart_starts_the_count_anew_and_ends_what_was_believed():
    memory = pair()
    apart = [sample("/a", 7 << 30), sample("/b", 90 << 30)]
    assert polls(memory, *together(TOGETHER + 1, "/a", "/b")) == {"/a": "of /a", "/b": "of /a"}
    assert polls(memory, apart) == {"/a": None, "/b": None}
    assert polls(memory, *together(TOGETHER, "/a", "/b")) == {"/a": None, "/b": None}


def test_an_answer_without_free_bytes_is_left_out():
    memory = pair()
    rounds = together(TOGETHER, "/a", "/b")
    without = [sample("/a", None), sample("/b", None)]
    for one in rounds:
        watch(memory, one)
        watch(memory, without)
        for found in one:
            memory.log_dirs[found.path].usable_bytes = found.usable_bytes
    assert memory.log_dirs["/a"].twin_samples == TOGETHER - 1


def test_three_directories_on_a_volume_have_one_name():
    memory = broker(a=LogDirMemory(), b=LogDirMemory(), c=LogDirMemory(), d=LogDirMemory())
    rounds = [
        [*found, sample("/d", 3 << 30 | number)]
        for number, found in enumerate(together(TOGETHER + 1, "/c", "/b", "/a"))
    ]
    assert polls(memory, *rounds) == {"/a": "of /a", "/b": "of /a", "/c": "of /a", "/d": None}


def test_the_directories_on_a_volume_are_in_order_and_one_without_is_alone():
    memory = broker(b=seen(volume="v"), a=seen(volume="v"), c=seen(volume="w"), d=seen())
    assert on_volume(memory, "/b") == ["/a", "/b"]
    assert on_volume(memory, "/c") == ["/c"]
    assert on_volume(memory, "/d") == ["/d"]


@pytest.mark.parametrize(
    ("other", "shares"),
    [
        (seen(500), True),
        (seen(500, volume="w", is_volume_told=True), True),  # only what is told of the one itself counts
        (seen(500 + APART_BYTES), True),
        (seen(501 + APART_BYTES), False),
        (seen(500, total=TIB - 1), False),
        (seen(7 << 30, status=LogDirStatus.OFFLINE), True),  # its free bytes are old
        (seen(7 << 30, status=LogDirStatus.UNKNOWN), True),
        (seen(7 << 30, total=None, status=LogDirStatus.OFFLINE), False),
    ],
)
def test_equal_numbers_are_enough_for_doubt(other, shares):
    memory = broker(b=seen(500), a=other)
    assert may_share(memory, "/b") == (["/a", "/b"] if shares else ["/b"])


@pytest.mark.parametrize("total", [None, 0])
def test_directories_of_no_known_size_may_be_anywhere_but_are_not_taken_for_one(total):
    assert may_share(broker(a=seen(total=total), b=seen(total=total)), "/a") == ["/a"]


def test_what_the_host_told_leaves_no_doubt():
    memory = broker(a=seen(500, volume="v", is_volume_told=True), b=seen(500), c=seen(7 << 30, volume="v"))
    assert may_share(memory, "/a") == ["/a", "/c"]
    assert may_share(memory, "/c") == ["/a", "/c"], "what is known counts beside what the numbers show"


def test_the_first_writable_one_has_the_alert_for_all():
    offline = {"status": LogDirStatus.OFFLINE}
    memory = broker(
        a=seen(5, volume="v", **offline), b=seen(5, volume="v"), c=seen(5, volume="v"), d=seen(5, **offline)
    )
    assert sharing(memory, "/c") == ["/b", "/c"]
    assert first_serving(memory, "/c") == "/b"
    assert sharing(memory, "/d") == []
    alone = broker(a=seen(5, **offline))
    assert first_serving(alone, "/a") is None


@pytest.mark.parametrize(
    ("own", "others", "left"),
    [
        (seen(TIB - 100, replica_bytes=30), {}, 70),
        (seen(TIB - 100, replica_bytes=100), {}, 0),
        (seen(TIB - 100, replica_bytes=130), {}, -30),
        (seen(TIB - 100, replica_bytes=None), {}, None),
        (seen(None, replica_bytes=1), {}, None),
        (seen(5, total=None, replica_bytes=1), {}, None),
        (seen(TIB - 100, replica_bytes=30), {"b": seen(TIB - 100, replica_bytes=50)}, 20),
        (seen(TIB - 100, replica_bytes=30), {"b": seen(TIB - 100, replica_bytes=None)}, None),
        (seen(TIB - 100, replica_bytes=30), {"b": seen(7 << 30, replica_bytes=50)}, 70),
    ],
)
def test_what_no_replica_accounts_for_counts_those_of_every_directory_that_may_share(own, others, left):
    assert unaccounted_bytes(broker(a=own, **others), "/a") == left


spaces = st.builds(
    seen,
    st.sampled_from([None, 0, 7, 8 << 20, 1 << 30, TIB]),
    st.sampled_from([None, 0, TIB, 2 * TIB]),
    st.sampled_from([LogDirStatus.ONLINE, LogDirStatus.ONLINE, LogDirStatus.OFFLINE]),
    replica_bytes=st.sampled_from([None, 1, 2]),
    volume=st.sampled_from([None, None, "dev 8:1", "dev 8:2"]),
    is_volume_told=st.booleans(),
)


@given(st.dictionaries(st.sampled_from("abcde"), spaces))
def test_all_directories_at_once_give_what_each_one_gives(dirs):
    memory = broker(**dirs)
    assert unaccounted_bytes_of_all(memory) == {path: unaccounted_bytes(memory, path) for path in memory.log_dirs}
