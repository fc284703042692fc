"""``logdirwatch doctor`` on real brokers: nothing found where all is well, each planted fault where it is not."""

import json
import shlex
import subprocess

import pytest
import yaml

from logdirwatch.doctor.findings import CHECKS
from logdirwatch.kafka import clients, telemetry_topics
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.settings import Settings
from tests.kafka.acls import run_tool
from tests.kafka.collecting import run
from tests.kafka.telemetry import fresh_topics
from tests.support.waiting import DEADLINE_S, wait_until


def examined(config, *arguments):
    done = run(config, "doctor", "--json", *arguments, deadline_s=DEADLINE_S)
    assert done.stderr == ""
    report = json.loads(done.stdout)
    assert done.returncode == int(bool(report["findings"]))
    return report


def write(path, **content):
    path.write_text(yaml.safe_dump({"home": str(path.parent / "home"), **content}))
    return path


def checks_of(report):
    return {finding["check"] for finding in report["findings"]}


def test_a_cluster_where_all_is_well_has_nothing_to_mend(cluster, watched):
    fresh_topics(watched)
    assert examined(cluster.config_path) == {"findings": [], "not_checked": {}, "passed": list(CHECKS)}


PLANTED = {
    ("configuration", "notify.receivers"): ("does not know URL 1", "apprise"),
    ("java", "this machine"): ("no Java found (/nowhere/bin/java)", "set JAVA_HOME"),
    ("folders", "checkpoints"): ("cannot be written: Not a directory", "checkpoints.path"),
    ("task_slots", "stream.master local[2]"): ("2 task slots are too few", "local[8,4]"),
    ("topics", "logdir.actions"): ("does not exist", "logdirwatch topics create"),
    ("topics", "logdir.events"): ("3 partitions, wanted 5", "kafka-topics.sh"),
    ("topics", "logdir.metrics"): ("retention.ms 60000, wanted", "kafka-configs.sh"),
    ("topics", "logdir.alerts"): ("cleanup.policy delete, wanted", "kafka-configs.sh"),
    ("replication", "logdir.decisions"): ("no writes are possible", "min.insync.replicas=1"),
    ("telemetry_is_monitored", "cluster same"): ("its disks fill", "telemetry.bootstrap_servers"),
    ("connectivity", "cluster away"): ("Kafka at 127.0.0.1:1 cannot be reached", "clusters.away"),
}
"""By check and place: what is said of a fault, and what of its remedy."""
ALTERED = {
    "logdir.metrics": "retention.ms=60000",
    "logdir.alerts": "cleanup.policy=delete",
    "logdir.decisions": "min.insync.replicas=2",
}


def alter(cluster, *arguments, tool="kafka-configs"):
    subprocess.run([cluster.tool(tool), *arguments], check=True, capture_output=True, timeout=DEADLINE_S)


def test_planted_faults_are_all_found_at_once_and_their_remedies_mend_them(cluster, watched, tmp_path, monkeypatch):
    fresh_topics(watched)
    tmp_path.joinpath("file").write_text("")
    config = write(
        tmp_path / "faults.yaml",
        telemetry={"bootstrap_servers": cluster.telemetry},
        clusters={
            "same": {"bootstrap_servers": cluster.telemetry},
            "away": {"bootstrap_servers": "127.0.0.1:1"},
        },
        topics={"events_partitions": 5},
        stream={"master": "local[2]"},
        checkpoints={"path": str(tmp_path / "file" / "checkpoints")},
        notify={"receivers": {"ops": {"urls": ["nonsense://x"]}}},
    )
    with clients.admin(watched.telemetry) as admin:
        admin.delete_topics(["logdir.actions"])
        wait_until(lambda: "logdir.actions" not in admin.list_topics(), DEADLINE_S, "the topic to be gone")
    on_telemetry = ("--bootstrap-server", cluster.telemetry, "--alter", "--entity-type", "topics", "--entity-name")
    try:
        for name, wrong in ALTERED.items():
            alter(cluster, *on_telemetry, name, "--add-config", wrong)
        with monkeypatch.context() as here:
            here.setenv("JAVA_HOME", "/nowhere")
            report = examined(config)
        found = {(finding["check"], finding["where"].partition(" /")[0]): finding for finding in report["findings"]}
        assert set(found) == set(PLANTED)
        for place, (what, remedy) in PLANTED.items():
            assert what in found[place]["what"], place
            assert remedy in found[place]["remedy"], place
        assert report["not_checked"]["permissions"] == "cluster away does not answer"
        mend(cluster, config, [finding["remedy"] for finding in report["findings"]])
        assert not checks_of(examined(config)) & {"java", "topics", "replication"}
    finally:
        fresh_topics(watched)


def mend(cluster, config, remedies):
    """Do what is said where it is a command."""
    assert run(config, "topics", "create", deadline_s=DEADLINE_S).returncode == 0
    for remedy in remedies:
        if remedy.startswith("kafka-"):
            tool, *arguments = shlex.split(remedy)
            alter(cluster, *arguments, tool=tool.removesuffix(".sh"))


@pytest.mark.long
def test_the_missing_acls_are_named_and_granting_them_is_the_remedy(watched, secured, tmp_path):
    """The user of both clusters may do nothing at first; what the doctor says is done until it finds nothing more."""
    client = secured.client("watcher")
    config = write(
        tmp_path / "secured.yaml",
        telemetry={"bootstrap_servers": secured.sasl, "client": client},
        clusters={"locked": {"bootstrap_servers": secured.sasl, "client": client}},
    )
    telemetry_topics.create_missing(
        Settings(telemetry=KafkaSettings(bootstrap_servers=secured.sasl, client=secured.client("admin")))
    )
    with_names = ("--ignore", "telemetry_is_monitored")
    report = examined(config, *with_names)
    assert checks_of(report) == {"permissions"}
    texts = [finding["what"] for finding in report["findings"]]
    assert any("User:watcher lacks the ACL Describe on the cluster: broker 0" in what for what in texts)
    assert any("lacks the ACL Describe, Read, Write, DescribeConfigs on topic logdir.alerts" in what for what in texts)
    assert "clocks" in report["not_checked"]
    for _ in range(3):
        for finding in report["findings"]:
            run_tool(secured, shlex.split(finding["remedy"]))
        report = examined(config, *with_names)
        if not report["findings"]:
            break
    assert (report["findings"], report["not_checked"]) == ([], {})


def test_a_wrong_password_is_a_finding_and_never_shown(secured, tmp_path):
    client = secured.client("admin", "wr0ng")
    config = write(tmp_path / "wrong.yaml", telemetry={"bootstrap_servers": secured.sasl, "client": client})
    done = run(config, "doctor", deadline_s=DEADLINE_S)
    assert done.returncode == 1
    assert "connectivity: telemetry: Kafka at" in done.stdout
    assert "correct telemetry.client: security.protocol, sasl.mechanism" in done.stdout
    assert "wr0ng" not in done.stdout + done.stderr


def test_a_broker_that_is_gone_is_named(cluster, watched):
    telemetry_topics.create_missing(watched)

    def found():
        report = examined(cluster.config_path)
        return [f for f in report["findings"] if f["where"] == "cluster local, broker 2"]

    cluster.kill(2)
    try:
        (finding,) = wait_until(found, DEADLINE_S, "the broker to be found")
    finally:
        cluster.start(2)
    assert finding["check"] == "connectivity"
    assert "start it" in finding["remedy"] or "advertised.listeners" in finding["remedy"]
