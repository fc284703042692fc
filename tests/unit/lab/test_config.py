"""What the brokers' files say."""

import shlex
from pathlib import Path

import pytest
import yaml

from logdirwatch import settings as configuration
from logdirwatch.errors import UserError
from logdirwatch.model.vocabulary import MetadataMode
from logdirwatch_lab.config import (
    ClusterSpec,
    broker_properties,
    new_cluster_id,
    plan_nodes,
    plan_zookeeper,
    tool_script,
    watch_config,
    zookeeper_properties,
)
from logdirwatch_lab.state import MountMode, Node, State

FOLDER = Path("/srv/it/cluster")


def planned(**spec):
    wanted = ClusterSpec(**spec)
    return plan_nodes(wanted, FOLDER, range(20_000, 20_000 + wanted.ports))


def properties_of(node, brokers):
    voters = [other for other in brokers if other.controller_port]
    lines = broker_properties(node, voters, len(brokers)).splitlines()
    return dict(line.split("=", 1) for line in lines)


@pytest.mark.parametrize(("brokers", "controllers"), [(1, 1), (2, 1), (3, 3), (4, 3), (9, 3)])
def test_a_quorum_has_three_voters_or_one(brokers, controllers):
    nodes, _ = planned(brokers=brokers)
    assert [node.id for node in nodes if node.controller_port] == list(range(controllers))
    roles = [properties_of(node, nodes)["process.roles"] for node in nodes]
    assert roles == ["broker,controller"] * controllers + ["broker"] * (brokers - controllers)
    assert all(properties_of(node, nodes)["controller.quorum.voters"].count("@") == controllers for node in nodes)


@pytest.mark.parametrize(
    ("brokers", "racks"), [(1, ["r0"]), (3, ["r0"] * 3), (4, ["r0", "r1"] * 2), (6, ["r0", "r1", "r2"] * 2)]
)
def test_every_rack_of_a_larger_cluster_has_room_for_a_lost_replica(brokers, racks):
    nodes, telemetry = planned(brokers=brokers)
    assert [node.rack for node in nodes] == racks
    assert telemetry.rack is None


def test_every_port_is_used_once():
    nodes, telemetry = planned(brokers=5)
    used = [node.port for node in [*nodes, telemetry]]
    used += [node.controller_port for node in [*nodes, telemetry] if node.controller_port]
    assert sorted(used) == list(range(20_000, 20_010))


def test_the_metadata_lies_apart_unless_it_is_wanted_in_the_first_directory():
    for in_first, expected in ((False, "/brokers/1/metadata"), (True, "/brokers/1/d0/logs")):
        nodes, _ = planned(brokers=2, log_dirs=2, metadata_in_first_dir=in_first)
        properties = properties_of(nodes[1], nodes)
        assert properties["metadata.log.dir"] == f"{FOLDER}{expected}"
        assert properties["log.dirs"] == f"{FOLDER}/brokers/1/d0/logs,{FOLDER}/brokers/1/d1/logs"


def test_the_metadata_lies_in_the_first_directory_of_the_brokers_that_are_named():
    nodes, _ = planned(brokers=2, log_dirs=2, metadata_in_first_dir=frozenset({1}))
    assert [node.metadata_dir == node.log_dirs[0] for node in nodes] == [False, True]


def test_the_telemetry_broker_keeps_kafkas_own_intervals():
    nodes, telemetry = planned(brokers=3)
    assert properties_of(nodes[0], nodes)["log.segment.delete.delay.ms"] == "1000"
    assert "log.segment.delete.delay.ms" not in properties_of(telemetry, [telemetry])
    assert properties_of(telemetry, [telemetry])["offsets.topic.replication.factor"] == "1"
    assert properties_of(nodes[0], nodes)["offsets.topic.replication.factor"] == "3"


def test_paths_that_java_would_misread_are_escaped():
    node = Node(
        id=0, port=1, controller_port=2, rack=None, folder="/x", metadata_dir="/größe\\m", log_dirs=["/größe/d0"]
    )
    properties = properties_of(node, [node])
    assert properties["log.dirs"] == "/gr\\u00f6\\u00dfe/d0"
    assert properties["metadata.log.dir"] == "/gr\\u00f6\\u00dfe\\\\m"


