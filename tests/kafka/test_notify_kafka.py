"""``logdirwatch notify`` on a real telemetry cluster, with receivers that listen on this machine."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import msgspec
import pytest
import yaml

from logdirwatch.kafka.clients import discard, producer, read_all
from logdirwatch.model import topics
from logdirwatch.model.records import NotificationRecord
from logdirwatch.model.vocabulary import AlertStatus, Rule
from logdirwatch_lab import processes
from logdirwatch_lab.demo.services import Service
from tests.kafka.telemetry import fresh_topics
from tests.support.waiting import DEADLINE_S, wait_until
from tests.unit.notify.receivers import receiving
from tests.unit.report.builders import alert

OLD_ALERTS = 300


@pytest.fixture
def telemetry(watched):
    fresh_topics(watched)
    return watched


@pytest.fixture
def receiver():
    with receiving() as running:
        yield running


def send(settings, *records):
    """Write alerts, keyed as the stream keys them."""
    client = producer(settings.telemetry, acks="all", delivery_timeout_ms=240_000, request_timeout_ms=30_000)
    try:
        for record in records:
            key = record.alert_id if record.revision else f"{record.alert_id}/fast"
            client.send(topics.ALERTS, key=key.encode(), value=msgspec.json.encode(record))
        client.flush(timeout=DEADLINE_S)
    finally:
        client.close(timeout=5)


def told(settings):
    """Return what the topic keeps of what was told, oldest first."""
    found = read_all(settings.telemetry, topics.NOTIFICATIONS)
    return [msgspec.json.decode(record.value, type=NotificationRecord) for record in found]


@contextmanager
def notifying(settings, folder, receiver, name="notify", **notify):
    values = {
        "receivers": {"ops": {"urls": [f"json://127.0.0.1:{receiver.port}?rate=0"]}},
        "group_wait_ms": 200,
        "group_interval_ms": 500,
        "backoff_max_ms": 1_000,
        "heartbeat": {"timeout_ms": 0},
        **notify,
    }
    content = {"telemetry": {"bootstrap_servers": settings.telemetry.bootstrap_servers}, "notify": values}
    config = folder / f"{name}.yaml"
    config.write_text(yaml.safe_dump(content))
    service = Service("notify", ["--config", str(config), "notify"], folder / f"{name}.log").start()
    try:
        yield service
    finally:
        service.stop()


def log_of(service):
    return service.log_file.read_text()


def wait_for(service, condition, message):
    def seen():
        service.check()
        return condition()

    return wait_until(seen, DEADLINE_S, lambda: f"{message}; {service.tail()}")


def firing_in(receiver):
    return [body["title"] for body in receiver.bodies]


def test_no_history_no_repeat_after_a_kill_and_what_a_receiver_missed(telemetry, receiver, tmp_path):
    old = [alert(f"{number:032}", broker=number) for number in range(OLD_ALERTS)]
    over = [alert(f"{number:032}", 2, broker=number, status=AlertStatus.RESOLVED) for number in range(OLD_ALERTS)]
    send(telemetry, *old, *over, alert("a", 0, log_dir="/d/open"), alert("a", 1, log_dir="/d/open"))
    with notifying(telemetry, tmp_path, receiver) as service:
        wait_for(service, lambda: told(telemetry), "what fires to be told, and that to be kept")
        processes_killed(service)
    assert firing_in(receiver) == ["[critical] log_dir_offline: prod broker 7 /d/open"]
    resolved = alert("a", 2, log_dir="/d/open", status=AlertStatus.RESOLVED, reason="recovered")
    send(telemetry, resolved, alert("b", 1, log_dir="/d/next"))
    with notifying(telemetry, tmp_path, receiver, "again") as service:
        wait_for(service, lambda: [*told(telemetry)][-1].told == {"b": "critical"}, "the news to be told")
        news = "\n".join(body["message"] for body in receiver.bodies[1:])
        assert "resolved (recovered) log_dir_offline prod broker 7 /d/open" in news
        assert "critical log_dir_offline prod broker 7 /d/next" in news
        assert "critical log_dir_offline prod broker 7 /d/open" not in news
        receiver.status = 503
        send(telemetry, alert("c", 1, cluster="other", log_dir="/d/missed"))
        wait_for(service, lambda: "notify.receiver.failed" in log_of(service), "a line that the receiver is away")
        receiver.status = 200
        wait_for(service, lambda: "notify.receiver.recovered" in log_of(service), "a line that the receiver is back")
        assert firing_in(receiver)[-1] == "[critical] log_dir_offline: other broker 7 /d/missed"
        assert service.stop() == 0
    assert log_of(service).count("notify.receiver.failed") == 1
    assert "Traceback" not in log_of(service)


def processes_killed(service):
    """Kill notify without a chance to say good-bye."""
    os.kill(service.pid, signal.SIGKILL)


def test_what_somebody_silenced_is_not_told(telemetry, receiver, cluster, tmp_path):
    words = ["alerts", "silence", "--cluster", "quiet", "--by", "ada", "--reason", "known"]
    line = [sys.executable, "-m", "logdirwatch", "--config", str(cluster.config_path), *words]
    subprocess.run(line, check=True, timeout=DEADLINE_S, capture_output=True)
    with notifying(telemetry, tmp_path, receiver) as service:
        send(telemetry, alert("q", 1, cluster="quiet"), alert("l", 1, cluster="loud"))
        wait_for(service, lambda: told(telemetry), "the loud one to be told")
        send(telemetry, alert("q", 2, cluster="quiet", status=AlertStatus.RESOLVED))
        send(telemetry, alert("l", 2, cluster="loud", status=AlertStatus.RESOLVED))
        wait_for(service, lambda: told(telemetry)[-1].told == {}, "its end to be told")
    assert firing_in(receiver) == [
        "[critical] log_dir_offline: loud broker 7 /data/d1",
        "[resolved] log_dir_offline: loud broker 7 /data/d1",
    ]


class Beats:
    """Heartbeats on the alert topic as ``detect`` hands them on, until stopped."""

    def __init__(self, settings):
        self._settings = settings
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def _run(self):
        client = producer(self._settings.telemetry, request_timeout_ms=2_000, delivery_timeout_ms=4_000)
        while not self._stop.wait(0.3):
            at_ms = time.time_ns() // 1_000_000
            fields = {"rule": Rule.HEARTBEAT, "status": AlertStatus.RESOLVED, "broker": None, "log_dir": None}
            beat = alert("h", at_ms // 100, at_ms=at_ms, evidence={"collector": "c"}, **fields)
            client.send(topics.ALERTS, key=b"h", value=msgspec.json.encode(beat))
        discard(client, 2)


def test_it_cries_when_the_telemetry_cluster_hangs_and_says_when_it_is_back(telemetry, receiver, cluster, tmp_path):
    # Far more than the third of a second between two beats, also where this process is seldom given a processor.
    switch = {"timeout_ms": 10_000}
    broker = cluster.state().telemetry.process
    with Beats(telemetry), notifying(telemetry, tmp_path, receiver, heartbeat=switch) as service:
        send(telemetry, alert("a", 1))
        wait_for(service, lambda: receiver.posted, "an alert to be told, so all is read")
        processes.send(broker, signal.SIGSTOP)
        try:
            wait_for(service, lambda: len(receiver.posted) > 1, "the cry")
        finally:
            processes.send(broker, signal.SIGCONT)
        wait_for(service, lambda: len(receiver.posted) > 2, "its end")
    assert "No heartbeat of cluster prod arrives" in receiver.bodies[1]["message"]
    assert "Heartbeats of cluster prod arrive again" in receiver.bodies[2]["message"]
    assert len(receiver.posted) == 3
