import sys

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


def test_a_valid_configuration_is_printed_in_effect_with_secrets_masked(run, tmp_path):
    ended = run("--config", write(tmp_path, CONFIG), "config", "check")
    assert ended.exit_code == 0
    assert "hunter2" not in ended.out + ended.err
    effective = yaml.safe_load(ended.out)
    assert effective["telemetry"]["client"]["security.protocol"] == "SASL_SSL"
    assert effective["clusters"]["prod"]["bootstrap_servers"] == "b1:9092,b2:9092"
    assert effective["detect"]["debounce_samples"] == 2


def test_the_environment_overrides_the_file(run, tmp_path, monkeypatch):
    monkeypatch.setenv("LOGDIRWATCH_TELEMETRY__BOOTSTRAP_SERVERS", "elsewhere:9092")
    ended = run("--config", write(tmp_path, CONFIG), "config", "check")
    assert yaml.safe_load(ended.out)["telemetry"]["bootstrap_servers"] == "elsewhere:9092"


def test_an_unknown_key_is_wrong_use_and_is_named(run, tmp_path):
    ended = run("--config", write(tmp_path, "detect:\n  treshold: 1\n"), "config", "check")
    assert ended.exit_code == 2
    assert "detect.treshold" in ended.err
    assert ended.err.count("\n") == 1


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