ZOOKEEPER = {"kafka_version": "2.8.2", "metadata": MetadataMode.ZOOKEEPER}


def test_brokers_with_zookeeper_have_no_roles_no_quorum_and_no_metadata_directory():
    wanted = ClusterSpec(brokers=4, **ZOOKEEPER)
    nodes, telemetry = plan_nodes(wanted, FOLDER, range(20_000, 20_006))
    zookeeper = plan_zookeeper(FOLDER, 20_999)
    assert (wanted.controllers, wanted.ports) == (0, 4 + 1 + 2)
    assert [node.controller_port for node in nodes] == [None] * 4
    lines = broker_properties(nodes[2], [], 4, zookeeper).splitlines()
    properties = dict(line.split("=", 1) for line in lines)
    assert (properties["broker.id"], properties["zookeeper.connect"]) == ("2", "127.0.0.1:20999")
    assert not {"process.roles", "node.id", "metadata.log.dir", "controller.quorum.voters"} & properties.keys()
    assert "clientPort=20999\n" in zookeeper_properties(zookeeper)
    assert telemetry.controller_port is not None, "the telemetry broker is of the newest release"


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"kafka_version": "4.0.0", "metadata": MetadataMode.ZOOKEEPER}, "the last is 3.9"),
        ({"kafka_version": "3.6.2"}, "--metadata zookeeper"),
        ({"kafka_version": "2.7.2", "metadata": MetadataMode.ZOOKEEPER}, "the oldest is 2.8"),
        ({"kafka_version": "newest"}, "is no release of Kafka"),
        ({**ZOOKEEPER, "metadata_in_first_dir": True}, "no log directory holds the metadata"),
        ({"metadata": MetadataMode.MIGRATING}, "zookeeper or kraft"),
    ],
)
def test_a_release_that_cannot_do_it_is_wrong_use(spec, why):
    with pytest.raises(UserError, match=why) as refused:
        ClusterSpec(**spec)
    assert refused.value.exit_code == 2


@pytest.mark.parametrize("spec", [{"brokers": 0}, {"log_dirs": 0}, {"log_dir_size_bytes": 1 << 20}])
def test_a_cluster_that_cannot_be_is_wrong_use(spec):
    with pytest.raises(UserError) as refused:
        ClusterSpec(**spec)
    assert refused.value.exit_code == 2


def test_a_cluster_id_never_looks_like_an_option():
    drawn = {new_cluster_id() for _ in range(500)}
    assert len(drawn) == 500
    assert {len(identifier) for identifier in drawn} == {22}
    assert not [identifier for identifier in drawn if identifier.startswith("-")]


def test_a_tool_runs_with_the_arguments_of_its_script():
    script = tool_script(["java", "-cp", "/a b/x.jar"], "the.Tool", ["nsenter", "--"])
    assert script == "#!/bin/sh\nexec nsenter -- java -cp '/a b/x.jar' the.Tool \"$@\"\n"


def test_the_written_configuration_is_one_that_the_product_reads(tmp_path, monkeypatch):
    monkeypatch.delenv("LOGDIRWATCH_HOME", raising=False)
    brokers, telemetry = planned(brokers=2)
    state = State(
        cluster_id="c",
        mount_mode=MountMode.PLAIN,
        log_dir_size_bytes=None,
        holder=None,
        brokers=brokers,
        telemetry=telemetry,
    )
    home = Path("/it's a home")
    path = tmp_path / "logdirwatch.yaml"
    path.write_text(watch_config(state, home, home / "cluster", ["logdirwatch-lab"]), encoding="utf-8")
    settings = configuration.load(path)
    assert settings.home_path == home
    assert settings.tables_path == "/it's a home/cluster/tables", "they belong to this cluster and go with it"
    assert settings.telemetry.bootstrap_servers == telemetry.address
    local = settings.clusters[settings.default_cluster]
    assert local.bootstrap_servers == "127.0.0.1:20000,127.0.0.1:20002"
    assert shlex.split(f"{local.tools.prefix}kafka-topics{local.tools.suffix}") == [
        "/it's a home/cluster/bin/kafka-topics.sh"
    ]
    assert local.tools.stop_command == "logdirwatch-lab stop {broker}"
    assert yaml.safe_load(path.read_text())["stream"]["store_trigger"] == "10 seconds"
