"""The watcher's own parts away, back, and there twice: no storm, no silence that nobody hears of, and sound tables."""

from tests.kafka import collecting
from tests.scenarios.stored import wait_degraded
from tests.scenarios.world import now_ms, of_dir

BACKLOG_MS = 30_000
VALIDATE_S = 600


def wait_all(world, status, last_status):
    """The tables: every directory of every broker with that status, and what it was before."""
    world.wait_rows(
        "log_dir_state",
        lambda rows: {(row["status"], row["last_status"]) for row in rows} == {(status, last_status)},
        f"all {status}",
    )


def test_the_collector_is_restarted(world):
    """One that starts finds a directory offline already: that is no news, and no second alert."""
    path = world.log_dir(0, 1)
    world.known_topic("seen", [0, 1, 2], at=(0, 1))
    world.expects(of_dir(0, path))
    world.cluster.break_log_dir(0, 1)
    alert = world.wait_alert(rule="log_dir_offline", broker=0, log_dir=path, lane="stateful", cause="unknown")
    assert world.collector.stop() == 0
    started_ms = now_ms()
    world.collector.start()
    world.wait(
        lambda: all(state["at_ms"] > started_ms for state in world.states().values()),
        "every broker judged by what the new collector says",
    )
    world.nothing_else()
    assert [(a["alert_id"], a["status"]) for a in world.alerts()] == [(alert["alert_id"], "firing")]
    wait_degraded(world, 0, path, "unknown")


def test_the_collector_is_gone(world):
    """Nobody reports any broker: one alert for the cluster, none for its brokers and directories."""
    cluster_unknown = {("broker_unknown", None, None)}
    world.expects(cluster_unknown)
    assert world.collector.stop() == 0
    alert = world.wait_alert(rule="broker_unknown", status="firing")
    assert (alert["broker"], alert["cluster"], alert["severity"]) == (None, "local", "critical")
    assert (alert["evidence"]["brokers"], alert["evidence"]["silent_brokers"]) == (4, 4)
    wait_all(world, "unknown", "online")
    rows = world.wait_rows("broker_state", lambda rows: {r["status"] for r in rows} == {"unknown"}, "all unknown")
    assert all(row["reason"].startswith("silent") for row in rows)
    world.nothing_else()
    world.collector.start()
    ended = world.wait_alert(alert_id=alert["alert_id"], status="resolved")
    assert ended["reason"] == "recovered"
    wait_all(world, "online", None)
    world.nothing_else()
    assert len(world.alerts()) == 1


def test_the_stream_is_away_and_comes_back(world):
    """What failed meanwhile is told once, everything else was well all the time and is not told at all."""
    path = world.log_dir(1, 1)
    world.known_topic("behind", [1, 0, 2], at=(1, 1))
    world.expects(of_dir(1, path))
    assert world.stream.stop() == 0
    stopped_ms = now_ms()
    world.cluster.break_log_dir(1, 1)
    world.wait(lambda: world.has_metrics_since(stopped_ms + BACKLOG_MS), "a backlog of half a minute")
    world.stream.start()
    fast = world.wait_alert(rule="log_dir_offline", broker=1, log_dir=path, lane="fast")
    world.wait_alert(alert_id=fast["alert_id"], lane="stateful", cause="unknown", status="firing")
    wait_degraded(world, 1, path, "unknown")
    world.nothing_else()
    assert len(world.alerts()) == 1
    assert world.steps(1, path) == ["offline"]
    for broker in (0, 2, 3):
        assert world.steps(broker) == [], f"nothing was said of broker {broker}"


def test_two_collectors_watch_at_once(world):
    """Both see the directory fail and both say so: one alert, the other event is answered and merged into it."""
    path = world.log_dir(1, 0)
    world.known_topic("twice", [1, 0, 2], at=(1, 0))
    world.expects(of_dir(1, path))
    world.reported()
    second = world.second_collector().start()
    try:
        world.wait(lambda: ("second", 1) in world.reported(), "the second collector to have seen it healthy")
        world.cluster.break_log_dir(1, 0)
        told = world.wait_alert(rule="log_dir_offline", broker=1, log_dir=path, lane="stateful", cause="unknown")
        answer = world.wait_alert(rule="log_dir_offline", broker=1, status="resolved")
        assert (answer["reason"], answer["merged_into"]) == ("merged", told["alert_id"])
        wait_degraded(world, 1, path, "unknown")
        world.nothing_else()
        firing = [alert["alert_id"] for alert in world.alerts() if alert["status"] == "firing"]
        assert firing == [told["alert_id"]]
        assert len(world.alerts()) == 2, "one for each collector's event"
        second.check()
    finally:
        second.stop()
    world.nothing_else()


def test_the_tables_that_all_scenarios_left_are_sound(world):
    done = collecting.run(world.config, "validate", deadline_s=VALIDATE_S)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-2_000:]}"
    found = world.wait_rows("quality_results", bool, "results kept")
    assert {row["success"] for row in found} == {True}
