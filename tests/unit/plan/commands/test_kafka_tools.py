"""Commands are pasted into a shell: a real one shows that every value comes out as the one argument it was."""

import json
import os
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.plan.cluster.assignment import Assignment, from_json, to_json
from logdirwatch.plan.commands.kafka_tools import Tools, note
from logdirwatch.plan.commands.throttles import of_plan
from logdirwatch.plan.settings import ToolSettings
from tests.support.hostile import ARGUMENTS


@pytest.fixture
def shell(tmp_path):
    """Run commands with ``sh`` in an empty folder where each Kafka tool writes down its arguments and its input."""
    tools = tmp_path / "bin"
    tools.mkdir()
    work = tmp_path / "work"
    work.mkdir()
    seen = tmp_path / "seen"
    script = '#!/bin/sh\nfor word in "$@"; do printf \'%s\\0\' "$word"; done > "$SEEN"\n'
    script += 'for word in "$@"; do if [ "$word" = /dev/stdin ]; then cat > "$SEEN.stdin"; fi; done\n'
    for name in ("kafka-reassign-partitions", "kafka-configs", "kafka-log-dirs"):
        (tools / f"{name}.sh").write_text(script)
        (tools / f"{name}.sh").chmod(0o755)

    def run(*commands):
        environment = {"PATH": os.environ["PATH"], "SEEN": str(seen)}
        done = subprocess.run(["sh", "-c", "\n".join(commands)], cwd=work, env=environment, check=False)
        assert done.returncode == 0
        assert not (work / "pwned").exists()
        return seen.read_bytes().decode().split("\0")[:-1] if seen.exists() else []

    run.tools = lambda **settings: Tools(ToolSettings(prefix=f"{tools}/", **settings), "kafka:9092")
    run.stdin = lambda: json.loads(seen.with_suffix(".stdin").read_text())
    return run


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_hostile_topic_name_stays_one_argument(shell, name):
    arguments = shell(shell.tools().set_topic_config(name, "retention.bytes", "1"))
    assert f"--entity-name={name}" in arguments
    assert arguments[-2:] == ["--add-config", "retention.bytes=1"]


@pytest.mark.parametrize("path", ARGUMENTS)
def test_a_hostile_path_reaches_the_tool_as_it_is(shell, path):
    plan = to_json([Assignment("t", 0, (1, 2), (path, "any")), Assignment("t", 1, (2, 1), ("any", path))])
    shell(*shell.tools().reassign(plan, "plan.json", limits=of_plan(plan, log_dir_rate=5, rate=7)))
    assert shell.stdin() == plan


@pytest.mark.parametrize("text", ARGUMENTS)
def test_a_step_for_a_person_runs_nothing(shell, text):
    assert shell(note(f"Replace {text}")) == []


@given(text=st.text(max_size=40))
def test_a_note_is_one_line_of_printable_text(text):
    line = note(text)
    assert line.startswith("# ")
    assert line.isprintable()
    assert len(line.splitlines()) == 1


def test_the_connection_is_quoted_as_well(shell):
    tools = shell.tools(command_config="/etc/my kafka/$USER's.conf")
    arguments = shell(tools.call("kafka-log-dirs", "--describe"))
    assert arguments == [
        "--bootstrap-server",
        "kafka:9092",
        "--command-config",
        "/etc/my kafka/$USER's.conf",
        "--describe",
    ]


def test_limits_of_both_kinds_are_set_by_name_and_the_tool_is_told_the_timeout():
    tools, plan = Tools(ToolSettings(timeout_ms=1234), "kafka:9092"), to_json([Assignment("t", 0, (1,), ("/d1",))])
    write, limit, execute, wait, verify, clear = tools.reassign(
        plan, "plan.json", limits=of_plan(plan, log_dir_rate=5, rate=7)
    )
    assert write.startswith("cat > plan.json <<'LOGDIRWATCH_END'\n")
    assert limit.splitlines()[-4:-1] == [
        "brokers 1 follower.replication.throttled.rate=7",
        "brokers 1 replica.alter.log.dirs.io.max.bytes.per.second=5",
        "topics t follower.replication.throttled.replicas=0:1",
    ]
    assert ">> plan.limits" in limit
    assert clear.endswith("done < plan.limits")
    assert execute == (
        "kafka-reassign-partitions.sh --bootstrap-server kafka:9092 --execute --timeout 1234 "
        "--reassignment-json-file /dev/stdin < plan.json"
    )
    assert wait.startswith("while kafka-reassign-partitions.sh ")
    assert "grep 'is still in progress'" in wait
    assert verify.endswith("--verify --preserve-throttles --reassignment-json-file /dev/stdin < plan.json")


def test_an_unknown_address_is_asked_for_and_not_made_up():
    command = Tools(ToolSettings(), None).call("kafka-topics", "--list")
    done = subprocess.run(["sh", "-c", command], capture_output=True, env={"PATH": os.environ["PATH"]}, check=False)
    assert done.returncode != 0
    assert b"set it to host:port" in done.stderr


def test_a_prefix_may_be_a_whole_command_line():
    tools = Tools(ToolSettings(prefix="kubectl exec -i kafka-0 -- bin/", bootstrap_servers="localhost:9092"), "x:1")
    assert tools.cancel("plan.json") == (
        "kubectl exec -i kafka-0 -- bin/kafka-reassign-partitions.sh --bootstrap-server localhost:9092 --cancel "
        "--preserve-throttles --reassignment-json-file /dev/stdin < plan.json"
    )


def test_an_override_that_was_not_there_is_deleted():
    tools = Tools(ToolSettings(suffix=""), "kafka:9092")
    assert tools.set_topic_config("t", "retention.bytes", None).endswith("--delete-config retention.bytes")


def test_broker_commands_are_filled_from_their_templates():
    tools = Tools(
        ToolSettings(stop_command="ssh kafka-{broker} stop", server_config="/etc/k a/server.properties"), "k:1"
    )
    assert tools.stop(3) == ["ssh kafka-3 stop"]
    assert tools.start(3) == []
    ask, run = tools.format_storage(["--ignore-formatted"])
    assert ask == "cluster_id=$(kafka-cluster.sh cluster-id --bootstrap-server k:1 | sed 's/^Cluster ID: //')"
    assert run.endswith("--cluster-id \"$cluster_id\" --config '/etc/k a/server.properties'")


def test_a_reassignment_survives_the_way_through_json():
    assignments = (Assignment("t", 0, (1, 2), ("any", "/d 1")), Assignment("u", 3, (5,), ("any",)))
    assert from_json(json.loads(json.dumps(to_json(assignments)))) == assignments
