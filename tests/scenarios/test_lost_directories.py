"""Directories that fail, at run time and at the start, one and all of a broker, for a fault and for being full."""

import pytest

from logdirwatch_lab.fill import Ended, FillWith
from tests.scenarios.clients import Outcome
from tests.scenarios.stored import wait_degraded, wait_lost
from tests.scenarios.world import of_broker, of_dir

BALLAST_RATIO = 0.5
FAST_UNTIL_RATIO = 0.70
FILL_BYTES_PER_S = 350_000


def firing_tos(life):
    """What the firing revisions of an alert lead to, repeats left out."""
    tos = [record["to"] for record in life if record["status"] == "firing"]
    return list(dict.fromkeys(tos))


def serves_a_new_topic(world, broker, path):
    """A broker that lost a directory takes new replicas into the others, and they are written and read."""
    world.known_topic("newborn", [broker, 0, 2], [0, broker, 3])
    born = {row["log_dir"] for row in world.rows("replica_state", topic="newborn", broker=broker)}
    assert born <= {world.log_dir(broker, index) for index in range(3)} - {path}
    with world.clients("newborn", partitions=2) as pair:
        world.flows(pair)
        assert pair.outcome() == Outcome()


def test_a_bare_kip_event_that_nothing_follows_is_closed(world):
    world.expects({("log_dir_offline", 2, None)})
    world.send_event(version=1, broker=2, event="LogDirFailure")
    fast = world.wait_alert(rule="log_dir_offline", broker=2, log_dir=None, lane="fast")
    assert (fast["revision"], fast["cause"], fast["cluster"]) == (0, "unknown", "local")
    ended = world.wait_alert(alert_id=fast["alert_id"], status="resolved")
    assert (ended["reason"], ended["merged_into"]) == ("unconfirmed", None)
    world.nothing_else()
    assert world.steps(2) == []


@pytest.mark.parametrize("role", ["leader", "follower"])
def test_kip_112_directory_fails_at_run_time(world, role):
    broker, path = 1, world.log_dir(1, 2)
    hit = [1, 0, 2] if role == "leader" else [0, 1, 2]
    world.topic("hit", hit, hit, at=(1, 2))
    world.known_topic("elsewhere", [1, 0, 3], at=(1, 0))
    world.known("hit", 6, at=(1, 2))
    world.expects(of_dir(broker, path))
    with world.clients("elsewhere") as pair:
        world.flows(pair)
        world.cluster.break_log_dir(1, 2)
        fast = world.wait_alert(rule="log_dir_offline", broker=1, log_dir=path, lane="fast")
        told = world.wait_alert(alert_id=fast["alert_id"], lane="stateful", cause="unknown", revision=2)
        life = world.life(fast["alert_id"])
        assert [record["revision"] for record in life] == list(range(len(life))), "no revision is missing"
        assert [(r["lane"], r["cause"]) for r in life[:2]] == [("fast", "unknown"), ("stateful", "unknown")]
        assert firing_tos(life) == ["offline"]
        assert (told["severity"], told["from"], told["to"]) == ("critical", "online", "offline")
        assert told["evidence"]["decided_by"] == "space_was_left"
        assert told["evidence"]["error_code"] == 56
        wait_degraded(world, broker, path, "unknown")
        wait_lost(world, "hit", broker)
        world.wait_rows(
            "topic_state",
            lambda rows: (
                len(rows) == 2
                and all(
                    row["leader"] in (0, 2) and set(row["isr"]) == {0, 2} and row["offline_replicas"] == [1]
                    for row in rows
                )
            ),
            "led by and in sync on the other brokers",
            topic="hit",
        )
        world.wait_rows(
            "replica_state",
            lambda rows: (
                {(row["broker"], row["status"], row["is_leader"]) for row in rows}
                == {(1, "online", True), (0, "online", False), (3, "online", False)}
            ),
            "online, led by the broker whose good directories go on",
            topic="elsewhere",
        )
        world.flows(pair)
        assert pair.outcome() == Outcome()
    serves_a_new_topic(world, broker, path)
    assert (world.steps(1, path), world.steps(1)) == (["offline"], ["degraded"])
    world.nothing_else()
    assert [alert["alert_id"] for alert in world.alerts()] == [fast["alert_id"]]


