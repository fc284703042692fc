"""``init`` writes a configuration that ``config check`` takes, and says what comes next."""

import errno
import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from logdirwatch.cli.context import program
from logdirwatch.settings import load

OPTIONS = (
    *("--cluster", "prod", "--brokers", "b1:9092", "--security", "PLAINTEXT", "--telemetry", "t1:9092"),
    *("--replication-factor", "1", "--notify-url", ""),
)


def changed(**fields):
    """Return the options with others of the same name."""
    found = dict(zip(OPTIONS[::2], OPTIONS[1::2], strict=True))
    return [part for pair in ({**found, **fields}).items() for part in pair]


def test_options_write_the_smallest_configuration_that_the_check_takes(run, tmp_path):
    ended = run("init", *OPTIONS)
    assert ended.exit_code == 0
    written = yaml.safe_load((tmp_path / "logdirwatch.yaml").read_text())
    assert written == {
        "telemetry": {"bootstrap_servers": "t1:9092"},
        "clusters": {"prod": {"bootstrap_servers": "b1:9092"}},
    }
    checked = run("config", "check")
    assert (checked.exit_code, checked.err) == (0, "")
    assert checked.out.startswith("# valid: logdirwatch.yaml")


def test_it_prints_the_acls_and_the_next_commands(run):
    out = run("init", *changed(**{"--telemetry": "t1:9092,t2:9092"})).out
    acls = [line.strip() for line in out.splitlines() if "kafka-acls.sh" in line]
    assert all(line.endswith("--allow-principal User:logdirwatch") for line in acls)
    *collector, own = (line.partition(" --allow")[0].split(" --add ") for line in acls)
    assert {where for where, _ in collector} == {"kafka-acls.sh --bootstrap-server b1:9092"}
    assert [what for _, what in collector] == [
        "--operation Describe --operation DescribeConfigs --cluster",
        "--operation Describe --operation DescribeConfigs --topic '*'",
        "--operation Describe --group '*'",
    ]
    assert own[0] == "kafka-acls.sh --bootstrap-server t1:9092,t2:9092"
    assert own[1].endswith("--resource-pattern-type prefixed --topic logdir.")
    expected = ("config check", "topics create", "doctor", "collect", "stream", "console", "status")
    assert commands_in(out) == list(expected)


def test_who_named_a_receiver_is_led_to_its_messages(run):
    out = run("init", *changed(**{"--notify-url": "json://pager/"})).out
    assert commands_in(out)[-3:] == ["notify", "status", "notify --test"]


def test_a_command_that_the_shell_does_not_find_is_named_as_it_was_called(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(sys, "argv", [".venv/bin/logdirwatch"])
    assert program() == ".venv/bin/logdirwatch"
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    assert program() == "logdirwatch"


def commands_in(out):
    return [line.removeprefix("  logdirwatch ") for line in out.splitlines() if line.startswith("  logdirwatch ")]


def test_a_secured_cluster_gets_its_client_and_no_password_is_written(run, tmp_path):
    options = changed(**{"--security": "sasl_ssl", "--replication-factor": "3"})
    out = run("init", *options, "--user", "watch", "--ca-file", "/etc/ca.pem").out
    written = yaml.safe_load((tmp_path / "logdirwatch.yaml").read_text())
    assert written["topics"] == {"replication_factor": 3}
    assert written["clusters"]["prod"]["client"] == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "watch",
        "ssl.truststore.location": "/etc/ca.pem",
    }
    assert "export LOGDIRWATCH_CLUSTERS__PROD__CLIENT=" in out


def test_the_address_of_a_receiver_is_a_secret_in_a_file_of_its_own(run, tmp_path):
    ended = run("init", *changed(**{"--notify-url": "json://me:hunter2@pager/"}))
    assert "hunter2" not in ended.out + (tmp_path / "logdirwatch.yaml").read_text()
    urls = tmp_path / "notify-urls"
    assert urls.read_text() == "json://me:hunter2@pager/\n"
    assert urls.stat().st_mode & 0o077 == 0
    assert run("config", "check").exit_code == 0


def test_without_options_it_asks_six_questions(run, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("mine\nb1:9092\nSSL\nt1:9092\n1\n\n"))
    ended = run("init")
    assert ended.exit_code == 0
    assert "SASL_SSL) [PLAINTEXT]: " in ended.out
    assert [number for number in range(1, 9) if f"{number}. " in ended.out] == [1, 2, 3, 4, 5, 6]
    assert set(yaml.safe_load((tmp_path / "logdirwatch.yaml").read_text())["clusters"]) == {"mine"}


def test_a_file_that_is_there_is_not_replaced(run, tmp_path):
    (tmp_path / "logdirwatch.yaml").write_text("home: x\n")
    ended = run("init", *OPTIONS)
    assert ended.exit_code == 2
    assert "exists and is not replaced" in ended.err
    assert (tmp_path / "logdirwatch.yaml").read_text() == "home: x\n"


@pytest.mark.parametrize("failing", ["notify-urls", "logdirwatch.yaml"])
@pytest.mark.parametrize("reason", [errno.ENOSPC, errno.EDQUOT, errno.EIO], ids=errno.errorcode.get)
def test_on_a_full_disk_nothing_is_left_that_looks_like_a_configuration(run, tmp_path, monkeypatch, failing, reason):
    write = Path.write_text

    def fails(path, *arguments, **more):
        if path.name.startswith(failing):
            raise OSError(reason, os.strerror(reason))
        return write(path, *arguments, **more)

    monkeypatch.setattr(Path, "write_text", fails)
    ended = run("init", *changed(**{"--notify-url": "json://receiver.example/"}))
    assert (ended.exit_code, ended.err.count("\n")) == (1, 1)
    assert os.strerror(reason) in ended.err
    assert [each for each in tmp_path.iterdir() if each.is_file()] == []


def test_the_password_of_any_cluster_is_an_assignment_that_a_shell_takes_and_the_configuration_reads(run, tmp_path):
    out = run("init", *changed(**{"--security": "SASL_SSL", "--cluster": "Prod-EU"})).out
    (line,) = (line for line in out.splitlines() if line.startswith("  export "))
    shown = subprocess.run(["bash", "-c", f"{line}; env"], capture_output=True, text=True, check=True)
    variable = next(line for line in shown.stdout.splitlines() if line.startswith("LOGDIRWATCH_CLUSTERS"))
    name, _, value = variable.partition("=")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv(name, value)
        assert load(tmp_path / "logdirwatch.yaml").clusters["Prod-EU"].client["sasl.password"] == "..."


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--cluster", "x" * 256),
        ("--output", "missing/logdirwatch.yaml"),
        *(("--brokers", value) for value in ("", "b1", "b1:x", "b1:0")),
        *(("--telemetry", value) for value in ("", "::1:9092")),
        *(("--cluster", value) for value in ("", "prod eu", "prod\n")),
        *(("--notify-url", value) for value in ("slak://x", "json://")),
    ],
)
def test_an_answer_that_no_configuration_can_have_is_one_line(run, tmp_path, option, value):
    ended = run("init", *changed(**{option: value}))
    assert (ended.exit_code, ended.err.count("\n")) == (2, 1)
    assert option != "--cluster" or ended.err.startswith("logdirwatch: init: --cluster: ")
    assert not (tmp_path / "logdirwatch.yaml").exists()


def test_a_telemetry_cluster_that_is_the_monitored_one_is_remarked(run):
    assert "note: telemetry is the monitored cluster prod" in run("init", *changed(**{"--telemetry": "b1:9092"})).out
