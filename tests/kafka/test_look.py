"""``logdirwatch look`` and ``watch`` at real brokers, without a configuration: all is well, then a directory breaks."""

import json
import signal
import subprocess
import sys

import pytest
import requests

from logdirwatch_lab.ports import free_ports
from tests.support.waiting import DEADLINE_S, wait_until
from tests.unit.notify.receivers import receiving

BROKER, INDEX = 2, 1


@pytest.fixture
def look(tmp_path):
    """Run the command in an empty home; return its exit code, output and errors."""

    def looked(*arguments):
        line = [sys.executable, "-m", "logdirwatch", "look", *arguments]
        done = subprocess.run(
            line,
            cwd=tmp_path,
            env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    return looked


def test_a_broken_directory_is_told_with_what_to_do(cluster, watched, look):
    servers = next(iter(watched.clusters.values())).bootstrap_servers
    state = cluster.state()
    code, out, _ = look(servers, "--json")
    before = json.loads(out)
    # All directories are on this machine's disk, which may be full enough for a warning.
    assert code in {0, 3}
    assert {one["rule"] for one in before["alerts"]} & {"log_dir_offline", "log_dir_unknown"} == set()
    assert len(before["log_dirs"]) == sum(len(broker.log_dirs) for broker in state.brokers)
    path = state.broker(BROKER).log_dirs[INDEX]
    cluster.break_log_dir(BROKER, INDEX)
    try:
        code, out, _ = wait_until(lambda: (found := look(servers, "--json"))[0] > 3 and found, DEADLINE_S, "an alert")
        (alert,) = [one for one in json.loads(out)["alerts"] if one["rule"] == "log_dir_offline"]
        assert (alert["broker"], alert["log_dir"], alert["status"]) == (BROKER, path, "firing")
        first = next(one for one in json.loads(out)["actions"] if one["alert_id"] == alert["alert_id"])
        assert first["commands"]
        again, told, _ = look(servers)
        assert again == code in {4, 5}
        assert f"log_dir_offline broker {BROKER}" in told
        assert first["reason"][:40] in told
    finally:
        cluster.restore(BROKER, INDEX)
    wait_until(lambda: look(servers, "--json")[0] in {0, 3}, DEADLINE_S, "the directory to serve again")


def test_a_watched_cluster_tells_and_sends_a_broken_directory_with_the_first_step(cluster, watched, tmp_path):
    servers = next(iter(watched.clusters.values())).bootstrap_servers
    path, (port,) = cluster.state().broker(BROKER).log_dirs[INDEX], free_ports(1)
    with receiving() as receiver, (tmp_path / "told").open("w") as told:
        url, listen = f"json://127.0.0.1:{receiver.port}?rate=0", f"127.0.0.1:{port}"
        service = subprocess.Popen(
            [sys.executable, "-m", "logdirwatch", "watch", servers, "--listen", listen, "--notify", url],
            cwd=tmp_path,
            env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
            stdout=told,
            stderr=subprocess.STDOUT,
        )
        read = (tmp_path / "told").read_text
        try:
            wait_until(lambda: f"{len(cluster.state().brokers)} brokers" in read(), DEADLINE_S, "the first sentence")
            assert "log_dir_offline" not in read()
            cluster.break_log_dir(BROKER, INDEX)
            wait_until(lambda: "log_dir_offline" in read() and "  next: " in read(), DEADLINE_S, read)
            (body,) = wait_until(lambda: [b for b in receiver.bodies if path in b["message"]], DEADLINE_S, "a message")
            assert "log_dir_offline" in body["message"]
            shown = requests.get(f"http://{listen}/metrics", timeout=DEADLINE_S).text
            online = f'logdirwatch_log_dir_online{{broker="{BROKER}",cluster="default",log_dir="{path}"}}'
            assert f"{online} 0.0" in shown
            cluster.restore(BROKER, INDEX)
            wait_until(lambda: "resolved log_dir_offline" in read(), DEADLINE_S, read)
            service.send_signal(signal.SIGTERM)
            assert service.wait(DEADLINE_S) == 0, read()
        finally:
            service.kill()
            cluster.restore(BROKER, INDEX)


@pytest.mark.parametrize(
    ("brokers", "code", "line"),
    [
        ("127.0.0.1:1", 1, "logdirwatch: Kafka at 127.0.0.1:1 cannot be reached"),
        ("prod", 2, "logdirwatch: look: prod is neither host:port of a broker nor a configured cluster"),
        ("host:port", 2, "logdirwatch: look:"),
    ],
)
def test_an_address_that_is_none_is_one_line(look, brokers, code, line):
    found, out, err = look(brokers)
    assert (found, out, err.count("\n")) == (code, "", 1)
    assert err.startswith(line)
