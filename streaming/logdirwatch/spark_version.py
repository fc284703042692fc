"""What differs between the releases of Spark that are supported; nothing else asks which release it is.

Databricks backports: what an API can do is therefore asked of the API, not of the version.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from logdirwatch.errors import UserError

INSTALL = "pip install 'logdirwatch[spark]'"


@dataclass(frozen=True)
class SparkRelease:
    """A minor release: the connectors that PySpark lacks, from Maven, and a class that moved."""

    minor: str
    connectors: tuple[str, ...]
    checkpoint_manager: str


_STREAMING = "org.apache.spark.sql.execution.streaming"


def _release(minor: str, kafka: str, tokens: str, package: str = f"{_STREAMING}.checkpointing") -> SparkRelease:
    """Return a release with the versions of its connector to Kafka and of the token provider that this needs.

    The token provider is listed, since not every mirror has every version of it; all of a minor release work together.
    """
    connectors = (
        f"org.apache.spark:spark-sql-kafka-0-10_2.13:{kafka}",
        f"io.delta:delta-spark_{minor}_2.13:4.4.0",
        f"org.apache.spark:spark-token-provider-kafka-0-10_2.13:{tokens}",
        "com.globalmentor:hadoop-bare-naked-local-fs:0.1.0",
    )
    return SparkRelease(minor, connectors, f"{package}.FileSystemBasedCheckpointFileManager")


RELEASES = {
    release.minor: release
    for release in (
        _release("4.0", kafka="4.0.1", tokens="4.0.0", package=_STREAMING),
        _release("4.1", kafka="4.1.1", tokens="4.1.1"),
        _release("4.2", kafka="4.2.0", tokens="4.2.0"),
    )
}
"""The releases that are supported, the oldest first."""

ROWS_SINCE = "4.1"
"""``transformWithState`` on rows in Python; below it runs over pandas, which is slower."""

REAL_TIME_SINCE = "4.1"
"""Real-time mode; from 4.2 on it is an argument in Python too."""


def require() -> None:
    """Raise UserError if Spark or Delta Lake is not installed: the package does not bring them by itself."""
    if missing := _missing():
        raise UserError(f"this command needs Spark ({', '.join(missing)} not found); install it with: {INSTALL}")


def _missing() -> list[str]:
    return [name for name, module in (("pyspark", "pyspark"), ("delta-spark", "delta")) if not _is_there(module)]


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ValueError:
        return False


def installed() -> str:
    """Return PySpark's version; raises UserError if there is none."""
    require()
    import pyspark  # noqa: PLC0415 - slow to import, so only where Spark is used

    return str(pyspark.__version__)


def release(version: str) -> SparkRelease:
    """Return the release that a version belongs to; UserError for one that is not supported.

    >>> release("4.0.5").minor
    '4.0'
    """
    found = RELEASES.get(".".join(version.split(".")[:2]))
    if found is None:
        oldest, *_, newest = RELEASES
        raise UserError(f"Spark {version} is not supported; supported are {oldest} to {newest}: {INSTALL}")
    return found


def on_databricks() -> bool:
    """Whether this process runs in a Databricks runtime."""
    return "DATABRICKS_RUNTIME_VERSION" in os.environ


def by_connect() -> bool:
    """Whether Spark is reached by Spark Connect, which has neither a JVM nor a ``SparkContext`` for its clients."""
    from pyspark.sql.utils import is_remote  # noqa: PLC0415 - slow to import, so only where Spark is used

    return is_remote() or "SPARK_REMOTE" in os.environ


def clone(session: Any) -> Any:
    """Return a session of Spark Connect with a configuration of its own; raises UserError below Spark 4.2."""
    if not hasattr(session, "cloneSession"):
        raise UserError("by Spark Connect, the queries need Spark 4.2: a client of an older one cannot clone a session")
    cloned = session.cloneSession()
    cloned.release_session_on_close = True  # 4.2.0 does not set it, and its stop() asks for it
    return cloned


def opens_files() -> bool:
    """Whether Hadoop's file systems can be opened beside Spark's own commands; on Databricks and by Connect not."""
    return not (on_databricks() or by_connect())


def submit_arguments(version: str, conf: dict[str, str]) -> str:
    """Return the arguments of spark-submit that bring the connectors and set ``conf``."""
    packages = ",".join(name for name in release(version).connectors if ":spark-sql-kafka" in name or ":delta-" in name)
    return " ".join((f"--packages {packages}", *(f"--conf {key}={value}" for key, value in conf.items())))


class NoRealTimeModeError(Exception):
    """Spark has no real-time mode."""


def in_real_time(writer: Any, batch: str) -> Any:
    """Let a ``DataStreamWriter`` run in real-time mode; raises NoRealTimeModeError where Spark has none."""
    try:
        return writer.trigger(realTime=batch)
    except TypeError:
        # An argument of Python from 4.2 on, and of Databricks' runtimes; 4.1 has the mode for Java alone.
        pass
    from py4j.protocol import Py4JError  # noqa: PLC0415 - comes with PySpark

    java = writer._spark._jvm.org.apache.spark.sql.streaming.Trigger  # noqa: SLF001 - PySpark has no other way
    try:
        real_time = java.RealTime
    except Py4JError:
        # What py4j raises, instead of AttributeError, for a member that a class of Java lacks.
        raise NoRealTimeModeError from None
    writer._jwrite = writer._jwrite.trigger(real_time(batch))  # noqa: SLF001
    return writer


def transform_with_state(grouped: Any, processor: Any, columns: str, initial: Any) -> Any:
    """Return the rows (``columns``, as Spark's DDL) that a stateful processor of rows makes of grouped records."""
    arguments = {"outputMode": "update", "timeMode": "processingTime", "initialState": initial}
    if hasattr(grouped, "transformWithState"):
        return grouped.transformWithState(statefulProcessor=processor, outputStructType=columns, **arguments)
    return grouped.transformWithStateInPandas(
        statefulProcessor=OverPandas(processor), outputStructType=columns, **arguments
    )


class OverPandas:
    """A stateful processor of pandas' frames around one of rows, for Spark 4.0; state and timers are the same."""

    def __init__(self, processor: Any) -> None:
        self._processor = processor

    def init(self, handle: Any) -> None:
        """Declare the state."""
        self._processor.init(handle)

    def handleInputRows(self, key: Any, rows: Iterable[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        """Process a batch's records."""
        records = (record for frame in rows for record in _records(frame))
        return _frames(self._processor.handleInputRows(key, records, timerValues))

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:  # noqa: N802, N803
        """Let time pass."""
        return _frames(self._processor.handleExpiredTimer(key, timerValues, expiredTimerInfo))

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:  # noqa: N802, N803
        """Start with the rows of a frame."""
        for record in _records(initialState):
            self._processor.handleInitialState(key, record, timerValues)

    def close(self) -> None:
        """End as the processor of rows does."""
        self._processor.close()


def _records(frame: Any) -> Iterator[dict[str, Any]]:
    """Yield a frame's rows with values of Python's own types."""
    yield from frame.to_dict("records")


def _frames(rows: Iterable[Any]) -> Iterator[Any]:
    """Yield one frame of all rows; what has none yields none."""
    import pandas as pd  # noqa: PLC0415 - slow to import, and not needed from 4.1 on

    if records := [row.asDict() for row in rows]:
        yield pd.DataFrame(records, dtype=object)
