"""The list of brokers: what a line says, and the orders."""

import pytest

from logdirwatch.console.brokers import line, ordered, summary
from logdirwatch.report.status.cluster import brokers
from tests.unit.report.rows import TIB, broker, log_dir


def lines(rows, dirs):
    return [line("prod", one) for one in brokers(rows, dirs)]


def test_a_line_says_what_is_bad_how_full_the_broker_is_and_which_directory_is_fullest():
    dirs = [log_dir(7, "/d1", 0.5), log_dir(7, "/d2", 0.9, status="critical"), log_dir(7, "/d3", 0.1, status="offline")]
    (told,) = lines([broker(7)], dirs)
    assert (told.log_dirs, told.bad) == (3, "1 offline, 1 critical")
    assert (round(told.used_ratio, 6), told.total_bytes) == (0.5, 3 * TIB)
    assert told.fullest.log_dir == "/d2"


def test_what_is_not_measured_is_not_guessed():
    (told,) = lines([broker(7)], [log_dir(7, used=None, total_bytes=None)])
    assert (told.log_dirs, told.bad, told.used_ratio, told.total_bytes, told.fullest) == (1, "", None, None, None)
    (unlisted,) = lines([broker(7)], None)
    assert unlisted.log_dirs is None


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("worst", [3, 1, 2]),
        ("fullest directory", [2, 1, 3]),
        ("used", [1, 2, 3]),
        ("rack", [2, 3, 1]),
        ("id", [1, 2, 3]),
        ("none such", [3, 1, 2]),
    ],
)
def test_orders(order, expected):
    rows = [broker(1), broker(2, rack="a"), broker(3, rack="b")]
    dirs = [log_dir(1, "/d1", 0.8), log_dir(2, "/d1", 0.9), log_dir(2, "/d2", 0.1)]
    dirs.append(log_dir(3, used=0.3, status="offline"))
    assert [one.broker.broker for one in ordered(lines(rows, dirs), order)] == expected


def test_brokers_and_directories_are_counted():
    assert summary(lines([broker(1), broker(2)], [log_dir(1)])) == "2 brokers, 1 log directory"
