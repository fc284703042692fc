"""The demo as a newcomer runs it, and what it says when something is stopped under it."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.kafka.conftest import JARS_HOME
from tests.support.waiting import wait_until

DEADLINE_S = 2400

pytestmark = pytest.mark.timeout(2 * DEADLINE_S)
SMALL = ["--brokers", "3", "--log-dirs", "2", "--log-dir-size", "48MB", "--seed", "7"]


class Demo:
    """A ``logdirwatch-lab demo --once --json`` in a home of its own."""

    def __init__(self, home: Path, *arguments: str) -> None:
        home.joinpath("jars").symlink_to(JARS_HOME / "jars")
        self.home = home
        self._told = home / "story.txt"
        self._told.touch()
        with self._told.open("w") as story:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "logdirwatch_lab", "demo", "--once", "--json", *SMALL, *arguments],
                stdout=subprocess.PIPE,
                stderr=story,
                env={**os.environ, "LOGDIRWATCH_HOME": str(home)},
                text=True,
            )

    @property
    def story(self) -> str:
        return self._told.read_text()

    def wait_for(self, pattern: str) -> re.Match[str]:
        def told():
            assert self.process.poll() is None, self.story
            return re.search(pattern, self.story)

        return wait_until(told, DEADLINE_S, lambda: f"the demo to tell {pattern!r}; it told:\n{self.story}")

    def end(self) -> tuple[int, dict]:
        try:
            output, _ = self.process.communicate(timeout=DEADLINE_S)
        except subprocess.TimeoutExpired:
            pytest.fail(f"the demo did not end within {DEADLINE_S} s; it told:\n{self.story}")
        return self.process.returncode, json.loads(output.splitlines()[-1])

    def leftovers(self) -> list[str]:
        """What it left behind: processes, mounts, files but the jars."""
        home = str(self.home)
        processes = [
            " ".join(process.info["cmdline"])
            for process in psutil.process_iter(["cmdline"])
            if process.info["cmdline"] and any(home in word for word in process.info["cmdline"])
        ]
        mounts = [line for line in Path("/proc/mounts").read_text().splitlines() if home in line]
        files = [path.name for path in self.home.iterdir() if path.name not in {"jars", "story.txt", "cluster.lock"}]
        return [*processes, *mounts, *files]


@pytest.fixture
def start_demo(tmp_path):
    started = []

    def start(*arguments: str) -> Demo:
        started.append(Demo(tmp_path, *arguments))
        return started[-1]

    yield start
    for demo in started:
        if demo.process.poll() is None:
            demo.process.terminate()
            demo.process.communicate(timeout=DEADLINE_S)


@pytest.mark.alone
def test_the_demo_sees_every_alert_action_and_row_and_leaves_nothing(start_demo):
    demo = start_demo()
    code, result = demo.end()
    assert (code, result["missed"], result["ok"]) == (0, [], True), demo.story
    offline = [alert for alert in result["alerts"] if alert["rule"] == "log_dir_offline"]
    lanes = {}
    for alert in offline:
        lanes.setdefault(alert["alert_id"], set()).add(alert["lane"])
    assert {"fast", "stateful"} in lanes.values()
    causes = {alert["cause"] for alert in offline}
    assert {"unknown", "full"} <= causes
    assert "failed" not in causes
    assert {"investigate", "restart_broker"} <= {action["kind"] for action in result["actions"]}
    assert result["tables"]["log_dir_state"] == 6
    assert result["tables"]["replica_state"] > 0
    failure = result["seconds"]["fault_to_alert"]["log_dir_failure"]
    assert failure["fast"] > 0
    assert failure["stateful"] > 0
    assert demo.leftovers() == []


@pytest.mark.long
@pytest.mark.parametrize("stopped", ["collect", "stream"])
def test_the_demo_claims_no_success_when_a_part_is_stopped(start_demo, stopped):
    demo = start_demo("--deadline", "25")
    pid = int(demo.wait_for(rf"Started logdirwatch {stopped} \(pid (\d+)")[1])
    demo.wait_for(r"Every broker is monitored")
    before = demo.story.count("ALERT")
    frozen = [process for process in _with_children(pid) if stopped == "collect" or process.name() == "java"]
    for process in frozen:
        process.suspend()
    try:
        demo.wait_for(r"MISSED")
        assert demo.story.count("ALERT") == before
    finally:
        for process in frozen:
            process.send_signal(signal.SIGCONT)
    code, result = demo.end()
    assert (code, result["ok"]) == (1, False)
    assert result["missed"]
    assert demo.leftovers() == []


def _with_children(pid: int) -> list[psutil.Process]:
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]
