"""The layout of what is printed: tables, words, and what the stored rows show."""

import io

import pytest
from rich.console import Console
from rich.text import Text

from logdirwatch.report.layout import listing, sentences
from logdirwatch.report.stored import observations
from logdirwatch.report.words import change


def shown(width, *rows, headers=("name", "what")):
    console = Console(file=io.StringIO(), width=width)
    console.print(listing(headers, [[Text(cell) for cell in row] for row in rows], width))
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_a_table_is_shown_where_it_fits():
    assert shown(40, ("a", "b c")) == ["name  what", "a     b c"]


def test_the_widest_column_gives_way():
    assert shown(30, ("a", "word " * 8))[1:] == ["a     word word word word word", "      word word word"]


def test_rows_are_stacked_where_a_table_would_not_fit():
    assert shown(20, ("a" * 15, "word " * 8))[:2] == ["a" * 15, "  word word word"]


def test_a_sentence_stands_below_its_row():
    rows = [[Text("a"), Text("b"), Text("one two three")], [Text("cc"), Text(""), Text("four")]]
    console = Console(file=io.StringIO(), width=14)
    console.print(sentences(("x", "y"), rows, 14))
    lines = [line.rstrip() for line in console.file.getvalue().splitlines()]
    assert lines == ["x   y", "a   b", "  one two", "  three", "cc", "  four"]


def test_a_long_cell_breaks_and_loses_nothing():
    assert (
        "".join(line.strip() for line in shown(10, ("x", "abcdefghijklmnopqrstuvwxyz")))
        == "xabcdefghijklmnopqrstuvwxyz"
    )


@pytest.mark.parametrize("width", [1, 10, 80])
def test_no_rows_are_no_failure(width):
    shown(width)


@pytest.mark.parametrize(
    ("from_status", "to_status", "cause", "text"),
    [
        ("online", "offline", "full", "online > offline (full)"),
        (None, "offline", None, "offline"),
        ("leaderless", "leaderless", None, ""),
        ("offline", "offline", "failed", "(failed)"),
        (None, None, None, ""),
    ],
)
def test_a_transition_says_nothing_where_nothing_changed(from_status, to_status, cause, text):
    assert change(from_status, to_status, cause) == text


@pytest.mark.parametrize("column", ["c1/PartitionFailed/t-0", "c1/PartitionFailed"], ids=["now", "older releases"])
def test_a_failed_partition_has_its_collector_again(column):
    source = {"source_topic": "logdir.events", "source_partition": 0, "source_offset": 3, "kafka_timestamp_ms": 77}
    place = {"cluster": "prod", "broker": 7, "log_dir": "/d1", "timestamp_ms": 5}
    row = {"kind": "event", "event": "PartitionFailed", "collector": column, "topic": "t", "partition": 0}
    (observed,) = observations([source | place | row])
    record = observed.record
    assert (record.collector, record.event, record.topic, record.partition) == ("c1", "PartitionFailed", "t", 0)
