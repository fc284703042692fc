"""The telemetry cluster where everybody must say who he is, over TLS: all parts reach it, or say why they do not."""

import json
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
import yaml

from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch_lab.demo.services import Service
from tests.kafka.certificates import Authority
from tests.kafka.collecting import COMMAND, run
from tests.kafka.secured import KEY_PASSWORD, PASSWORD
from tests.kafka.telemetry import Run, fresh_topics
from tests.support.waiting import DEADLINE_S, wait_until
from tests.unit.notify.receivers import receiving

BROKEN = 1
AT_ONCE = 2


@pytest.fixture
def receiver():
    with receiving() as running:
        yield running


def over(secured, watched, kind):
    """Return the configuration that has its telemetry behind a listener, and empty topics there."""
    client = {
        "sasl_tls": secured.sasl_tls_client,
        "mutual": secured.mutual_java_client,
        "mutual_as_pem": secured.mutual_client_as_pem,
    }[kind]("admin")
    servers = secured.sasl_tls if kind == "sasl_tls" else secured.mutual
    settings = watched.model_copy(update={"telemetry": KafkaSettings(bootstrap_servers=servers, client=client)})
    fresh_topics(settings)
    return settings


# That each part works over TLS is what test_least_privilege.py proves in every run.
@pytest.mark.long
@pytest.mark.release
@pytest.mark.parametrize("kind", ["sasl_tls", "mutual", "mutual_as_pem"])
def test_a_directory_that_fails_becomes_an_alert_over_tls(cluster, watched, secured, receiver, tmp_path, kind):
    settings = over(secured, watched, kind)
    everything = {
        "clusters": {"test": {"bootstrap_servers": cluster.bootstrap_servers}},
        "collect": {"metrics_interval_ms": 500, "heartbeat_interval_ms": 1_000},
        "notify": {
            "receivers": {"ops": {"urls": [f"json://127.0.0.1:{receiver.port}?rate=0"]}},
            "group_wait_ms": 200,
            "heartbeat": {"timeout_ms": 0},
        },
    }
    stream = Run(tmp_path / "run", settings, everything)
    parts = [Service(name, ["--config", str(stream.config), name], tmp_path / f"{name}.log") for name in PARTS]
    stream.start()
    try:
        for part in parts:
            part.start()
        stream.wait_for(lambda: ("test", BROKEN) in stream.states(), "the broker judged", DEADLINE_S)
        cluster.break_log_dir(BROKEN, 0)
        stream.wait_for(lambda: {"fast", "stateful"} <= lanes(stream), "the alert of both lanes", DEADLINE_S)
        stream.wait_for(lambda: "log_dir_offline" in str(receiver.bodies), "the receiver to be told", DEADLINE_S)
        stream.wait_for(lambda: stream.rows("broker_state"), "the tables to be written", DEADLINE_S)
        commands = [["alerts", "--json"], ["status"], ["topics", "create"], ["topics", "list"]]
        said = {" ".join(words): run(stream.config, *words) for words in commands}
    finally:
        cluster.restore(BROKEN, 0)
        codes = [part.stop() for part in parts]
        codes.append(stream.stop())
    assert codes == [0, 0, 0]
    assert [(name, done.stderr) for name, done in said.items() if done.stderr or done.returncode] == []
    assert json.loads(said["alerts --json"].stdout.splitlines()[0])["rule"] == "log_dir_offline"
    logs = "".join(part.log_file.read_text() for part in parts) + "".join(done.stdout for done in said.values())
    assert "Traceback" not in logs
    # Spark tells of a batch that the stop has cut with all that it has.
    logs += (stream.folder / "stream.log").read_text()
    for secret in (PASSWORD, KEY_PASSWORD):
        assert secret not in logs


PARTS = ("collect", "notify")


def lanes(stream):
    """The lanes in which the failure was told."""
    alerts = [json.loads(value) for values in stream.alerts().values() for value in values]
    return {alert["lane"] for alert in alerts if (alert["rule"], alert["broker"]) == ("log_dir_offline", BROKEN)}


