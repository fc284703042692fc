"""Tables of what other programs wrote, in tests/data: a row a line, its columns between tabs."""

from pathlib import Path

DATA = Path(__file__).parents[1] / "data"


def rows(name: str) -> list[list[str | None]]:
    """Return the rows of a table: ``-`` is None, ``⏎`` and ``⇥`` are what they show; a line with no tab is a remark."""
    lines = (DATA / f"{name}.tsv").read_text(encoding="utf-8").split("\n")
    return [[_cell(cell) for cell in line.split("\t")] for line in lines if "\t" in line]


def _cell(text: str) -> str | None:
    return None if text == "-" else text.replace("⏎", "\n").replace("⇥", "\t")
