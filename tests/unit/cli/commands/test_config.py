import sys

import pytest
import yaml

CONFIG = """
telemetry:
  bootstrap_servers: telemetry:9092
  client:
    security.protocol: SASL_SSL
    sasl.jaas.config: 'PlainLoginModule required password="hunter2";'
clusters:
  prod:
    bootstrap_servers: b1:9092,b2:9092
"""


def write(tmp_path, text: str) -> str:
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_valid_configuration_is_called_valid_and_only_what_differs_is_shown(run, tmp_path):
    path = write(tmp_path, CONFIG)
    ended = run("--config", path, "config", "check")
    assert ended.exit_code == 0
    assert ended.out.splitlines()[0] == f"# valid: {path}"
    assert "hunter2" not in ended.out + ended.err
    effective = yaml.safe_load(ended.out)
    assert effective["telemetry"]["client"]["security.protocol"] == "SASL_SSL"
    assert effective["clusters"] == {"prod": {"bootstrap_servers": "b1:9092,b2:9092"}}
    assert set(effective) == {"home", "telemetry", "clusters"}


def test_every_value_is_shown_on_demand(run, tmp_path):
    ended = run("--config", write(tmp_path, CONFIG), "config", "check", "--all")
    assert "hunter2" not in ended.out + ended.err
    effective = yaml.safe_load(ended.out)
    assert effective["clusters"]["prod"]["bootstrap_servers"] == "b1:9092,b2:9092"
    assert effective["detect"]["debounce_samples"] == 2


def test_routes_and_receivers_show_what_was_written(run, tmp_path):
    text = """
clusters: {prod: {}}
notify:
  receivers: {pager: {urls: ["json://me:hunter2@pager/"]}}
  routes: [{rule: log_dir_*, receivers: [pager]}]
"""
    ended = run("--config", write(tmp_path, text), "config", "check")
    assert "hunter2" not in ended.out
    effective = yaml.safe_load(ended.out)
    assert effective["clusters"] == {"prod": {"bootstrap_servers": "localhost:9092"}}
    assert effective["notify"]["routes"] == [{"rule": "log_dir_*", "receivers": ["pager"]}]


def test_the_environment_overrides_the_file(run, tmp_path, monkeypatch):
    monkeypatch.setenv("LOGDIRWATCH_TELEMETRY__BOOTSTRAP_SERVERS", "elsewhere:9092")
    ended = run("--config", write(tmp_path, CONFIG), "config", "check")
    assert yaml.safe_load(ended.out)["telemetry"]["bootstrap_servers"] == "elsewhere:9092"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("detect: {treshold: 1}", "detect.treshold: there is no such key; did you mean thresholds?"),
        ("consoles: {}", "consoles: there is no such key; did you mean console?"),
        (
            "clusters: {prod: {bootstrap_server: x}}",
            "clusters.prod.bootstrap_server: there is no such key; did you mean bootstrap_servers?",
        ),
        (
            "notify: {receivers: {me: {urls: [json://x]}}, routes: [{receiver: [me]}]}",
            "notify.routes.0.receiver: there is no such key; did you mean receivers?",
        ),
        ("host: {brokr: 1}", "host.brokr: there is no such key; did you mean broker?"),
        ("zzz: 1", "zzz: there is no such key"),
        (
            "notify: {routes: [{rule: log_dir_spce}]}",
            "notify.routes.0.rule: no rule matches log_dir_spce; did you mean log_dir_space?",
        ),
        (
            "telemetry: {client: {sasl.passwrd: hunter2}}",
            "telemetry.client: Kafka client property sasl.passwrd: not supported; did you mean sasl.password?",
        ),
    ],
)
def test_what_is_misspelt_is_wrong_use_and_the_name_that_is_meant_is_shown(run, tmp_path, text, problem):
    ended = run("--config", write(tmp_path, text), "config", "check")
    assert ended.exit_code == 2
    assert ended.err.count("\n") == 1
    assert problem in ended.err
    assert "hunter2" not in ended.err


def test_a_missing_file_is_wrong_use(run):
    ended = run("--config", "nowhere.yaml", "config", "check")
    assert ended.exit_code == 2
    assert "nowhere.yaml" in ended.err


def test_a_telemetry_cluster_that_is_the_monitored_one_is_remarked(run, tmp_path):
    text = "telemetry: {bootstrap_servers: 'b2:9092'}\nclusters: {prod: {bootstrap_servers: 'b1:9092, B2:9092'}}\n"
    ended = run("--config", write(tmp_path, text), "config", "check")
    assert ended.exit_code == 0
    assert "telemetry is the monitored cluster prod" in ended.err


def test_no_cluster_to_watch_is_remarked(run):
    ended = run("config", "check")
    assert ended.exit_code == 0
    assert "no cluster to watch" in ended.err


def test_the_reference_is_a_valid_configuration(run, tmp_path):
    reference = run("config", "reference")
    assert reference.exit_code == 0
    assert run("--config", write(tmp_path, reference.out), "config", "check").exit_code == 0


def test_at_a_terminal_the_next_command_is_said_with_the_same_configuration(run, tmp_path, monkeypatch):
    path = write(tmp_path, CONFIG)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    said = run("--config", path, "config", "check").err.splitlines()[-1]
    assert said == f"next: logdirwatch --config {path} topics create, logdirwatch --config {path} doctor"
    (tmp_path / "logdirwatch.yaml").write_text(CONFIG, encoding="utf-8")
    assert run("config", "check").err.splitlines()[-1] == "next: logdirwatch topics create, logdirwatch doctor"


def test_without_a_terminal_nothing_more_is_said(run, tmp_path):
    assert run("--config", write(tmp_path, CONFIG), "config", "check").err == ""
