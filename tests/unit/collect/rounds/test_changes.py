"""Events tell what changed between two polls, and nothing else."""

import pytest

from logdirwatch.collect.rounds.changes import changes
from tests.unit.collect.builders import RESERVE, log_dir


def news_of(*polls):
    """Return the events of each poll of one directory, by name."""
    seen, told = {}, []
    for answer in polls:
        seen, events = changes(seen, [answer], lambda path, total: RESERVE)
        told.append([str(change.event) for change in events])
    return told


HEALTHY = log_dir()
FAILED = log_dir(error_code=56)
STRANGE = log_dir(error_code=-1)
FULL = log_dir(usable=RESERVE - 1)
ALMOST_FULL = log_dir(usable=RESERVE)
NO_SIZES = log_dir(total=None, usable=None)


@pytest.mark.parametrize(
    ("polls", "told"),
    [
        ((HEALTHY, HEALTHY), [[], []]),
        ((FAILED, FAILED), [[], []]),
        ((FULL, FULL), [[], []]),
        ((HEALTHY, FAILED), [[], ["LogDirFailure"]]),
        ((HEALTHY, FAILED, FAILED), [[], ["LogDirFailure"], []]),
        ((HEALTHY, FAILED, HEALTHY), [[], ["LogDirFailure"], ["LogDirRecovered"]]),
        ((FAILED, HEALTHY), [[], ["LogDirRecovered"]]),
        ((HEALTHY, STRANGE, FAILED), [[], [], ["LogDirFailure"]]),
        ((HEALTHY, STRANGE, HEALTHY), [[], [], []]),
        ((STRANGE, FAILED), [[], []]),
        ((HEALTHY, ALMOST_FULL, FULL), [[], [], ["LogDirSaturated"]]),
        ((HEALTHY, FULL, FULL, HEALTHY, FULL), [[], ["LogDirSaturated"], [], [], ["LogDirSaturated"]]),
        ((HEALTHY, FULL, FAILED, FULL), [[], ["LogDirSaturated"], ["LogDirFailure"], ["LogDirRecovered"]]),
        ((HEALTHY, FAILED, FULL), [[], ["LogDirFailure"], ["LogDirRecovered", "LogDirSaturated"]]),
        ((NO_SIZES, FULL), [[], []]),
        ((NO_SIZES, FAILED), [[], ["LogDirFailure"]]),
    ],
)
def test_a_directory_is_news_when_it_changes(polls, told):
    assert news_of(*polls) == told


def test_a_poll_that_told_nothing_forgets_nothing():
    seen, _ = changes({}, [HEALTHY], lambda path, total: RESERVE)
    seen, silent = changes(seen, [], lambda path, total: RESERVE)
    _, events = changes(seen, [FAILED], lambda path, total: RESERVE)
    assert silent == []
    assert [str(change.event) for change in events] == ["LogDirFailure"]


def test_each_directory_is_judged_by_its_own_reserve():
    limits = {"/d1": 10, "/d2": 1_000}
    polls = [
        [log_dir("/d1", usable=2_000), log_dir("/d2", usable=2_000)],
        [log_dir("/d1", usable=500), log_dir("/d2", usable=500)],
    ]
    seen = {}
    for answers in polls:
        seen, events = changes(seen, answers, lambda path, total: limits[path])
    assert [change.log_dir.path for change in events] == ["/d2"]
