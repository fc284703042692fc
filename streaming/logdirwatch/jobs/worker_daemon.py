"""Spark's daemon of Python workers, which imports what they need before it forks them.

Spark runs it as ``spark.python.daemon.module``. The daemon of PySpark forks a worker for each task slot, and each then
imports pandas, pyarrow and this package for itself; here the workers share the modules and the memory they occupy.
"""

import gc
import os
import sys
from importlib import import_module

MODULES = (
    "logdirwatch.jobs.processors",
    "logdirwatch.jobs.processors",
    "logdirwatch.store.writing.intake",
    # PySpark imports these only when a worker has its first task.
    "concurrent.futures.thread",
    "pandas",
    "pyarrow.pandas_compat",
    "pyarrow.vendored.version",
    "pyspark.daemon",
    "pyspark.sql.streaming.proto.StateMessage_pb2",
    "pyspark.sql.streaming.stateful_processor_api_client",
    "pyspark.testing.utils",
    "pyspark.worker",
)

# A forked process has only the thread that forked it. A library that starts threads on import would miss them there.
NO_THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}

# Arrow's own allocator takes 8 MiB more of each worker, whose batches are small.
FEW_BYTES = {"ARROW_DEFAULT_MEMORY_POOL": "system"}


def import_modules() -> None:
    """Import what the workers need, in a single thread."""
    os.environ.update({**NO_THREADS, **FEW_BYTES})
    for module in MODULES:
        import_module(module)


def keep_shared() -> None:
    """Avoid what would make every worker create or copy memory.

    A worker invalidates Python's caches of its import path with its first task, and so reads the directory of each
    archive in them again. A garbage collection writes to the pages of all objects.
    """
    sys.path_importer_cache.clear()
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    import_modules()
    keep_shared()
    import_module("pyspark.daemon").manager()
