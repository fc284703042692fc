import io

import pytest
from rich.console import Console
from rich.text import Text

from logdirwatch.report.layout import listing, sentences


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