@pytest.mark.parametrize("role", ["leader", "follower"])
def test_kip_112_broker_starts_with_a_bad_directory(world, role):
    """Broken while the broker is down: it is offline at first sight, and why is not known after so long.

    A disk that was replaced meanwhile stays empty: a replica may lie in the bad directory, so none is made again.
    """
    path, replicas = world.log_dir(3, 1), [3, 0, 1] if role == "leader" else [0, 3, 1]
    world.topic("cold", replicas, at=(3, 1))
    world.topic("wiped", replicas, at=(3, 2))
    world.known("cold", 3, at=(3, 1))
    world.known("wiped", 3, at=(3, 2))
    world.expects(of_dir(3, path), of_broker(3))
    world.cluster.kill(3)
    world.wait_alert(rule="broker_offline", broker=3, status="firing")
    world.cluster.break_log_dir(3, 1)
    world.replace_log_dir(3, 2)
    world.cluster.start(3)
    world.wait_alert(rule="log_dir_offline", broker=3, log_dir=path, lane="stateful", status="firing")
    back = world.wait_alert(rule="broker_offline", broker=3, status="resolved")
    assert (back["reason"], back["to"]) == ("recovered", "degraded")
    wait_degraded(world, 3, path, "unknown")
    wait_lost(world, "cold", 3)
    wait_lost(world, "wiped", 3)
    assert world.steps(3, path) == ["offline"], "it was never online again"
    world.nothing_else()
    (alert,) = [a for a in world.alerts() if a["rule"] == "log_dir_offline"]
    assert (alert["status"], alert["cause"]) == ("firing", "unknown")
    assert alert["evidence"]["decided_by"] in {"event", "sample_too_old"}


def test_kip_112_disk_is_fixed_and_the_broker_restarted(world):
    """KIP-112's other way to break a real directory: its permissions are taken away, and given back with its data."""
    path = world.log_dir(0, 2)
    world.known_topic("mended", [0, 1, 2], at=(0, 2))
    world.expects(of_dir(0, path))
    world.take_permissions(0, 2)
    alert = world.wait_alert(rule="log_dir_offline", broker=0, log_dir=path, lane="stateful", cause="unknown")
    wait_lost(world, "mended", 0)
    world.nothing_else()
    world.give_permissions(0, 2)
    world.restore(0, 2)
    ended = world.wait_alert(alert_id=alert["alert_id"], status="resolved")
    assert (ended["reason"], ended["from"], ended["to"]) == ("recovered", "offline", "online")
    world.wait_rows("log_dir_state", lambda rows: {row["status"] for row in rows} == {"online"}, "all online", broker=0)
    rows = world.wait_rows(
        "replica_state",
        lambda rows: {(row["broker"], row["status"]) for row in rows} == {(b, "online") for b in (0, 1, 2)},
        "every replica online again",
        topic="mended",
    )
    assert all(row["is_listed"] for row in rows)
    world.settle()
    assert world.steps(0, path) == ["offline", "online"]


def test_kip_112_replica_states_are_the_union(world):
    """Replicas that a dead directory took and those that a dead broker took are told apart."""
    path = world.log_dir(1, 0)
    world.topic("by-directory", [1, 0, 2], [1, 0, 2], at=(1, 0))
    world.known_topic("by-broker", [3, 0, 2], [0, 3, 2], [2, 0, 3])
    world.known("by-directory", 6, at=(1, 0))
    world.expects(of_dir(1, path), of_broker(3))
    world.cluster.break_log_dir(1, 0)
    world.cluster.kill(3)
    lost = {"by-directory": (2, 0, 0), "by-broker": (0, 3, 0)}
    statuses = {0: "online", 1: "degraded", 2: "online", 3: "offline"}

    def told():
        status = world.status()
        offline = {r["topic"]: (r["directory"], r["broker"], r["unknown"]) for r in status["offline_replicas"] or []}
        brokers = {broker["broker"]: broker for broker in status["brokers"]}
        is_told = offline == lost and {number: broker["status"] for number, broker in brokers.items()} == statuses
        return brokers if is_told else None

    brokers = world.wait(told, f"logdirwatch status to say {lost} and {statuses}", pause_s=2)
    assert {log_dir["status"] for log_dir in brokers[3]["log_dirs"]} == {"unknown"}
    assert {log_dir["last_status"] for log_dir in brokers[3]["log_dirs"]} == {"online"}
    causes = {
        (row["topic"], row["broker"]): (row["status"], row["cause"])
        for row in world.rows("replica_state")
        if row["status"] != "online"
    }
    assert causes == {("by-directory", 1): ("offline", "directory"), ("by-broker", 3): ("offline", "broker")}
    world.wait_alert(rule="broker_offline", broker=3, status="firing")
    world.wait_alert(rule="log_dir_offline", broker=1, log_dir=path, cause="unknown", status="firing")
    world.nothing_else()


