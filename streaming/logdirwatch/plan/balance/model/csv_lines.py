"""The lines of a model's CSV as columns, and the errors of invalid lines."""

import codecs
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from logdirwatch.plan.balance.model.cluster import Flags, Numbers

HEADER = ("broker", "rack", "disk", "capacity_bytes", "topic", "partition", "size_bytes", "is_leader")
_FIRST_LINE = 2
"""The line of the first row: the header is line 1."""
_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
    b"\x1f\x8b": "compressed by gzip",
    b"PK\x03\x04": "a ZIP archive or a spreadsheet",
}
"""The first bytes of other file formats; the first match counts."""
_TEXT = pa.dictionary(pa.int32(), pa.string())


class Refusal(Exception):  # noqa: N818 - it is an answer
    """Why a file is not a model, and in which line; ``line`` None: the file as a whole."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.line = line


class Lines:
    """The non-empty lines of a file; a mask is by line."""

    def __init__(self, path: Path) -> None:
        columns = _columns(path)
        is_filled = np.zeros(len(columns[HEADER[0]]), dtype=np.bool_)
        for column in columns.values():
            is_filled |= _by_word(column, pc.not_equal(column.dictionary, ""))
        self._rows = np.flatnonzero(is_filled)
        self._columns = {name: column.take(pa.array(self._rows)) for name, column in columns.items()}
        for name in HEADER:
            self._refuse_control_characters(name)

    def __len__(self) -> int:
        return len(self._rows)

    def number_of(self, line: int) -> int:
        """Return the line number that an editor shows."""
        return int(self._rows[line]) + _FIRST_LINE

    def word(self, name: str, line: int) -> str:
        """Return one field."""
        return str(self._columns[name][line].as_py())

    def words(self, name: str) -> tuple[Numbers, list[str]]:
        """Return a column: by line the index of its word, and the words."""
        column = self._columns[name]
        return column.indices.to_numpy().astype(np.int64), column.dictionary.to_pylist()

    def is_empty(self, name: str) -> Flags:
        """Return the mask of lines without a value in a column."""
        column = self._columns[name]
        return _by_word(column, pc.equal(column.dictionary, ""))

    def numbers(self, name: str, least: int, most: int, needed: Flags) -> Numbers:
        """Return a column of whole numbers; 0 where none is required."""
        column = self._columns[name]
        is_number = pc.match_substring_regex(column.dictionary, "^[0-9]{1,16}$")
        values = pc.cast(pc.if_else(is_number, column.dictionary, "0"), pa.int64()).to_numpy()
        found: Numbers = np.where(needed, values[column.indices.to_numpy()], 0)
        wrong = ~_by_word(column, is_number) | (found < least) | (found > most)
        self.refuse(
            needed & wrong,
            lambda line: f"{name} is {self.word(name, line)!r}, not a whole number from {least} to {most}",
        )
        return found

    def _refuse_control_characters(self, name: str) -> None:
        column = self._columns[name]
        broken = _by_word(column, pc.match_substring_regex(column.dictionary, "[[:cntrl:]]"))
        self.refuse(broken, lambda line: f"{name} {self.word(name, line)!r} holds a control character")

    def refuse(self, wrong: Flags, reason: Callable[[int], str]) -> None:
        """Raise Refusal for the first line that a mask marks as invalid, if there is one."""
        if wrong.any():
            line = int(np.argmax(wrong))
            raise Refusal(reason(line), self.number_of(line))


def _columns(path: Path) -> dict[str, Any]:
    """Return the columns as dictionary-encoded text; every line is one row, so that a row identifies its line."""
    bad: list[Any] = []

    def skip(row: Any) -> str:
        bad.append(row)
        return "skip"

    try:
        table = csv.read_csv(
            pa.BufferReader(_text(path)),
            read_options=csv.ReadOptions(use_threads=False),
            parse_options=csv.ParseOptions(ignore_empty_lines=False, invalid_row_handler=skip),
            convert_options=csv.ConvertOptions(column_types=dict.fromkeys(HEADER, _TEXT), strings_can_be_null=False),
        )
    except pa.ArrowInvalid as error:
        raise Refusal(str(error).splitlines()[0]) from None
    if tuple(table.column_names) != HEADER:
        raise Refusal(f"the header must be {','.join(HEADER)}", 1)
    if bad:
        fields = "unbalanced quotes" if "\n" in bad[0].text else f"{bad[0].actual_columns} fields"
        raise Refusal(f"{fields}; {len(HEADER)} fields belong there", bad[0].number)
    return {name: table.column(name).combine_chunks() for name in HEADER}


def _text(path: Path) -> bytes:
    """Return a file's bytes; raises Refusal unless they are UTF-8, for which Arrow has many different errors."""
    data = path.read_bytes()
    try:
        data.decode()
    except UnicodeDecodeError as error:
        found = next((name for mark, name in _MARKS.items() if data.startswith(mark)), None)
        if found is not None:
            raise Refusal(f"the file is {found}, not UTF-8 text: write it again as UTF-8") from None
        line = data.count(b"\n", 0, error.start) + 1
        raise Refusal(f"byte 0x{data[error.start]:02x} is not UTF-8: write the file again as UTF-8", line) from None
    return data


def _by_word(column: Any, is_so: Any) -> Flags:
    """Expand values by word to values by row."""
    if not len(column):
        return np.zeros(0, dtype=np.bool_)
    found: Flags = is_so.to_numpy(zero_copy_only=False).astype(np.bool_)[column.indices.to_numpy()]
    return found
