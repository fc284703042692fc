"""Brokers that are gone, that hang, and that led the cluster."""

from logdirwatch_lab import probes
from tests.scenarios.clients import Outcome
from tests.scenarios.world import of_broker


def opened_ms(world, rule, broker):
    """When the alert of a broker came up; None when it did not."""
    found = [alert["opened_at_ms"] for alert in world.alerts() if (alert["rule"], alert["broker"]) == (rule, broker)]
    assert len(found) <= 1, f"{len(found)} alerts {rule} of broker {broker}"
    return found[0] if found else None


def wait_away(world, broker):
    """The tables: the broker offline, its directories unknown, its replicas offline because of it, no other one."""
    world.wait_rows(
        "broker_state",
        lambda rows: (
            {(row["broker"], row["status"]) for row in rows}
            == {(other, "offline" if other == broker else "online") for other in range(4)}
        ),
        f"broker {broker} offline, and only that one",
    )
    world.wait_rows(
        "log_dir_state",
        lambda rows: (
            {(row["status"], row["last_status"]) for row in rows} == {("unknown", "online")} and len(rows) == 3
        ),
        "its directories unknown, online before",
        broker=broker,
    )
    world.wait_rows(
        "replica_state",
        lambda rows: (
            {(row["status"], row["cause"]) for row in rows if row["broker"] == broker} == {("offline", "broker")}
            and {row["status"] for row in rows if row["broker"] != broker} == {"online"}
        ),
        "its replicas offline because of it, the others online",
    )


def wait_back(world, broker):
    """Its alerts resolved, its tables good."""
    ended = world.wait_alert(rule="broker_offline", broker=broker, status="resolved")
    assert (ended["reason"], ended["to"]) == ("recovered", "online")
    world.wait_rows("broker_state", lambda rows: {row["status"] for row in rows} == {"online"}, "all online")
    world.wait_rows(
        "log_dir_state",
        lambda rows: {(row["status"], row["last_status"]) for row in rows} == {("online", None)},
        "all online",
        broker=broker,
    )
    world.wait_rows("replica_state", lambda rows: {row["status"] for row in rows} == {"online"}, "all online")
    world.settle()


def test_a_broker_is_killed(world):
    world.known_topic("orphaned", [3, 0, 1], [0, 3, 1], [1, 0, 3])
    world.expects(of_broker(3))
    with world.clients("orphaned", partitions=3) as pair:
        world.flows(pair)
        world.cluster.kill(3)
        alert = world.wait_alert(rule="broker_offline", broker=3, status="firing")
        assert (alert["severity"], alert["log_dir"], alert["to"]) == ("critical", None, "offline")
        assert {seen["last_status"] for seen in alert["evidence"]["log_dirs"].values()} == {"online"}
        wait_away(world, 3)
        away_ms = max(
            row["at_ms"]
            for row in world.transitions(3)
            if row["to_status"] == "offline" and row["at_ms"] <= alert["at_ms"]
        )
        assert alert["at_ms"] - away_ms >= world.settings.detect.broker_offline_grace_ms
        world.flows(pair)
        assert pair.outcome() == Outcome()
    world.nothing_else()
    assert [place for place in world.came_up() if place[0] == "broker_offline"] == [("broker_offline", 3, None)]
    world.cluster.start(3)
    wait_back(world, 3)


def test_a_broker_hangs(world):
    """Three polls without an answer make an alert; then the controller gives it up, and another takes over."""
    world.known_topic("stuck", [3, 0, 1], [0, 3, 1])
    world.expects(of_broker(3))
    world.cluster.pause(3)
    unknown = world.wait_alert(rule="broker_unknown", broker=3, status="firing")
    assert (unknown["severity"], unknown["to"]) == ("critical", "unknown")
    offline = world.wait_alert(rule="broker_offline", broker=3, status="firing")
    taken_over = world.wait_alert(alert_id=unknown["alert_id"], status="resolved")
    assert (taken_over["reason"], taken_over["to"]) == ("offline", "offline")
    assert opened_ms(world, "broker_unknown", 3) < opened_ms(world, "broker_offline", 3)
    assert taken_over["at_ms"] == offline["at_ms"]
    wait_away(world, 3)
    statuses = [row["to_status"] for row in world.transitions(3)]
    assert statuses[: statuses.index("offline")][-1:] == ["unknown"], "first its polls failed"
    world.nothing_else()
    world.cluster.resume(3)
    wait_back(world, 3)
    assert world.steps(3) == ["offline", "online"]


def test_kip_112_controller_failover_fires_nothing_false(world):
    leader = world.wait(lambda: {probes.quorum_leader(world.cluster.bootstrap_servers)} - {None}, "a leader").pop()
    others = [broker for broker in range(4) if broker != leader]
    world.known_topic("led", [leader, *others[:2]], [others[0], leader, others[2]], others)
    world.expects(of_broker(leader))
    with world.clients("led", partitions=3) as pair:
        world.flows(pair)
        world.cluster.kill(leader)
        world.wait(
            lambda: probes.quorum_leader(world.cluster.state().broker(others[0]).address) not in (None, leader),
            "another controller to lead",
        )
        world.wait_alert(rule="broker_offline", broker=leader, status="firing")
        wait_away(world, leader)
        world.flows(pair)
        assert pair.outcome() == Outcome()
    for broker in others:
        assert world.steps(broker) == [], f"nothing was said of broker {broker}"
    world.nothing_else()
    world.cluster.start(leader)
    wait_back(world, leader)


def test_an_unregistered_broker_leaves_and_comes_back(world):
    """Retired on purpose, it is neither away nor unknown: nothing fires for it, and no row speaks of it."""
    world.expects(of_broker(3))
    world.cluster.kill(3)
    world.wait_alert(rule="broker_offline", broker=3, status="firing")
    world.unregister(3)
    ended = world.wait_alert(rule="broker_offline", broker=3, status="resolved")
    assert ended["reason"] == "not registered with the controller"
    for table in ("broker_state", "log_dir_state", "replica_state"):
        world.wait_rows(table, lambda rows: {row["broker"] for row in rows} <= {0, 1, 2}, "nothing of broker 3")
    assert {row["to_status"] for row in world.transitions(3)} >= {"offline", "removed"}
    assert [broker["broker"] for broker in world.status()["brokers"]] == [0, 1, 2]
    world.nothing_else()
    world.cluster.start(3)
    world.wait_rows(
        "log_dir_state",
        lambda rows: [row["status"] for row in rows] == ["online"] * 3,
        "its directories online again",
        broker=3,
    )
