"""The session that Spark gives, or does not, and what it says at its end."""

import subprocess
import sys

import pytest
import yaml

from tests.kafka import collecting
from tests.kafka.conftest import JARS_HOME
from tests.support.waiting import DEADLINE_S

LINE = (
    "logdirwatch: Spark started no session: [JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port "
    "number. Its log lines above say why; check the section stream of the configuration, or the arguments of "
    "spark-submit"
)


@pytest.mark.parametrize("wrong", [{"driver_java_options": "-XX:MaxMetaspaceSize=much"}], ids=str)
def test_what_spark_cannot_start_with_is_one_line(tmp_path, wrong):
    config = tmp_path / "logdirwatch.yaml"
    config.write_text(
        yaml.safe_dump({"telemetry": {"bootstrap_servers": "127.0.0.1:1"}, "stream": wrong, "home": str(JARS_HOME)})
    )
    done = collecting.run(config, "tables", "optimize")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == LINE
    assert "Traceback" not in done.stderr


CUT = """
import sys
from pathlib import Path
from logdirwatch.jobs.runner import Runner
from logdirwatch.jobs.session import build_session, end_session
from logdirwatch.jobs.streams import every, start_query
from logdirwatch.settings import load
from logdirwatch.store.tables import short_errors

def slow(rows, batch_id):
    print("in a batch", file=sys.stderr)
    runner.stop_requested.set()
    with short_errors("slow", batch_id):
        rows.sparkSession.range(1).selectExpr("java_method('java.lang.Thread', 'sleep', 600000L)").collect()

def start(spark, settings):
    rows = spark.readStream.format("rate").load()
    return start_query(rows.writeStream.foreachBatch(slow), settings, "slow", every("1 second"))

settings = load(Path(sys.argv[1]))
spark = build_session(settings)
runner = Runner(spark, settings, {"slow": start})
runner.run()
end_session(spark)
"""


def ended(tmp_path, script, home):
    config = tmp_path / "logdirwatch.yaml"
    content = {
        "telemetry": {"bootstrap_servers": "127.0.0.1:1"},
        "stream": {"master": "local[2]", "driver_memory": "1g", "stop_timeout_ms": 100},
        "checkpoints": {"path": str(tmp_path / "checkpoints")},
        "tables": {"path": str(tmp_path / "tables")},
        "home": str(home),
    }
    config.write_text(yaml.safe_dump(content))
    command = [sys.executable, "-c", script, str(config)]
    return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)


SLOW_END = """
import sys
from pathlib import Path
from logdirwatch.jobs import session
from logdirwatch.settings import load

session.RECORDING_LIMIT_S = 0.1
session.end_session(session.build_session(load(Path(sys.argv[1])), records_classes=True))
"""


def test_a_jvm_that_takes_too_long_to_end_is_killed(tmp_path):
    # It writes the archive of its classes, which takes seconds.
    (tmp_path / "jars").mkdir()
    for folder in JARS_HOME.glob("jars/*/"):
        (tmp_path / "jars" / folder.name).symlink_to(folder)
    done = ended(tmp_path, SLOW_END, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "session.end_overdue" in done.stdout
    assert [path.name for path in tmp_path.glob("jars/spark-classes*") if path.suffix != ".lock"] == []


def test_a_batch_that_is_cut_by_the_stop_is_no_error_with_a_trace(tmp_path):
    done = ended(tmp_path, CUT, JARS_HOME)
    assert done.returncode == 0, done.stderr
    assert "in a batch" in done.stderr
    assert not [line for line in done.stderr.splitlines() if "error" in line.lower() or line.startswith("\tat ")]
