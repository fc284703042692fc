import json
import sys
from pathlib import Path

import pytest
import yaml

from logdirwatch.settings import load

CONFIG = """
telemetry:
  bootstrap_servers: telemetry:9092
  client:
    security.protocol: SASL_SSL
    sasl.mechanism: PLAIN
    sasl.jaas.config: 'PlainLoginModule required username="me" password="hunter2";'
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
        ("clusters: {a: {log_dirs: [{capacity: 8EiB}]}}", "clusters.a.log_dirs.0.capacity: Input should be less than"),
        ("notify: {receivers: {'': {urls: ['json://x']}}}", "notify.receivers.********: String should have"),
        ("clusters: {' a': {}}", "clusters. a: expected a name of printable characters"),
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


SECRET = "S3cr"
NOT_JSON = "LOGDIRWATCH_{} is not JSON"


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("TELEMETRY__CLIENT", '{"sasl.password": "S3cr"et"}', NOT_JSON),
        ("CLUSTERS__PROD__CLIENT", '{"sasl.password": "S3cr\\q"}', NOT_JSON),
        ("CLUSTERS__PROD__CLIENT", '{"sasl.password": "S3cr\n"}', NOT_JSON),
        ("CLUSTERS__PROD", '{"client": {"sasl.password": "S3cr"et"}}', NOT_JSON),
        ("CLUSTERS", '{"prod": S3cr}', NOT_JSON),
        ("HOST", '{"cluster": S3cr}', NOT_JSON),
        ("CONSOLE__LOGIN", '{"users_file": S3cr', NOT_JSON),
        ("NOTIFY__RECEIVERS__PAGER__URLS", "json://S3cr", NOT_JSON),
        ("TELEMETRY", "S3cr", NOT_JSON),
        ("TELEMETRY__CLIENT", "[" * 100_000 + "S3cr", "LOGDIRWATCH_{} is nested too deeply"),
        (
            "TELEMETRY__CLIENT",
            '{"sasl.password": "S3cr", "sasl.password": "other"}',
            "LOGDIRWATCH_{} has a key twice in one JSON object",
        ),
        ("TELEMETRY__CLIENT", '{"sasl.password": "S3cr\udcff"}', "LOGDIRWATCH_{} is not text in UTF-8"),
        ("TELEMETRY__CLIENT", '{"sasl.password": "S3cr\\ud800"}', "LOGDIRWATCH_{} has half of a surrogate pair"),
        (
            "TELEMETRY__CLIENT",
            '{"sasl.password": "S3cr\\\\\\u0000"}',
            "LOGDIRWATCH_{} has half of a surrogate pair or a null",
        ),
        ("CONSOLE__PASSWORD", "S3cr\udcff is long enough", "LOGDIRWATCH_{} is not text in UTF-8"),
        ("NOTIFY__HEARTBEAT__PING_URL", "http://[S3cr/", "notify.heartbeat.ping_url (LOGDIRWATCH_{}): expected http"),
        ("NOTIFY__RECEIVERS", '{"a": {"alertmanager": ["S3cr:9093"]}}', "(LOGDIRWATCH_{}): expected http://HOST"),
        ("TELEMETRY__CLIENT", '["S3cr"]', "telemetry.client (LOGDIRWATCH_{}): expected keys and values"),
        ("TELEMETRY", '"S3cr"', "telemetry (LOGDIRWATCH_{}): expected keys and values"),
        ("TELEMETRY__CLIENT", "", "telemetry.client (LOGDIRWATCH_{}): expected keys and values"),
        ("STREAM__EXTRA", '{"a": {"b": "S3cr"}}', "stream.extra.a (LOGDIRWATCH_{}): Input should be a valid string"),
        (
            "DETECT__DEBOUNCE_SAMPLES",
            "S3cr",
            "detect.debounce_samples (LOGDIRWATCH_{}): Input should be a valid integer",
        ),
        (
            "TELEMETRY__BOOTSTRAP_SERVER",
            "S3cr",
            "telemetry.bootstrap_server (LOGDIRWATCH_{}): there is no such key; did you mean bootstrap_servers?",
        ),
        (
            "TELEMETRI__BOOTSTRAP_SERVERS",
            "S3cr",
            "LOGDIRWATCH_{}: there is no such key; did you mean LOGDIRWATCH_TELEMETRY__BOOTSTRAP_SERVERS?",
        ),
        (
            "TELEMETRY_BOOTSTRAP_SERVERS",
            "S3cr",
            "LOGDIRWATCH_{}: there is no such key; did you mean LOGDIRWATCH_TELEMETRY__BOOTSTRAP_SERVERS?",
        ),
        (
            "CONSOLE_LOGIN__USERS_FILE",
            "S3cr",
            "LOGDIRWATCH_{}: there is no such key; did you mean LOGDIRWATCH_CONSOLE__LOGIN__USERS_FILE?",
        ),
        ("NOTIFY__RECEIVERS__OPS__URLS", "slack://S3cr/S3cr/S3cr", 'write a list as ["..."]'),
        ("HOM", "S3cr", "LOGDIRWATCH_{}: there is no such key; did you mean LOGDIRWATCH_HOME?"),
        ("XYZZY", "S3cr", "LOGDIRWATCH_{}: there is no such key\n"),
        ("HOME__X", "S3cr", "LOGDIRWATCH_{}: there is no such key; did you mean LOGDIRWATCH_HOME?"),
    ],
)
def test_a_variable_that_is_wrong_is_named_in_one_line_without_its_value(run, monkeypatch, name, value, problem):
    monkeypatch.setenv(f"LOGDIRWATCH_{name}", value)
    ended = run("config", "check")
    assert (ended.exit_code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert problem.format(name) in ended.err
    assert SECRET not in ended.err


PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
ADDRESS, FILE_URL = "expected host:port", "expected http://HOST"


@pytest.mark.parametrize(
    ("where", "values", "problem"),
    [
        (
            "telemetry.bootstrap_servers",
            [
                *('{"a":1}', "b:x", "b:0", "b:70000", "b:-1", "b:+1", "b:٣", "b", "b:1 c:2", "b;1", "http://b:1"),
                *("::1:9092", "[::1]", "[::g]:1", "[1.2.3.4]:1", "b..c:1", f"{'b' * 64}:1", "ä:1", "me:S3cr@b:1"),
                *(" ", ",,", "b: 1"),
            ],
            ADDRESS,
        ),
        ("telemetry.bootstrap_servers", ["b:1,S3cr"], f"address 2: {ADDRESS}"),
        ("clusters.prod.bootstrap_servers", ["b"], ADDRESS),
        ("clusters.prod.tools.bootstrap_servers", ["b"], ADDRESS),
        ("notify.listen", ["b", "b:70000", "b:٣", "::1:1", "b c:1"], ADDRESS),
        ("notify.console_url", ["http://", "http://a b/", "http://b:0/", "ftp://b/", "b"], FILE_URL),
        ("notify.runbook_url", ["https://", "https:///{rule}"], FILE_URL),
        (
            "stream.detect_trigger",
            ["soon", "500", "500ms", "1 fortnight", "-1 seconds", "1 second 2"],
            "expected an interval",
        ),
        ("stream.driver_memory", ["much", "2x", "0g", "2gb", "-1g"], "should match pattern"),
        ("stream.master", ["locl[2]", "nowhere"], "should match pattern"),
        ("topics.replication_factor", ["0", "32768", "1e3"], "Input should be"),
        ("report.cost_per_tb_month", ["inf", "nan", "1e400"], "should be"),
        ("collect.metrics_interval_ms", ["9" * 20, str(2**53)], "must not exceed"),
        ("collect.collector", [" ", "a\tb", "a "], "expected a name of printable characters"),
        ("checkpoints.path", [""], "at least 1 character"),
    ],
)
def test_a_value_that_cannot_work_is_named_wherever_it_is_written(run, tmp_path, monkeypatch, where, values, problem):
    variable = "LOGDIRWATCH_" + where.upper().replace(".", "__")
    for value in values:
        found = value
        for key in reversed(where.split(".")):
            found = {key: found}
        in_file = run("--config", write(tmp_path, yaml.safe_dump(found, allow_unicode=True)), "config", "check")
        monkeypatch.setenv(variable, value)
        in_variable = run("config", "check")
        monkeypatch.delenv(variable)
        for ended in (in_file, in_variable):
            assert (value, ended.exit_code, ended.out, ended.err.count("\n")) == (value, 2, "", 1)
            assert where.partition(".")[0] in ended.err
            assert problem in ended.err
            assert SECRET not in ended.err
        assert variable in in_variable.err


@pytest.mark.parametrize(
    ("client", "problem"),
    [
        ({"security.protocol": "TLS"}, "security.protocol: expected one of PLAINTEXT, SSL"),
        ({"security.protocol": ""}, "security.protocol: expected one of"),
        ({"sasl.mechanism": "SCRAM"}, "sasl.mechanism: expected one of PLAIN"),
        ({"sasl.jaas.config": f'{PLAIN_MODULE} username="me" password="S3cr"et";'}, 'expected options name="value"'),
        ({"sasl.jaas.config": f'{PLAIN_MODULE} username="me" password="S3cr;'}, 'expected options name="value"'),
        ({"sasl.jaas.config": f'{PLAIN_MODULE} username="me" password="S3cr\n";'}, 'expected options name="value"'),
        ({"sasl.jaas.config": f"{PLAIN_MODULE} username=me password=S3cr@et;"}, 'expected options name="value"'),
        ({"sasl.jaas.config": f'{PLAIN_MODULE} username="me" password="S3cr"'}, "ended by a semicolon"),
        ({"sasl.jaas.config": f'{PLAIN_MODULE} username="me";'}, "has no option password"),
        ({"sasl.jaas.config": "S3cr"}, "sasl.jaas.config: "),
        ({"sasl.jaas.config": "com.sun.security.auth.module.Krb5LoginModule required a=S3cr;"}, "sasl.jaas.config: "),
        ({"sasl.username": "me", "sasl.password": "S3cr"}, "sasl.username: needs sasl.mechanism"),
        ({"sasl.mechanism": "PLAIN", "sasl.password": "S3cr"}, "sasl.password: needs sasl.username"),
        ({"ssl.keystore.key": "S3cr"}, "ssl.keystore.key: needs ssl.keystore.certificate.chain"),
        ({"ssl.truststore.location": ""}, "ssl.truststore.location: expected the path"),
        ({"ssl.truststore.type": "JKS"}, "ssl.truststore.type: expected PEM"),
        ({"ssl.endpoint.identification.algorithm": "S3cr"}, "algorithm: expected https"),
        ({"ssl.protocol": "S3cr"}, "ssl.protocol: not supported"),
        ({"request.timeout.ms": "-5"}, "request.timeout.ms: expected a whole number"),
        ({"request.timeout.ms": "1_000"}, "request.timeout.ms: expected a whole number"),
        ({"request.timeout.ms": "٣"}, "request.timeout.ms: expected a whole number"),
        ({"request.timeout.ms": "9" * 10}, "request.timeout.ms: expected a whole number"),
        ({"client.dns.lookup": "all"}, "client.dns.lookup: expected one of use_all_dns_ips"),
    ],
)
def test_client_properties_that_no_client_takes_are_named_without_their_value(run, monkeypatch, client, problem):
    for section in ("TELEMETRY", "CLUSTERS__PROD"):
        monkeypatch.setenv(f"LOGDIRWATCH_{section}__CLIENT", json.dumps(client))
        ended = run("config", "check")
        monkeypatch.delenv(f"LOGDIRWATCH_{section}__CLIENT")
        assert (ended.exit_code, ended.out, ended.err.count("\n")) == (2, "", 1)
        assert f"(LOGDIRWATCH_{section}__CLIENT): Kafka client property " in ended.err
        assert problem in ended.err
        assert SECRET not in ended.err


@pytest.mark.parametrize(
    ("client", "remark"),
    [
        (
            {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "me"},
            "sasl.password is missing",
        ),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, "sasl.jaas.config is missing"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}, "sasl.jaas.config is missing"),
        ({"security.protocol": "SSL", "ssl.keystore.certificate.chain": "C"}, "ssl.keystore.key is missing"),
        ({"sasl.mechanism": "PLAIN"}, "with security.protocol PLAINTEXT, no property sasl.* has an effect"),
        ({"ssl.truststore.location": "/ca"}, "with security.protocol PLAINTEXT, no property ssl.* has an effect"),
        ({"security.protocol": "SSL", "ssl.truststore.location": "/ca"}, None),
    ],
)
def test_properties_without_an_effect_or_without_their_secret_are_remarked(run, monkeypatch, client, remark):
    monkeypatch.setenv("LOGDIRWATCH_CLUSTERS__PROD__CLIENT", json.dumps(client))
    ended = run("config", "check")
    assert ended.exit_code == 0
    expected = [] if remark is None else [f"logdirwatch: clusters.prod.client: {remark}"]
    assert [line for line in ended.err.splitlines() if "clusters.prod" in line] == expected


@pytest.mark.parametrize(
    "url",
    ["slack://S3cr", "json://", "json://b:0", "jsons://b:99999", "mailto://", "S3cr", "", "xyz://S3cr", "json://b c"],
)
def test_urls_that_apprise_does_not_know_are_refused_by_their_position(run, tmp_path, url):
    path = tmp_path / "urls"
    path.write_text(f"json://good/\n{url or 'S3cr'}\n")
    for receiver in ({"urls": ["json://good/", url]}, {"urls_file": str(path)}):
        text = yaml.safe_dump({"notify": {"receivers": {"pager": receiver}}})
        ended = run("--config", write(tmp_path, text), "config", "check")
        assert (ended.exit_code, ended.out, ended.err.count("\n")) == (2, "", 1)
        assert "notify.receivers.pager: apprise" in ended.err
        assert "does not know URL 2" in ended.err
        assert SECRET not in ended.err


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "No such file or directory"),
        (b"", "it has no URL"),
        (b"\n# json://commented/\n \n", "it has no URL"),
        (b"\xff", "not text in UTF-8"),
    ],
)
def test_a_file_of_urls_that_cannot_be_used_here_is_remarked(run, tmp_path, content, problem):
    path = tmp_path / "urls"
    if content is not None:
        path.write_bytes(content)
    text = yaml.safe_dump({"notify": {"receivers": {"pager": {"urls_file": str(path)}}}})
    ended = run("--config", write(tmp_path, text), "config", "check")
    assert ended.exit_code == 0
    assert f"notify.receivers.pager.urls_file {path}: {problem}" in ended.err


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("notify: {runbook_url: 'https://r/{alert}'}", "notify.runbook_url: only {rule} is filled in"),
        ("notify: {runbook_url: 'https://r/{rule'}", "notify.runbook_url: only {rule} is filled in"),
        (
            "notify: {runbook_url: 'https://r/{rule}/{rule}?q={cluster}'}",
            "notify.runbook_url: only {rule} is filled in",
        ),
        ("notify: {runbook_url: 'https://r/#rule}'}", "notify.runbook_url: only {rule} is filled in"),
        ("notify: {console_url: 'https://c/x?a=b'}", "notify.console_url: expected a URL without ? and #"),
        ("notify: {console_url: 'https://c/#/'}", "notify.console_url: expected a URL without ? and #"),
        ("detect: {thresholds: {back_ratio: 0.8}}", "detect.thresholds: back_ratio must be below filling_ratio"),
        ("detect: {thresholds: {back_ratio: 0.75}}", "detect.thresholds: back_ratio must be below filling_ratio"),
        (
            "detect: {rules: [{thresholds: {filling_ratio: 0.04}}]}",
            "detect.rules.0.thresholds: back_ratio must be below filling_ratio",
        ),
    ],
)
def test_values_that_cannot_work_are_refused(run, tmp_path, text, problem):
    ended = run("--config", write(tmp_path, text), "config", "check")
    assert (ended.exit_code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert problem in ended.err


def test_urls_that_can_work_are_taken(tmp_path):
    text = "notify: {runbook_url: 'https://r/{rule}?a=b#{rule}', console_url: 'https://c/x/'}"
    assert load(Path(write(tmp_path, text))).notify.console_url == "https://c/x/"


HARD_PASSWORDS = ["12345", "null", '{"x": 1}', '["a"', '"a"', " a ", "a\nb", "$(X) ${X} %h", "a\\b", "it's #1", "é"]


@pytest.mark.parametrize("password", HARD_PASSWORDS)
def test_a_password_in_a_variable_is_text_and_belongs_to_the_cluster_of_the_file(tmp_path, monkeypatch, password):
    text = "clusters: {Prod-EU: {bootstrap_servers: 'b:1', client: {sasl.mechanism: PLAIN, sasl.username: me}}}"
    monkeypatch.setenv("LOGDIRWATCH_CLUSTERS__PROD-EU__CLIENT__sasl.password", password)
    found = load(Path(write(tmp_path, text)))
    assert list(found.clusters) == ["Prod-EU"]
    assert found.clusters["Prod-EU"].client["sasl.password"] == password
    assert password not in repr(found)


def test_a_variable_that_names_no_cluster_of_the_file_is_refused(run, tmp_path, monkeypatch):
    path = write(tmp_path, "clusters: {prod: {bootstrap_servers: 'b:1'}, 7: {}}")
    monkeypatch.setenv("LOGDIRWATCH_CLUSTERS__PRD__CLIENT", '{"client.id": "S3cr"}')
    ended = run("--config", path, "config", "check")
    assert (ended.exit_code, ended.out) == (2, "")
    assert "LOGDIRWATCH_CLUSTERS: there is no cluster prd in the file; did you mean prod?" in ended.err
    monkeypatch.setenv("LOGDIRWATCH_CLUSTERS__PRD__BOOTSTRAP_SERVERS", "b:2")
    assert list(load(Path(write(tmp_path, "clusters: {prod: {}}"))).clusters) == ["prod", "prd"]


@pytest.mark.parametrize(
    "text",
    [
        'notify: {"slack://S3cr/T/B": x}',
        '"sasl.password: S3cr": x',
        'notify: {receivers: {"json://me:S3cr@x": {}}}',
        'telemetry: {client: {"sasl.password=S3cr": x}}',
        f'telemetry: {{client: {{"S3cr{"x" * 80}": x}}}}',
    ],
)
def test_a_key_that_is_no_name_is_not_shown_since_it_may_be_a_secret(run, tmp_path, text):
    ended = run("--config", write(tmp_path, text), "config", "check")
    assert (ended.exit_code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert SECRET not in ended.err
    assert "********" in ended.err


BOMB = "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}' if n else 'x'] * 9)}]" for n in range(10)).encode()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"telemetry:\n\tbootstrap_servers: a:1\n", " line 2: not valid YAML: indent with spaces, not with a tab"),
        (b"home: 'S3cr\n", " line 2: not valid YAML"),
        (b"home: S3cr\xe9\n", ": not text in UTF-8"),
        ("home: S3cr\n".encode("utf-16"), ": not text in UTF-8"),
        (b'home: "S3cr\\ud800"\n', ": not text in UTF-8"),
        (b'home: "S3cr\\0"\n', ": not text in UTF-8"),
        (b"home: a\n---\nhome: S3cr\n", " line 2: not valid YAML"),
        (b"home: a\nhome: S3cr\n", " line 2: the key is there already"),
        (b"clusters: {prod: {client: {sasl.password: S3cr, sasl.password: b}}}", " line 1: the key is there already"),
        (BOMB, ": more than 1000000 values, those of aliases counted wherever they stand"),
        (b"home: &a [*a]", ": more than 1000000 values, those of aliases counted wherever they stand"),
        (b"#" * 10_000_001, ": more than 10000000 characters"),
        (None, ": Is a directory"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line(run, tmp_path, content, problem):
    path = tmp_path / "mine.yaml"
    path.mkdir() if content is None else path.write_bytes(content)
    ended = run("--config", str(path), "config", "check")
    assert (ended.exit_code, ended.out) == (2, "")
    assert ended.err == f"logdirwatch: configuration {path}{problem}\n"


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (Path.mkdir, "Is a directory"),
        (lambda path: path.symlink_to("nowhere"), "No such file or directory"),
    ],
)
def test_a_file_in_its_usual_place_that_cannot_be_read_is_not_passed_over(run, tmp_path, make, problem):
    make(tmp_path / "logdirwatch.yaml")
    ended = run("config", "check")
    assert (ended.exit_code, ended.err) == (2, f"logdirwatch: configuration logdirwatch.yaml: {problem}\n")


CLUSTERS, PASSWORD, HOME = "clusters", "password", "home"


@pytest.mark.parametrize(
    ("written", "key", "expected"),
    [
        ("clusters: {no: {bootstrap_servers: 'b:1'}}", CLUSTERS, ["no"]),
        ("clusters: {0x10: {bootstrap_servers: 'b:1'}}", CLUSTERS, ["0x10"]),
        ("clusters: {2024-01-01: {bootstrap_servers: 'b:1'}}", CLUSTERS, ["2024-01-01"]),
        ("clusters: {1: {bootstrap_servers: 'b:1'}, '01': {bootstrap_servers: 'b:2'}}", CLUSTERS, ["1", "01"]),
        ("telemetry: {client: {sasl.username: a, sasl.mechanism: PLAIN, sasl.password: 0123456}}", PASSWORD, "0123456"),
        ("telemetry: {client: {sasl.username: a, sasl.mechanism: PLAIN, sasl.password: yes}}", PASSWORD, "yes"),
        (
            "telemetry: {client: {sasl.username: a, sasl.mechanism: PLAIN, sasl.password: 1_000.50}}",
            PASSWORD,
            "1_000.50",
        ),
        ("telemetry: {client: {sasl.username: a, sasl.mechanism: PLAIN, sasl.password: 12:30}}", PASSWORD, "12:30"),
        ("home: 2024-01-01", HOME, "2024-01-01"),
        ("home: 'null'", HOME, "null"),
        ("collect: {metrics_interval_ms: 010000}", "metrics_interval_ms", 10_000),
        ("collect: {metrics_interval_ms: 10_000}", "metrics_interval_ms", 10_000),
        ("collect: {consumer_groups: off}", "consumer_groups", False),
        ("collect: {listen: null}", "listen", None),
        ("collect: {listen: }", "listen", None),
    ],
)
def test_what_stands_in_the_file_gets_its_type_from_its_key_as_in_a_variable(tmp_path, written, key, expected):
    settings = load(Path(write(tmp_path, written)))
    read = {
        CLUSTERS: list(settings.clusters),
        PASSWORD: settings.telemetry.client.get("sasl.password"),
        HOME: settings.home,
        **settings.collect.model_dump(),
    }
    assert read[key] == expected


@pytest.mark.parametrize("written", ["0x10", "1:30", "1e4", "0o17", "5.5"])
def test_a_number_has_one_meaning_or_is_refused(run, tmp_path, written):
    ended = run("--config", write(tmp_path, f"notify: {{group_wait_ms: {written}}}"), "config", "check")
    assert (ended.exit_code, ended.out) == (2, "")
    assert "notify.group_wait_ms: Input should be a valid integer" in ended.err


@pytest.mark.parametrize("section", ["collect", "clusters", "telemetry", "clusters.prod", "notify.receivers"])
def test_a_section_without_anything_in_it_is_named(run, tmp_path, section):
    outer, _, inner = section.partition(".")
    ended = run("--config", write(tmp_path, f"{outer}: {{{inner}: }}" if inner else f"{outer}:"), "config", "check")
    assert (ended.exit_code, ended.out) == (2, "")
    assert f"{section}: expected keys and values below it" in ended.err


def test_a_byte_order_mark_is_no_part_of_the_first_key(run, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(CONFIG.lstrip(), encoding="utf-8-sig")
    ended = run("--config", str(path), "config", "check")
    assert yaml.safe_load(ended.out)["telemetry"]["bootstrap_servers"] == "telemetry:9092"


def test_a_line_end_after_a_value_is_no_part_of_it(run, monkeypatch):
    monkeypatch.setenv("LOGDIRWATCH_TELEMETRY__BOOTSTRAP_SERVERS", "elsewhere:9092\r\n")
    monkeypatch.setenv("LOGDIRWATCH_TELEMETRY__CLIENT", '{"client.id": "x"}\n')
    effective = yaml.safe_load(run("config", "check").out)
    assert effective["telemetry"] == {"bootstrap_servers": "elsewhere:9092", "client": {"client.id": "x"}}


@pytest.mark.parametrize(
    "name", ["SERVICE_HOST", "CONSOLE_SERVICE_HOST", "CONSOLE_SERVICE_PORT_HTTP", "PORT", "CONSOLE_PORT_8787_TCP_ADDR"]
)
def test_what_kubernetes_says_of_services_is_no_configuration(run, monkeypatch, name):
    monkeypatch.setenv(f"LOGDIRWATCH_{name}", "tcp://10.0.0.1:80")
    assert run("config", "check").exit_code == 0


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