@pytest.mark.parametrize("when", ["after", "before"])
def test_a_bare_kip_event(world, when):
    """An event that names only the broker, and the collector's own that names the directory: one alert stays."""
    path = world.log_dir(2, 0)
    world.known_topic("bare", [2, 0, 1], at=(2, 0))
    world.expects(of_dir(2, path), {("log_dir_offline", 2, None)})
    if when == "before":
        world.send_event(version=1, broker=2, event="LogDirFailure")
    world.cluster.break_log_dir(2, 0)
    if when == "after":
        world.wait_alert(rule="log_dir_offline", broker=2, log_dir=path, lane="fast")
        world.send_event(version=1, broker=2, event="LogDirFailure")
    bare = world.wait_alert(rule="log_dir_offline", broker=2, log_dir=None, lane="fast")
    told = world.wait_alert(rule="log_dir_offline", broker=2, log_dir=path, lane="stateful", cause="unknown")
    if bare["alert_id"] != told["alert_id"]:
        answer = world.wait_alert(alert_id=bare["alert_id"], status="resolved")
        assert (answer["reason"], answer["merged_into"]) == ("merged", told["alert_id"])
    wait_degraded(world, 2, path, "unknown")
    world.nothing_else()
    firing = [alert["alert_id"] for alert in world.alerts() if alert["status"] == "firing"]
    assert firing == [told["alert_id"]]


def test_kip_112_both_directories_of_a_broker_fail(world):
    """The broker halts with its last directory: then it is the broker that is lost, not three directories."""
    paths = [world.log_dir(2, index) for index in range(3)]
    world.known_topic("gone", [2, 0, 1], [0, 2, 1])
    world.expects(of_broker(2), *(of_dir(2, path) for path in paths))
    for index in range(3):
        world.cluster.break_log_dir(2, index)
    world.wait(lambda: world.cluster.status().brokers[2].status == "stopped", "broker 2 to halt")
    alert = world.wait_alert(rule="broker_offline", broker=2, status="firing")
    assert (alert["severity"], alert["to"]) == ("critical", "offline")
    assert set(alert["evidence"]["log_dirs"]) == set(paths)
    world.wait_rows("broker_state", lambda rows: [r["status"] for r in rows] == ["offline"], "offline", broker=2)
    rows = world.wait_rows(
        "log_dir_state", lambda rows: {row["status"] for row in rows} == {"unknown"}, "all unknown", broker=2
    )
    assert {row["last_status"] for row in rows} <= {"online", "offline"}
    rows = world.wait_rows(
        "replica_state",
        lambda rows: {row["status"] for row in rows if row["broker"] == 2} == {"offline"},
        "its replicas offline",
        topic="gone",
    )
    assert {row["cause"] for row in rows if row["broker"] == 2} == {"broker"}
    world.nothing_else()


def test_kip_928_directory_really_full_under_load(world):
    """Data to the last byte: every level in turn, offline because it is full; with the space given back all is well."""
    path = world.log_dir(2, 1)
    world.expects(of_dir(2, path), {("log_dir_space", 2, path)})
    # The half that is given back in the end is no data; what Kafka wrote is kept.
    world.cluster.fill(2, 1, FillWith.FILE, until_ratio=BALLAST_RATIO)
    data = {"replicas": (0, 1), "topic_configs": {"min.insync.replicas": "1"}}
    fast = world.cluster.fill(2, 1, until_ratio=FAST_UNTIL_RATIO, **data)
    assert (fast.ended, fast.topic) == (Ended.RATIO, "fill-2-1")
    world.wait_rows(
        "replica_state", lambda rows: path in {row["log_dir"] for row in rows}, "its replica there", topic=fast.topic
    )
    assert world.cluster.fill(2, 1, rate_bytes_per_s=FILL_BYTES_PER_S, **data).ended is Ended.FAILED
    offline = world.wait_alert(rule="log_dir_offline", broker=2, log_dir=path, lane="stateful", cause="full")
    assert offline["evidence"]["decided_by"] in {"usable_under_reserve", "growth_reached_zero"}
    space = world.wait_alert(rule="log_dir_space", broker=2, log_dir=path, status="resolved")
    assert (space["reason"], space["to"]) == ("offline", "offline")
    life = world.life(space["alert_id"])
    assert firing_tos(life) == ["filling", "critical", "saturated"]
    levels = dict.fromkeys((r["to"], r["severity"]) for r in life if r["status"] == "firing")
    assert list(levels) == [("filling", "warning"), ("critical", "critical"), ("saturated", "page")]
    assert life[0]["at_ms"] < offline["opened_at_ms"], "the first warning came before the directory was lost"
    assert world.came_up() == [("log_dir_space", 2, path), ("log_dir_offline", 2, path)]
    assert {record["alert_id"] for record in world.life(offline["alert_id"]) if record["lane"] == "fast"}
    wait_degraded(world, 2, path, "full")
    wait_lost(world, fast.topic, 2)
    assert world.steps(2, path) == ["filling", "critical", "saturated", "offline"]
    world.nothing_else()
    world.restore(2, 1)
    ended = world.wait_alert(alert_id=offline["alert_id"], status="resolved")
    assert (ended["reason"], ended["to"]) == ("recovered", "online")
    world.wait_rows(
        "log_dir_state",
        lambda rows: [row["status"] for row in rows] == ["online"] and rows[0]["used_ratio"] < FAST_UNTIL_RATIO,
        "online, with room",
        log_dir=path,
    )
