"""Sizes, ports, volumes, waiting and Java: the small parts of the local cluster."""

import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from logdirwatch import jars
from logdirwatch.errors import UserError
from logdirwatch_lab import jvm, ports
from logdirwatch_lab.bringup import write_tools
from logdirwatch_lab.fill import step_of
from logdirwatch_lab.ports import free_ports
from logdirwatch_lab.sizes import parse_bytes
from logdirwatch_lab.state import MountMode, Node, Process, State
from logdirwatch_lab.volumes import Space, Volumes
from logdirwatch_lab.waiting import wait_until

TOPICS = "org.apache.kafka.tools.TopicCommand"
NODE = Node(id=0, port=1, controller_port=2, rack=None, folder="/x", metadata_dir="/x/m", log_dirs=["/x/d"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [("64MB", 64 << 20), ("64 mib", 64 << 20), ("64M", 64 << 20), ("512K", 512 << 10), ("1.5GB", 3 << 29), ("7", 7)],
)
def test_a_size_is_read_as_people_write_it(text, expected):
    assert parse_bytes(text) == expected


@pytest.mark.parametrize("text", ["", "MB", "-1MB", "0", "64XB", "1e3", "64 M B"])
def test_what_is_no_size_is_wrong_use(text):
    with pytest.raises(UserError, match="is not a size") as refused:
        parse_bytes(text)
    assert refused.value.exit_code == 2


def test_free_ports_are_different_and_not_taken():
    found = free_ports(50)
    assert len(set(found)) == 50
    with socket.create_server(("127.0.0.1", found[0])):
        pass


def test_a_port_that_another_process_chose_is_not_given_out_while_it_runs(monkeypatch):
    """Of a few ports the other process holds most: not one of them is chosen here, though nothing listens on it."""
    monkeypatch.setattr(ports, "HIGHEST", ports.LOWEST + 60)
    chooses = "from logdirwatch_lab import ports; ports.HIGHEST = ports.LOWEST + 60; print(*ports.free_ports(25))"
    command = [sys.executable, "-c", f"{chooses}; print(flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        theirs = {int(word) for word in other.stdout.readline().split()}
        mine = set(free_ports(10))
        other.stdin.write("\n")
    assert len(theirs) == 25
    assert not mine & theirs


def test_a_namespace_is_reached_through_its_holder_and_entered_by_commands():
    volumes = Volumes(MountMode.NAMESPACE, Process(17, 0.0))
    assert volumes.view("/x/logs") == Path("/proc", "17", "root", "x", "logs")
    assert volumes.inside(["java"])[:3] == ["nsenter", "-t", "17"]
    assert volumes.inside(["java"])[-1] == "java"
    assert Volumes(MountMode.DIRECT).view("/x/logs") == Path("/x/logs")
    assert Volumes(MountMode.DIRECT).inside(["java"]) == ["java"]


def test_space_that_cannot_be_asked_is_unknown(tmp_path):
    assert Volumes(MountMode.PLAIN).space(tmp_path / "none") is None
    assert Volumes(MountMode.PLAIN).space(tmp_path).total_bytes > 0
    assert Space(100, 25).used_ratio == 0.75


def test_a_rate_is_ten_steps_a_second():
    assert step_of(1_000_000) == 100_000
    assert step_of(3) == 1
    assert step_of(None) > 100_000


def test_waiting_returns_the_answer_or_tells_what_did_not_come():
    answers = iter([None, 0, "here"])
    assert wait_until(lambda: next(answers), 10, "never") == "here"
    with pytest.raises(UserError, match="it did not come"):
        wait_until(lambda: False, 0.0, lambda: "it did not come")


def java_that_says(folder, version):
    java = folder / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2026-01-01' >&2\n")
    java.chmod(0o755)


def test_java_of_java_home_comes_before_that_of_the_path(tmp_path, monkeypatch):
    java_that_says(tmp_path, "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    java, version = jars.find_java()
    assert java == str(tmp_path / "bin" / "java")
    assert "21.0.1" in version


def test_an_old_java_and_a_missing_one_are_refused_in_one_line(tmp_path, monkeypatch):
    java_that_says(tmp_path, "1.8.0_392")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(UserError, match="Java 17 or later is needed"):
        jars.find_java()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="install Java 17"):
        jars.find_java()


def test_a_tool_that_fails_is_told_by_the_cause_and_not_by_the_stack():
    trace = "Exception in thread main\\nCaused by: it is broken\\n\\tat kafka.Tool.main\\n"
    with pytest.raises(UserError, match=r"^sh: Caused by: it is broken$"):
        jvm.run_tool(["sh", "-c", f"printf '{trace}' >&2; exit 1"])
    assert jvm.run_tool(["echo", "fine"]) == "fine\n"


def test_a_tool_is_the_first_of_its_main_classes_that_the_release_has(tmp_path):
    with zipfile.ZipFile(tmp_path / "kafka_2.13-2.8.2.jar", "w") as jar:
        jar.writestr("kafka/admin/TopicCommand.class", b"")
    kafka = jvm.Jvm("java", f"{tmp_path}/kafka_2.13-2.8.2.jar:{tmp_path}/other.jar", has_log4j_2=False)
    assert jvm.first_class(kafka, ["org.apache.kafka.tools.TopicCommand", "kafka.admin.TopicCommand"]) == (
        "kafka.admin.TopicCommand"
    )
    assert jvm.first_class(kafka, ["kafka.tools.StorageTool"]) is None


@pytest.mark.parametrize(("has_log4j_2", "option"), [(True, "-Dlog4j2.configurationFile="), (False, "-Dlog4j.config")])
@pytest.mark.parametrize("is_broker", [True, False])
def test_every_release_logs_with_what_it_has(has_log4j_2, option, is_broker):
    command = jvm.Jvm("java", "x.jar", has_log4j_2=has_log4j_2).command(64, broker=is_broker)
    (logging,) = [word for word in command if word.startswith(option)]
    path = logging.partition("=")[2].removeprefix("file://")
    assert Path(path).is_file()


def test_the_tools_of_another_release_replace_those_that_it_does_not_have(tmp_path):
    kafka = {}
    for release, classes in {"old": ("kafka.admin.TopicCommand", "kafka.admin.AclCommand"), "new": (TOPICS,)}.items():
        jar = tmp_path / f"kafka-{release}.jar"
        with zipfile.ZipFile(jar, "w") as archive:
            for name in classes:
                archive.writestr(f"{name.replace('.', '/')}.class", "")
        kafka[release] = jvm.Jvm("java", str(jar))
    state = State(
        cluster_id="x", mount_mode=MountMode.PLAIN, log_dir_size_bytes=None, holder=None, brokers=[], telemetry=NODE
    )
    write_tools(state, kafka["old"], tmp_path)
    assert sorted(path.name for path in (tmp_path / "bin").iterdir()) == ["kafka-acls.sh", "kafka-topics.sh"]
    write_tools(state, kafka["new"], tmp_path)
    (left,) = (tmp_path / "bin").iterdir()
    assert TOPICS in left.read_text()
