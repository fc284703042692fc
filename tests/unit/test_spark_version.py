"""What differs between the releases of Spark: what is used where an API is there, and where it is not."""

from types import SimpleNamespace

import pandas as pd
import pytest
from py4j.protocol import Py4JError

from logdirwatch.errors import UserError
from logdirwatch.spark_version import (
    RELEASES,
    NoRealTimeModeError,
    OverPandas,
    in_real_time,
    release,
    submit_arguments,
    transform_with_state,
)


class Row(dict):
    def asDict(self):  # noqa: N802 - Spark's name
        return dict(self)


class Processor:
    """Says what it is given, and gives back two rows for every record."""

    def __init__(self):
        self.seen = []

    def init(self, handle):
        self.seen.append(handle)

    def handleInputRows(self, key, rows, timerValues):  # noqa: N802, N803
        for row in rows:
            self.seen.append((key, row["broker"], type(row["broker"]), row["value"], timerValues))
            yield Row(topic="t", key="a", value=None)
            yield Row(topic="t", key="b", value="x")

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):  # noqa: N802, N803
        self.seen.append((key, timerValues, expiredTimerInfo))
        return iter(())

    def handleInitialState(self, key, initialState, timerValues):  # noqa: N802, N803
        self.seen.append((key, initialState["version"], timerValues))

    def close(self):
        self.seen.append("closed")


def test_a_processor_of_rows_runs_over_frames():
    processor = Processor()
    frames = OverPandas(processor)
    frames.init("handle")
    records = pd.DataFrame({"broker": [7], "value": [b"1"]}), pd.DataFrame({"broker": [8], "value": [None]})
    (written,) = frames.handleInputRows(("c",), iter(records), "now")
    assert written.to_dict("records") == [
        {"topic": "t", "key": "a", "value": None},
        {"topic": "t", "key": "b", "value": "x"},
    ] * len(records)
    assert list(frames.handleExpiredTimer(("c",), "now", "timer")) == []
    frames.handleInitialState(("c",), pd.DataFrame({"version": [1, 2]}), "now")
    frames.close()
    assert processor.seen == [
        "handle",
        (("c",), 7, int, b"1", "now"),
        (("c",), 8, int, None, "now"),
        (("c",), "now", "timer"),
        (("c",), 1, "now"),
        (("c",), 2, "now"),
        "closed",
    ]


def test_rows_are_used_where_spark_has_them():
    asked = {}
    rows = SimpleNamespace(transformWithState=lambda **arguments: asked.update(arguments) or "rows")
    pandas = SimpleNamespace(transformWithStateInPandas=lambda **arguments: asked.update(arguments) or "pandas")
    assert transform_with_state(rows, "processor", "a int", None) == "rows"
    assert asked["statefulProcessor"] == "processor"
    assert transform_with_state(pandas, "processor", "a int", "initial") == "pandas"
    assert isinstance(asked["statefulProcessor"], OverPandas)
    assert (asked["outputStructType"], asked["initialState"]) == ("a int", "initial")


class Triggers:
    """A class of Java as py4j shows it."""

    def __init__(self, **members):
        self.__dict__.update(members)

    def __getattr__(self, name):
        raise Py4JError(f"{name} does not exist in the JVM")


class Writer:
    """A writer of streams without real-time mode in Python, over a JVM that may have it."""

    def __init__(self, **java):
        triggers = Triggers(**java)
        streaming = SimpleNamespace(streaming=SimpleNamespace(Trigger=triggers))
        jvm = SimpleNamespace(org=SimpleNamespace(apache=SimpleNamespace(spark=SimpleNamespace(sql=streaming))))
        self._spark = SimpleNamespace(_jvm=jvm)
        self._jwrite = SimpleNamespace(trigger=lambda trigger: f"writes {trigger}")

    def trigger(self, *, processingTime=None):  # noqa: N803 - Spark's name
        raise AssertionError("not asked for")


def test_real_time_mode_is_an_argument_of_python_or_a_trigger_of_java_or_is_not_there():
    python = SimpleNamespace(trigger=lambda *, realTime: f"python {realTime}")  # noqa: N803 - Spark's name
    assert in_real_time(python, "5 minutes") == "python 5 minutes"
    java = Writer(RealTime=lambda batch: f"java {batch}")
    assert in_real_time(java, "5 minutes") is java
    assert java._jwrite == "writes java 5 minutes"
    with pytest.raises(NoRealTimeModeError):
        in_real_time(Writer(), "5 minutes")


@pytest.mark.parametrize("version", ["4.0.1", "4.1.4", "4.2.0.dev1"])
def test_a_version_belongs_to_its_minor_release(version):
    found = release(version)
    assert version.startswith(found.minor)
    assert any(f"delta-spark_{found.minor}_2.13" in name for name in found.connectors)


@pytest.mark.parametrize("version", ["3.5.8", "4.3.0"])
def test_another_release_is_refused_with_those_that_are_supported(version):
    with pytest.raises(UserError, match=rf"Spark {version} is not supported; supported are 4\.0 to 4\.2"):
        release(version)


def test_spark_submit_is_given_the_connectors_of_its_release():
    for minor in RELEASES:
        line = submit_arguments(minor, {"spark.a": "b"})
        assert f"delta-spark_{minor}_2.13" in line
        assert line.endswith("--conf spark.a=b")
