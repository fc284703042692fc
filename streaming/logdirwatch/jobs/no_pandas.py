"""Keeps pandas out of the driver's memory, where nothing uses it.

pyarrow imports pandas with the first list that it converts, to know pandas' arrays when it sees them, and PySpark with
the first argument of a call to Java (by ``pyspark.testing``). That takes 45 MiB. Each looks once in a process; if
it finds no pandas then, it goes on without.
"""

import importlib
import sys
from importlib.abc import MetaPathFinder
from typing import Any

import pyarrow as pa


class _Absent(MetaPathFinder):
    def find_spec(self, fullname: str, *_: Any) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError(fullname)


def keep_out() -> None:
    """Let pyarrow and PySpark look for pandas now, and find none; pandas can be imported later.

    What is imported already stays. Afterwards pyarrow converts nothing from and to pandas in this process.
    """
    if "pandas" in sys.modules:
        return
    absent = _Absent()
    sys.meta_path.insert(0, absent)
    try:
        pa.array([None])
        importlib.import_module("pyspark.testing")
    finally:
        sys.meta_path.remove(absent)
