"""The Python workers of a session that this process started itself."""


def seen(batches):
    """Report on the worker this runs in: the process that forked it, what it would import, and its environment."""
    import os
    import sys
    from pathlib import Path

    import pyarrow as pa

    from logdirwatch.jobs.worker_daemon import MODULES

    list(batches)
    command = Path(f"/proc/{os.getppid()}/cmdline").read_text().split("\0")
    missing = [module for module in MODULES if module not in sys.modules]
    yield pa.RecordBatch.from_pylist([{"command": command, "missing": missing, "environment": list(os.environ)}])


def test_a_worker_has_its_modules_from_the_daemon_that_all_workers_share(spark):
    schema = "command array<string>, missing array<string>, environment array<string>"
    worker = spark.range(1).coalesce(1).mapInArrow(seen, schema).first()
    assert "logdirwatch.jobs.worker_daemon" in worker["command"]
    assert worker["missing"] == []
    # It is not in the environment of queries with state, and another environment means another daemon.
    assert "SPARK_SIMPLIFIED_TRACEBACK" not in worker["environment"]
