"""Tiered storage on a real broker with two directories (JBOD), its gauges read from a real JMX exporter."""

import json
import re
from pathlib import Path

import pytest
import yaml
from kafka import TopicPartition

from logdirwatch import jars
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch_lab.config import CLUSTER, ClusterSpec
from logdirwatch_lab.ports import free_ports
from tests.kafka.collecting import look_at_host, run
from tests.kafka.conftest import cluster_in
from tests.support.pasting import paste
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.long

MIB = 1 << 20
EXPORTER = jars.JarSet("jmx-exporter", ("io.prometheus.jmx:jmx_prometheus_javaagent:1.0.1",))
PAGE = Path(__file__).parents[2] / "docs" / "prometheus.md"
TOPICS = ("fill-0-0", "fill-0-1")
FULL_ENOUGH = 0.8


@pytest.fixture
def tiered(tmp_path, tmp_path_factory):
    """A broker with remote storage and the documented rules of the exporter; its configuration has the exporter."""
    (port,), rules = free_ports(1), tmp_path / "rules.yaml"
    rules.write_text(re.search(r"## Rules for the exporter.*?```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)[1])
    (agent,) = (jar for jar in jars.resolved(EXPORTER) if "javaagent" in jar.name)
    under = ["env", f"JDK_JAVA_OPTIONS=-javaagent:{agent}={port}:{rules}"]
    spec = ClusterSpec(brokers=1, log_dirs=2, log_dir_size_bytes=64 * MIB, is_tiered=True)
    with cluster_in(tmp_path_factory.mktemp("tiered"), spec, under) as running:
        config = yaml.safe_load(running.config_path.read_text())
        config["clusters"][CLUSTER]["jmx_exporter"] = {"url": f"http://127.0.0.1:{port}/metrics"}
        running.config_path.write_text(yaml.safe_dump(config))
        yield running


def looked(cluster):
    """What ``look`` finds: the alerts about space by directory, and the actions of each."""
    found = json.loads(run(cluster.config_path, "look", CLUSTER, "--json").stdout)
    alerts = {one["log_dir"]: one for one in found["alerts"] if one["rule"] == "log_dir_space"}
    return alerts, {
        path: [action for action in found["actions"] if action["alert_id"] == one["alert_id"]]
        for path, one in alerts.items()
    }


def cuts(actions):
    return [one for one in actions if one["kind"] == "lower_retention" and not one["vetoes"]]


def used(cluster):
    return [cluster.space(0, path).used_ratio for path in cluster.state().broker(0).log_dirs]


def kept(cluster):
    """The first offset that can be read, and how many records are read from there, of each partition."""
    settings = KafkaSettings(bootstrap_servers=cluster.bootstrap_servers)
    found = {}
    for topic in TOPICS:
        for record in clients.read_all(settings, topic):
            first, count = found.get(TopicPartition(topic, record.partition), (record.offset, 0))
            found[TopicPartition(topic, record.partition)] = min(first, record.offset), count + 1
    return found


def test_local_copies_are_only_cut_once_the_remote_storage_has_them(tiered, tmp_path):
    remote = Path(tiered.state().remote) / "kafka-tiered-storage"
    away = remote.with_name("away")
    remote.rename(away)
    remote.touch()
    for index in (0, 1):
        tiered.fill(0, index, until_ratio=FULL_ENOUGH, topic_configs={"remote.storage.enable": "true"})
    # The broker's log names the partition, the exporter's gauge says how much waits, and nothing is promised of a cut.
    _, events = look_at_host(tiered, tiered.state().broker(0), tmp_path)
    assert {(one.event, one.topic) for one in events} == {("RemoteCopyFailed", topic) for topic in TOPICS}
    alerts, actions = wait_until(
        lambda: (found := looked(tiered)) and len(found[0]) == 2 and found, DEADLINE_S, "both directories to be told"
    )
    for path, alert in alerts.items():
        assert alert["evidence"]["remote_copy_lag_bytes"] > 2 * 0.6 * 64 * MIB
        assert "wait to be copied to remote storage" in alert["summary"]
        assert cuts(actions[path]) == []
    before = kept(tiered)
    remote.unlink()
    away.rename(remote)
    action = wait_until(
        lambda: next((cuts(found)[0] for found in looked(tiered)[1].values() if cuts(found)), None),
        DEADLINE_S,
        "a cut of local copies",
    )
    assert "local.retention." in " ".join(action["commands"])
    paste(action["commands"], tmp_path / "do")
    wait_until(lambda: min(used(tiered)) < FULL_ENOUGH - 0.1, DEADLINE_S, lambda: f"room; {used(tiered)}")
    assert kept(tiered) == before
    assert all(first == 0 for first, _ in before.values())
