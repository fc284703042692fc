"""The examples of docs/consumers.md, run as they stand there."""

import json
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from logdirwatch import jars
from logdirwatch.kafka.clients import producer
from logdirwatch.model import topics
from logdirwatch.model.vocabulary import AlertStatus, Rule
from logdirwatch.reference.schemas import json_schema
from logdirwatch_lab import jvm, ports
from tests.kafka.conftest import JARS_HOME
from tests.kafka.telemetry import fresh_topics
from tests.kafka.test_notify_kafka import send
from tests.support.waiting import DEADLINE_S, wait_until
from tests.unit.report.builders import alert

PAGE = Path(__file__).parents[2] / "docs" / "consumers.md"
CONNECT = jars.JarSet(
    "connect",
    (
        f"org.apache.kafka:connect-runtime:{jars.KAFKA_VERSION}",
        f"org.apache.kafka:connect-file:{jars.KAFKA_VERSION}",
        # By itself: nearest-wins takes an older one than Jersey needs.
        "jakarta.ws.rs:jakarta.ws.rs-api:3.1.0",
        f"org.apache.kafka:kafka-clients:{jars.KAFKA_VERSION}",
        "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4",
    ),
)


def block(language):
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return found


@pytest.fixture
def telemetry(watched):
    fresh_topics(watched)
    heartbeat = alert("h", 7, rule=Rule.HEARTBEAT, status=AlertStatus.RESOLVED)
    send(watched, alert("x", 1), alert("x", 0), alert("x", 1), alert("y", 3, status=AlertStatus.RESOLVED), heartbeat)
    client = producer(watched.telemetry, acks="all")
    client.send(topics.ALERTS, key=b"gone", value=None).get(timeout=DEADLINE_S)
    client.close(timeout=5)
    return watched


@contextmanager
def running(command, folder, name):
    with (folder / name).open("w") as out:
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=subprocess.STDOUT)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def lines(folder, name):
    path = folder / name
    return path.read_text().splitlines() if path.exists() else []


def wait_for(process, folder, log, condition, message):
    def seen():
        assert process.poll() is None, "\n".join(lines(folder, log))
        return condition()

    wait_until(seen, DEADLINE_S, lambda: f"{message}:\n" + "\n".join(lines(folder, log)[-30:]))


def test_the_python_example_prints_every_news_once_and_goes_on_where_it_stopped(telemetry, tmp_path):
    tmp_path.joinpath("consume_alerts.py").write_text(block("python"))
    tmp_path.joinpath("alerts.schema.json").write_text(json.dumps(json_schema("alerts")))
    servers = telemetry.telemetry.bootstrap_servers
    command = [sys.executable, "consume_alerts.py", servers, "alerts.schema.json"]
    with running(command, tmp_path, "first") as process:
        wait_for(process, tmp_path, "first", lambda: len(set(lines(tmp_path, "first"))) == 2, "both alerts")
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE_S) == 0
    summary = "log_dir_offline prod broker 7 /data/d1 Broker 7 /data/d1 is offline"
    assert set(lines(tmp_path, "first")) == {f"critical firing {summary}", f"critical resolved {summary}"}
    send(telemetry, alert("z", 1, log_dir="/data/d9"))
    with running(command, tmp_path, "second") as process:
        new = "critical firing log_dir_offline prod broker 7 /data/d9 Broker 7 /data/d1 is offline"
        wait_for(process, tmp_path, "second", lambda: new in lines(tmp_path, "second"), "the new alert")
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE_S) == 0
    assert f"critical resolved {summary}" not in lines(tmp_path, "second")


@pytest.mark.long
def test_the_connect_example_writes_what_the_topic_says(telemetry, tmp_path):
    tmp_path.joinpath("logdirwatch-alerts.json").write_text(block("json"))
    (port,) = ports.free_ports(1)
    worker = {
        "bootstrap.servers": telemetry.telemetry.bootstrap_servers,
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
        "offset.storage.file.filename": tmp_path / "offsets",
        "offset.flush.interval.ms": 1000,
        "listeners": f"http://127.0.0.1:{port}",
        "plugin.discovery": "only_scan",
        "consumer.auto.offset.reset": "earliest",
    }
    tmp_path.joinpath("worker.properties").write_text("".join(f"{key}={value}\n" for key, value in worker.items()))
    java, _ = jars.find_java()
    found = jars._materialised(CONNECT, JARS_HOME)
    kafka = jvm.Jvm(java, ":".join(map(str, found)))
    main = "org.apache.kafka.connect.cli.ConnectStandalone"
    command = [*kafka.command(256), main, "worker.properties", "logdirwatch-alerts.json"]
    with running(command, tmp_path, "connect.log") as process:
        wait_for(process, tmp_path, "connect.log", lambda: len(lines(tmp_path, "alerts.txt")) >= 5, "five records")
    written = lines(tmp_path, "alerts.txt")
    assert len(written) == 5
    assert all("log_dir_offline" in line or "heartbeat" in line for line in written)
