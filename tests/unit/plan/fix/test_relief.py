"""What a fix plan frees in time: own moves one after the other, others at their time, running ones not twice."""

import pytest

from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.fix.relief import freed_in_time, given
from tests.unit.plan.builders import action, directory, facts, replica, space_alert, topic

HERE = (1, "/d1")
FULL = directory(1, used=1_000_000_000 - 100_000, total=1_000_000_000, growth_bytes_per_s=1000.0)
"""Full in 100 s, at 1,000 bytes per second."""


def on(*bytes_of):
    return [{"broker": number, "log_dir": path, "bytes": size} for number, path, size in bytes_of]


def move(size, needs_ms, *, kind=ActionKind.MOVE_LOG_DIR, alert_id="alert", name="t", where=HERE):
    plan = {"version": 1, "partitions": [{"topic": name, "partition": 0, "replicas": [1], "log_dirs": ["/d2"]}]}
    expected = {"on": on((*where, size), (1, "/d2", -size)), "needs_ms": needs_ms}
    return action(kind, alert_id=alert_id, reassignment=plan, expected=expected)


def cut(size, needs_ms, **fields):
    return action(ActionKind.LOWER_RETENTION, expected={"on": on((*HERE, size)), "needs_ms": needs_ms}, **fields)


def freed(*agreed, volume=(HERE,), parts=()):
    return freed_in_time(space_alert(), FULL, volume, agreed, facts(FULL, *parts))


@pytest.mark.parametrize(
    ("agreed", "total"),
    [
        ([move(10, 99_999)], 10),
        ([move(10, 100_000)], 0),
        ([move(10, 60_000), move(7, 60_000)], 10),
        ([move(50_000, 60_000), move(7, 60_000)], 50_007),
        ([move(10, 60_000), move(7, 60_000, alert_id="other")], 17),
        ([move(10, 60_000), cut(7, 60_000)], 17),
        ([move(10, None), move(7, 60_000)], 17),
        ([cut(10, None)], 0),
        ([action(ActionKind.INVESTIGATE, expected={})], 0),
        ([move(10, 1, kind=ActionKind.CANCEL_MOVES)], 0),
        ([move(10, 1, where=(2, "/d1"))], 0),
        ([], 0),
    ],
    ids=[
        "in time",
        "when it is full already",
        "the second ends too late",
        "the first makes it last for the second",
        "another alert's runs beside it",
        "a cut runs beside it",
        "one of unknown length delays nothing",
        "a cut of unknown length",
        "what frees nothing",
        "what is done first is in the snapshot",
        "elsewhere",
        "nothing",
    ],
)
def test_what_is_there_before_it_is_full(agreed, total):
    assert freed(*agreed) == total


def test_what_is_seen_to_move_is_counted_in_the_snapshot():
    running = [topic("t", (1,)), replica(1, "/d1", "t"), directory(1, "/d2"), replica(1, "/d2", "t", is_future=True)]
    assert freed(move(10, 1), move(7, 1, name="u"), parts=running) == 7


def test_every_directory_of_the_volume_counts_and_what_is_taken_does_not():
    moved = move(10, 1)
    assert freed(moved, volume=(HERE, (1, "/d2"))) == 10
    assert freed(move(10, 1, where=(1, "/d3")), volume=(HERE, (1, "/d3"))) == 10


class TestWhatIsGiven:
    def test_it_is_added_up_by_directory(self):
        assert given([move(10, 1), cut(5, 1)]) == {HERE: 15, (1, "/d2"): 0}

    def test_copies_that_end_do_not_come(self):
        cancel = action(ActionKind.CANCEL_MOVES, expected={"on": on((*HERE, 3)), "spares_bytes": 20})
        assert given([cancel, cut(5, 1)]) == {HERE: 28}
        alone = action(ActionKind.CANCEL_MOVES, expected={"spares_bytes": 20})
        assert given([alone, alone]) == {HERE: 40}

    def test_what_changes_no_directory_gives_nothing(self):
        assert given([action(ActionKind.INVESTIGATE, expected={"on": None}), action(expected={})]) == {}
