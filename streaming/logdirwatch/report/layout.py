"""Rows for people: aligned columns if they fit, one block per row on a narrow terminal."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

NARROWEST = 20
_GAP = 2
Row = Sequence[Text]


def listing(headers: Sequence[str], rows: Sequence[Row], width: int) -> RenderableType:
    """Return ``rows`` as a table; its widest column shrinks, and a ``width`` that is too small stacks the cells."""
    widths = _fitted(headers, rows, width)
    return _stacked(rows) if widths is None else _lines(widths, headers, rows)


def sentences(headers: Sequence[str], rows: Sequence[Row], width: int) -> RenderableType:
    """Return ``rows`` whose last cell is a sentence: the other cells as a table, each row followed by its sentence."""
    short = [row[:-1] for row in rows]
    widths = _fitted(headers, short, width)
    if widths is None:
        return _stacked(rows)
    blocks: list[RenderableType] = [_lines(widths, headers, ())]
    for row in rows:
        blocks += [_lines(widths, (), [row[:-1]]), _set_in(row[-1])]
    return Group(*blocks)


def _fitted(headers: Sequence[str], rows: Sequence[Row], width: int) -> list[int] | None:
    """Return the columns' widths, the widest one reduced to the remaining space; None if that is too little."""
    widths = [max(map(_cell_width, (Text(headers[n]), *(row[n] for row in rows)))) for n in range(len(headers))]
    widest = widths.index(max(widths))
    left = width - sum(widths) + widths[widest] - _GAP * (len(widths) - 1)
    if left < min(widths[widest], NARROWEST):
        return None
    widths[widest] = min(widths[widest], left)
    return widths


def _cell_width(cell: Text) -> int:
    return max((line.cell_len for line in cell.split("\n", allow_blank=True)), default=0)


def _lines(widths: Sequence[int], headers: Sequence[str], rows: Sequence[Row]) -> Table:
    view = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), show_header=bool(headers))
    for n, wide in enumerate(widths):
        view.add_column(headers[n] if headers else "", overflow="fold", min_width=wide, max_width=wide)
    for row in rows:
        view.add_row(*row)
    return view


def _stacked(rows: Sequence[Row]) -> Group:
    """Return every cell on its own lines, all but the first indented; paths and words may wrap, nothing is cut off."""
    blocks: list[RenderableType] = []
    for row in rows:
        first, *others = (Text(cell.plain, style=cell.style, overflow="fold") for cell in row)
        blocks.append(first)
        blocks.extend(_set_in(cell) for cell in others if cell.plain)
    return Group(*blocks)


def _set_in(cell: Text) -> Padding:
    return Padding(Text(cell.plain, style=cell.style, overflow="fold"), (0, 0, 0, _GAP), expand=False)
