"""The driver converts rows with pyarrow, and pandas stays out of its memory."""

import subprocess
import sys

CONVERTS = """
import sys
import logdirwatch.jobs.application
from logdirwatch.jobs import no_pandas
from logdirwatch.store.direct.arrow import arrow_rows
from logdirwatch.store.schema.definitions import BROKER_STATE
{keep_out}
rows = arrow_rows(BROKER_STATE, [{{"cluster": "prod", "broker": 1}}])
assert rows.num_rows == 1
import pyspark.testing
print("pandas" in sys.modules)
import pandas
print(pandas.Series([1]).sum())
"""


def printed(keep_out):
    program = [sys.executable, "-c", CONVERTS.format(keep_out=keep_out)]
    return subprocess.run(program, capture_output=True, text=True, check=True).stdout.split()


def test_rows_are_converted_without_pandas_which_can_still_be_imported():
    assert printed("no_pandas.keep_out()") == ["False", "1"]


def test_without_it_pyarrow_would_import_pandas():
    assert printed("") == ["True", "1"]
