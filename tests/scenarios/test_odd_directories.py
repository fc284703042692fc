"""Directories that are not like their neighbours: cordoned, holding the metadata log, answering nothing of use."""

import sys
from pathlib import Path

from logdirwatch_lab.fill import FillWith
from tests.scenarios.clients import Outcome
from tests.scenarios.world import of_broker

FILLING_RATIO = 0.80
UNASKED = (sys.executable, str(Path(__file__).with_name("unasked.py")))


def test_a_cordoned_directory_is_told_and_fires_nothing(world):
    """KIP-1066: it takes no new replicas, and what is there goes on."""
    path = world.log_dir(1, 2)
    world.known_topic("cordoned", [1, 0, 2], at=(1, 2))
    with world.clients("cordoned") as pair:
        with world.broker_config(1, "cordoned.log.dirs", path):
            world.wait_rows("log_dir_state", lambda rows: rows and rows[0]["is_cordoned"], "cordoned", log_dir=path)
            others = [row["is_cordoned"] for row in world.rows("log_dir_state") if row["log_dir"] != path]
            assert others == [False] * 11
            world.flows(pair)
            world.nothing_else()
        world.wait_rows("log_dir_state", lambda rows: rows and rows[0]["is_cordoned"] is False, "free", log_dir=path)
        assert pair.outcome() == Outcome()
    assert world.steps(1, path) == []


def test_the_metadata_directory_fills(world):
    """It is as full as its neighbour and fills later, but the whole broker halts with it: it stands first."""
    metadata, neighbour = world.log_dir(3, 0), world.log_dir(3, 1)
    world.expects(*({("log_dir_space", 3, path)} for path in (metadata, neighbour)))
    told = {}
    for index, path in ((1, neighbour), (0, metadata)):
        world.cluster.fill(3, index, FillWith.FILE, until_ratio=FILLING_RATIO)
        told[path] = world.wait_alert(rule="log_dir_space", broker=3, log_dir=path, to="filling", status="firing")
    assert {path: alert["evidence"]["halts_broker"] for path, alert in told.items()} == {
        metadata: "metadata_dir",
        neighbour: None,
    }
    assert "the whole broker halts with it" in told[metadata]["summary"]
    assert "the whole broker halts with it" not in told[neighbour]["summary"]
    assert world.came_up() == [("log_dir_space", 3, neighbour), ("log_dir_space", 3, metadata)]
    assert [shown["log_dir"] for shown in world.listed()] == [metadata, neighbour]
    (broker,) = (broker for broker in world.status()["brokers"] if broker["broker"] == 3)
    assert [seen["log_dir"] for seen in broker["log_dirs"] if seen["is_metadata_dir"]] == [metadata]
    world.wait_rows(
        "log_dir_state",
        lambda rows: (
            {row["log_dir"]: row["status"] for row in rows}
            == {metadata: "filling", neighbour: "filling", world.log_dir(3, 2): "online"}
        ),
        "both filling, the third online",
        broker=3,
    )
    world.nothing_else()
    world.cluster.restore(3, 0)
    world.cluster.restore(3, 1)
    for alert in told.values():
        assert world.wait_alert(alert_id=alert["alert_id"], status="resolved")["reason"] == "recovered"


def test_file_systems_that_cannot_be_asked(world):
    """DescribeLogDirs answers -1: unknown and suspect, never online, though Kafka writes there as before."""
    paths = [world.log_dir(2, index) for index in range(3)]
    world.known_topic("unasked", [2, 0, 1], [0, 2, 1])
    world.expects(of_broker(2), {("log_dir_suspect", 2, path) for path in paths})
    world.cluster.stop(2)
    world.cluster.start(2, under=UNASKED)
    for path in paths:
        alert = world.wait_alert(rule="log_dir_suspect", broker=2, log_dir=path, status="firing")
        assert (alert["severity"], alert["to"]) == ("warning", "unknown")
        assert "error -1" in alert["summary"]
    rows = world.wait_rows(
        "log_dir_state",
        lambda rows: (
            {(row["status"], row["reason"], row["last_status"]) for row in rows} == {("unknown", "error -1", "online")}
        ),
        "unknown because of the answer, online before",
        broker=2,
    )
    assert {row["log_dir"] for row in rows} == set(paths)
    world.wait_rows("broker_state", lambda rows: {row["status"] for row in rows} == {"online"}, "it answers itself")
    world.wait_rows(
        "replica_state",
        lambda rows: {(row["broker"] == 2, row["status"]) for row in rows} == {(True, "unknown"), (False, "online")},
        "its replicas unknown, the others online",
        topic="unasked",
    )
    with world.clients("unasked", partitions=2) as pair:
        world.flows(pair)
        assert pair.outcome() == Outcome()
    world.nothing_else()
    world.cluster.stop(2)
    world.cluster.start(2)
    for path in paths:
        ended = world.wait_alert(rule="log_dir_suspect", broker=2, log_dir=path, status="resolved")
        assert ended["to"] == "online"
    world.wait_rows("log_dir_state", lambda rows: {row["status"] for row in rows} == {"online"}, "all online", broker=2)
