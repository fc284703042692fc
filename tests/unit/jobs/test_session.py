"""The configuration of a session that this process starts."""

import re
from pathlib import Path
from zipfile import ZipFile

import pyspark
import pytest

from logdirwatch.jobs import session, small_fleet
from logdirwatch.jobs.session import worker_conf
from logdirwatch.settings import Settings

DECLARING = re.compile(
    r"org/apache/spark/(sql/internal/(Static)?SQLConf|sql/internal/SqlApiConfHelper|internal/config/|.*/RocksDBConf).*"
)
OF_OTHERS = ("spark.databricks.", "spark.delta.", "spark.hadoop.", "spark.sql.catalog.")
OF_ROCKSDB = "spark.sql.streaming.stateStore.rocksdb."
KINDS = {
    "truth": re.compile(r"true|false"),
    "number": re.compile(r"[1-9]\d*[smgk]?"),
    "word": re.compile(r"UTC|simple|avro|127\.0\.0\.1"),
    "class or module": re.compile(r"[a-z]\w+(\.[a-z]\w+)*\.[A-Za-z]\w+"),
}
PATHS = {"spark.driver.extraClassPath", "spark.driver.extraJavaOptions", "spark.sql.warehouse.dir"}


@pytest.fixture(scope="module")
def declared():
    """The texts in Spark's own classes of options."""
    found = b""
    for jar in Path(pyspark.__file__).parent.glob("jars/spark-*.jar"):
        with ZipFile(jar) as classes:
            found += b"\0".join(classes.read(name) for name in classes.namelist() if DECLARING.fullmatch(name))
    return found


@pytest.fixture
def whole(tmp_path, monkeypatch):
    monkeypatch.setattr(session, "spark_jars", lambda home: [tmp_path / "jars" / "spark" / "a.jar"])
    monkeypatch.setattr(session.class_archive, "java_options", lambda jars, *, records: "")
    own = session._local_conf(Settings(stream={"master": "local[2]"}), is_small=True, records_classes=True)
    return {**session._APPLICATION_CONF, **session._session_conf(Settings()), **own}


def test_spark_knows_every_option_and_its_value_has_a_form_that_it_reads(declared, whole):
    """Spark takes any name without a word, and reads a value when it needs it."""
    sparks_own = [key.removeprefix(OF_ROCKSDB) for key in whole if not key.startswith(OF_OTHERS)]
    unknown = [key for key in sparks_own if key.encode() not in declared]
    assert unknown == []
    odd = {key: value for key, value in whole.items() if not any(kind.fullmatch(value) for kind in KINDS.values())}
    assert odd.keys() <= {*PATHS, "spark.redaction.regex"}, odd


@pytest.mark.parametrize("is_small", [True, False])
def test_the_driver_takes_little_for_a_small_fleet_and_what_the_operator_says_comes_last(is_small):
    settings = Settings(stream={"master": "local[2]", "driver_java_options": "-Dours=1"})
    conf = session._local_conf(settings, is_small=is_small, records_classes=False)
    options = conf["spark.driver.extraJavaOptions"]
    assert (small_fleet.JAVA_OPTIONS in options) is is_small
    assert options.endswith(" -Dours=1")


@pytest.mark.parametrize("master", ["local", "local[2]", "local[8,4]"])
def test_workers_of_a_local_session_share_their_modules(master):
    assert worker_conf(master)["spark.python.daemon.module"] == "logdirwatch.jobs.worker_daemon"


@pytest.mark.parametrize("master", [None, "spark://master:7077"])
def test_workers_on_other_machines_are_left_to_spark(master):
    assert worker_conf(master) == {}
