"""Clusters whose trouble is no single disk: no quorum, a clock that is off, partitions without leaders."""

from tests.scenarios.world import of_broker, of_dir

AT_RISK = {("partitions_at_risk", None, None)}
HOUR_MS = 3_600_000
OFFSETS = "__consumer_offsets"


def test_the_controllers_quorum_is_lost(world):
    """Two of three controllers dead: nobody can say that they are offline, so they are unknown; the others are well."""
    world.expects(of_broker(0), of_broker(1), AT_RISK)
    world.cluster.kill(0)
    world.cluster.kill(1)
    for broker in (0, 1):
        world.wait_alert(rule="broker_unknown", broker=broker, status="firing")
    world.wait_rows(
        "broker_state",
        lambda rows: (
            {row["broker"]: row["status"] for row in rows} == {0: "unknown", 1: "unknown", 2: "online", 3: "online"}
        ),
        "0 and 1 unknown, 2 and 3 online",
    )
    assert "offline" not in world.steps(0) + world.steps(1)
    assert world.steps(2) == world.steps(3) == []
    world.nothing_else()
    world.cluster.start(0)
    world.cluster.start(1)
    for broker in (0, 1):
        world.wait_alert(rule="broker_unknown", broker=broker, status="resolved")


def test_a_collectors_clock_is_an_hour_ahead(world):
    """Its records count for the time at which Kafka took them, and what others say is not held to be old."""
    path = world.log_dir(3, 2)
    world.expects(of_dir(3, path))
    world.known_topic("on-time", [3, 0, 1], at=(3, 2))
    record = world.newest_metrics(3)
    world.send_metrics({**record, "collector": "ahead", "timestamp_ms": record["timestamp_ms"] + HOUR_MS})
    world.judged()
    world.nothing_else()
    assert world.states()[3]["at_ms"] < record["timestamp_ms"] + HOUR_MS // 2
    world.cluster.break_log_dir(3, 2)
    alert = world.wait_alert(rule="log_dir_offline", broker=3, log_dir=path, cause="unknown", status="firing")
    assert alert["at_ms"] < record["timestamp_ms"] + HOUR_MS // 2
    world.nothing_else()


def test_a_broker_is_lost_that_leaderless_partitions_hang_on(world):
    """The only replicas lie there: the broker's alert pages, and so does that of the cluster, with the partitions."""
    world.topic("alone", [3], [3])
    world.topic(OFFSETS, [3])
    world.known_topic("elsewhere", [0, 1, 2])
    world.known("alone", 2)
    world.known(OFFSETS, 1)
    world.expects(of_broker(3), AT_RISK)
    world.cluster.kill(3)
    world.wait_alert(rule="broker_offline", broker=3, severity="page", status="firing")
    risk = world.wait_alert(rule="partitions_at_risk", severity="page", status="firing")
    assert (risk["affected"]["leaderless"], risk["affected"]["internal_leaderless"]) == (3, 1)
    assert risk["affected"]["examples"] == [f"{OFFSETS}-0", "alone-0", "alone-1"], "what all groups need comes first"
    world.wait_rows(
        "topic_state", lambda rows: [row["is_leaderless"] for row in rows] == [True, True], "leaderless", topic="alone"
    )
    world.nothing_else()
    world.cluster.start(3)
    world.wait_alert(rule="partitions_at_risk", status="resolved")
    world.wait_alert(rule="broker_offline", broker=3, status="resolved")


def test_a_directory_is_lost_that_a_leaderless_partition_hangs_on(world):
    path = world.log_dir(1, 1)
    world.topic("one-of-one", [1], at=(1, 1))
    world.topic(OFFSETS, [1], at=(1, 1))
    world.known("one-of-one", 1, at=(1, 1))
    world.known(OFFSETS, 1, at=(1, 1))
    world.expects(of_dir(1, path), AT_RISK)
    world.cluster.break_log_dir(1, 1)
    alert = world.wait_alert(rule="log_dir_offline", broker=1, log_dir=path, severity="page", status="firing")
    assert (alert["cause"], alert["affected"]["leaderless"]) == ("unknown", 2)
    risk = world.wait_alert(rule="partitions_at_risk", severity="page", status="firing")
    assert risk["affected"]["examples"] == [f"{OFFSETS}-0", "one-of-one-0"]
    world.nothing_else()
