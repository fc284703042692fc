"""The local cluster does to real brokers what it says."""

import json
import subprocess
from pathlib import Path

import pytest
from kafka import TopicPartition
from typer.testing import CliRunner

from logdirwatch import settings as configuration
from logdirwatch.errors import UserError
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model.vocabulary import KAFKA_STORAGE_ERROR
from logdirwatch_lab import probes
from logdirwatch_lab.main import commands
from tests.support.waiting import DEADLINE_S, wait_until


def errors_of(cluster, broker):
    return probes.log_dir_errors(cluster.state().broker(broker).address, broker)


def is_offline(cluster, broker, index):
    node = cluster.state().broker(broker)
    return (errors_of(cluster, broker) or {}).get(node.log_dirs[index]) == KAFKA_STORAGE_ERROR


def status_of(cluster, broker):
    return cluster.status().brokers[broker]


def test_its_configuration_points_at_both_clusters_and_all_brokers_serve(cluster):
    settings = configuration.load(cluster.config_path)
    assert settings.telemetry.bootstrap_servers == cluster.telemetry
    assert settings.clusters["local"].bootstrap_servers == cluster.bootstrap_servers
    assert settings.default_cluster == "local"
    assert probes.unfenced_brokers(cluster.bootstrap_servers) == {0, 1, 2, 3}
    assert probes.unfenced_brokers(cluster.telemetry) == {0}
    with probes.admin(cluster.telemetry) as telemetry, probes.admin(cluster.bootstrap_servers) as monitored:
        assert telemetry.describe_cluster()["cluster_id"] != monitored.describe_cluster()["cluster_id"]
        racks = {broker["broker_id"]: broker["rack"] for broker in monitored.describe_cluster()["brokers"]}
    assert racks == {0: "r0", 1: "r1", 2: "r0", 3: "r1"}
    for broker in range(4):
        assert errors_of(cluster, broker) == dict.fromkeys(cluster.state().broker(broker).log_dirs, 0)


def test_kafkas_own_tools_run_as_the_configuration_names_them(cluster):
    tools = configuration.load(cluster.config_path).clusters["local"].tools
    command = f"{tools.prefix}kafka-metadata-quorum{tools.suffix} --bootstrap-server {cluster.bootstrap_servers}"
    done = subprocess.run(f"{command} describe --status", shell=True, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "CurrentVoters" in done.stdout
    assert cluster.state().cluster_id in done.stdout


def test_a_broken_directory_goes_offline_without_traffic_and_a_restore_brings_it_back(cluster):
    pid = status_of(cluster, 1).pid
    cluster.break_log_dir(1, 1)
    wait_until(lambda: is_offline(cluster, 1, 1), DEADLINE_S, "Kafka to notice the broken directory")
    broken = status_of(cluster, 1)
    assert (broken.pid, broken.status) == (pid, "running")
    assert [log_dir.status for log_dir in broken.log_dirs] == ["ok", "failed"]
    assert errors_of(cluster, 1)[broken.log_dirs[0].path] == 0
    with pytest.raises(UserError, match="broken already"):
        cluster.break_log_dir(1, broken.log_dirs[1].path)
    cluster.restore(1, 1)
    assert errors_of(cluster, 1) == dict.fromkeys(cluster.state().broker(1).log_dirs, 0)
    assert [log_dir.status for log_dir in status_of(cluster, 1).log_dirs] == ["ok", "ok"]


def test_a_killed_broker_is_stopped_until_it_is_started_again(cluster):
    cluster.kill(3)
    assert (status_of(cluster, 3).status, status_of(cluster, 3).pid) == ("stopped", None)
    with pytest.raises(UserError, match="broker 3 does not run"):
        cluster.kill(3)
    wait_until(
        lambda: probes.unfenced_brokers(cluster.bootstrap_servers) == {0, 1, 2}, DEADLINE_S, "broker 3 to be fenced"
    )
    cluster.start(3)
    assert status_of(cluster, 3).status == "running"
    wait_until(lambda: len(probes.unfenced_brokers(cluster.bootstrap_servers)) == 4, DEADLINE_S, "broker 3 to be back")
    with pytest.raises(UserError, match="already runs"):
        cluster.start(3)


def test_a_paused_broker_answers_nothing_and_goes_on_when_resumed(cluster):
    cluster.pause(2)
    try:
        assert status_of(cluster, 2).status == "paused"
        assert errors_of(cluster, 2) is None
    finally:
        cluster.resume(2)
    assert status_of(cluster, 2).status == "running"
    wait_until(lambda: errors_of(cluster, 2), DEADLINE_S, "broker 2 to answer again")


def test_a_directory_without_a_size_is_never_filled(cluster):
    with pytest.raises(UserError, match="--log-dir-size"):
        cluster.fill(0, 0)


def test_deleted_data_frees_its_space_within_seconds(cluster):
    settings = KafkaSettings(bootstrap_servers=cluster.bootstrap_servers)
    with clients.admin(settings) as admin:
        admin.create_topics({"short-lived": {"assignments": {0: [0]}}}, wait_for_metadata=True)
        write(settings, "short-lived", records=30)
        (log_dir,) = probes.replica_dirs(admin, 0, "short-lived").values()
        before = segments(log_dir)
        admin.delete_records({TopicPartition("short-lived", 0): 30})
        wait_until(lambda: len(segments(log_dir)) < len(before), DEADLINE_S, "the segments to be removed")
        admin.delete_topics(["short-lived"])


def write(settings, topic, records):
    producer = clients.producer(settings, acks="all")
    try:
        for _ in range(records):
            producer.send(topic, b"x" * 100_000, partition=0)
        producer.flush(DEADLINE_S)
    finally:
        clients.discard(producer, 1)


def segments(log_dir):
    return list(Path(log_dir, "short-lived-0").glob("*.log*"))


@pytest.fixture
def command(cluster):
    def run(*arguments):
        return CliRunner().invoke(commands, ["--config", str(cluster.config_path), *arguments])

    return run


def test_the_command_tells_the_status_to_people_and_programs(cluster, command):
    told = json.loads(command("status", "--json").stdout)
    assert list(told) == ["telemetry", "bootstrap_servers", "brokers"]
    assert [list(broker) for broker in told["brokers"]] == [["id", "pid", "status", "log_dirs"]] * 4
    assert told["bootstrap_servers"] == cluster.bootstrap_servers
    assert told["brokers"][2]["log_dirs"][1]["path"] == cluster.state().broker(2).log_dirs[1]
    shown = command("status").stdout
    assert shown.startswith(f"brokers    {cluster.bootstrap_servers}\ntelemetry  {cluster.telemetry}\n")
    assert (shown.count("running"), shown.count(" ok ")) == (4, 8)


def test_the_command_refuses_what_is_not_there_as_wrong_use(command):
    for arguments in (["break", "9", "0"], ["break", "0", "9"], ["restore", "0", "/nowhere"], ["kill", "-1"]):
        refused = command(*arguments)
        assert getattr(refused.exception, "exit_code", refused.exit_code) == 2, arguments
    assert command("up").exception.args[0].endswith("stop it first: logdirwatch-lab down")
