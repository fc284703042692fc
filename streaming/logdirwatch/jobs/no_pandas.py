"""Keeps pandas out of the driver's memory, where nothing uses it.

pyarrow imports pandas with the first list that it converts, to know pandas' arrays when it sees them. That takes 45
MiB. It looks once in a process; if it finds no pandas then, it goes on without.
"""

import sys
from importlib.abc import MetaPathFinder
from typing import Any

import pyarrow as pa


class _Absent(MetaPathFinder):
    def find_spec(self, fullname: str, *_: Any) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError(fullname)


def keep_out() -> None:
    """Let pyarrow look for pandas now, and find none; what is imported already stays, and pandas can be imported later.

    Afterwards pyarrow converts nothing from and to pandas in this process.
    """
    if "pandas" in sys.modules:
        return
    absent = _Absent()
    sys.meta_path.insert(0, absent)
    try:
        pa.array([None])
    finally:
        sys.meta_path.remove(absent)