@pytest.fixture(scope="module")
def refused(secured):
    """Listener, client properties, and what is said, of everything that is refused."""
    stranger = Authority(secured.folder, "stranger")
    by_stranger = {**secured.tls_client, "ssl.keystore.location": str(stranger.issue("admin-of-stranger"))}
    believing_stranger = {"ssl.truststore.location": str(stranger.certificate)}
    return {
        "wrong CA": (
            secured.sasl_tls,
            secured.sasl_tls_client("admin") | believing_stranger,
            "certificate verify failed.*ssl.truststore.location",
        ),
        "wrong password": (
            secured.sasl_tls,
            secured.sasl_tls_client("admin", "wr0ng"),
            "are the credentials right|SaslAuthenticationFailed",
        ),
        "the broker's certificate expired": (secured.expired, secured.tls_client, "certificate has expired"),
        "certificate expired": (
            secured.mutual,
            secured.mutual_client("admin", is_expired=True),
            "ssl.keystore.location: it has expired",
        ),
        "no certificate": (secured.mutual, secured.tls_client, "requires a certificate: see ssl.keystore.location"),
        "its CA is not trusted": (secured.mutual, by_stranger, "ssl.keystore.location: .* its CA is not trusted"),
        "wrong key password": (
            secured.mutual,
            secured.mutual_client("admin") | {"ssl.key.password": "wr0ng"},
            "ssl.keystore.location.*ssl.key.password",
        ),
        "no file": (
            secured.sasl_tls,
            secured.sasl_tls_client("admin") | {"ssl.truststore.location": "/nowhere/ca.pem"},
            "ssl.truststore.location.*No such file",
        ),
        "no TLS there": (secured.sasl, secured.tls_client, "security.protocol"),
        "TLS there": (secured.tls, {}, "security.protocol"),
    }


CASES = [
    "wrong CA",
    "wrong password",
    "the broker's certificate expired",
    "certificate expired",
    "no certificate",
    "its CA is not trusted",
    "wrong key password",
    "no file",
    "no TLS there",
    "TLS there",
]


def configured(path, servers, client):
    content = {"telemetry": {"bootstrap_servers": servers, "client": client}, "home": str(path.parent / "home")}
    path.write_text(yaml.safe_dump(content))
    return path


def exit_code(case):
    """What can be seen without a connection is wrong use."""
    return 2 if case in {"no file", "wrong key password"} else 1


def test_every_refusal_is_one_line_that_says_what_and_where(refused, tmp_path):
    """Several at once: each waits for the end of the time that Kafka gets to answer."""
    assert set(CASES) == set(refused)

    def ask(case):
        servers, client, _ = refused[case]
        config = configured(tmp_path / f"{CASES.index(case)}.yaml", servers, client)
        return case, run(config, "topics", "list", deadline_s=DEADLINE_S)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = dict(pool.map(ask, CASES))
    for case, done in answers.items():
        servers, _, said = refused[case]
        (line,) = done.stderr.splitlines()
        assert (done.returncode, done.stdout) == (exit_code(case), ""), case
        assert line.startswith("logdirwatch: ")
        assert re.search(said, line), f"{case}: {line}"
        assert servers in line or exit_code(case) == 2, f"{case}: {line}"
        assert not any(secret in line for secret in ("wr0ng", PASSWORD, KEY_PASSWORD)), case


# Why each of the others is refused is asked of one command above.
@pytest.mark.parametrize(
    "case",
    [
        "wrong CA",
        pytest.param("wrong password", marks=[pytest.mark.long, pytest.mark.release]),
        pytest.param("certificate expired", marks=[pytest.mark.long, pytest.mark.release]),
    ],
)
def test_every_part_says_why_it_cannot_reach_the_telemetry_cluster(refused, tmp_path, case):
    servers, client, said = refused[case]
    config = configured(tmp_path / "refused.yaml", servers, client)
    content = yaml.safe_load(config.read_text())
    content["clusters"] = {"test": {"bootstrap_servers": servers, "client": client}}
    content["notify"] = {"receivers": {"ops": {"urls": ["json://127.0.0.1:1"]}}}
    config.write_text(yaml.safe_dump(content))
    ends = {"stream": 1, "alerts": 1}
    lasts = ("collect", "notify")
    logs = {name: tmp_path / f"{name}.log" for name in (*ends, *lasts)}
    running = {
        name: subprocess.Popen(
            [*COMMAND, "--config", str(config), name], stdout=path.open("w"), stderr=subprocess.STDOUT
        )
        for name, path in logs.items()
    }
    try:
        for name in lasts:
            wait_until(lambda name=name: re.search(said, logs[name].read_text()), DEADLINE_S, f"{name} to say {said}")
        assert {name: running[name].wait(DEADLINE_S) for name in ends} == ends
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.wait(DEADLINE_S)
    for name, path in logs.items():
        text = path.read_text()
        assert re.search(said, text), f"{name}: {text}"
        assert not any(secret in text for secret in ("wr0ng", PASSWORD, KEY_PASSWORD, "Traceback")), f"{name}: {text}"
    for name in ends:
        assert logs[name].read_text().count("\n") == 1, name
