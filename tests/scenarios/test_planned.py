"""Brokers that are away on purpose: notes, and nobody is woken."""

from tests.scenarios.world import BROKERS, of_broker

GRACE_MS, WINDOW_MS = 90_000, 60_000
MAINTAINED = 2


def stop_and_start(world, broker):
    """Restart a broker once the controller has told that it is away."""
    world.cluster.stop(broker)
    world.wait(lambda: world.states()[broker]["status"] == "offline", f"broker {broker} offline")
    world.cluster.start(broker)
    world.wait(lambda: world.states()[broker]["status"] == "online", f"broker {broker} online")


def test_a_rolling_restart_is_one_note_and_no_page(world):
    """Every broker is away for less than the grace, one after the other."""
    world.known_topic("rolled", [0, 1, 2], [1, 2, 3], [2, 3, 0])
    world.expects({("broker_offline", None, None)})
    quiet = {"detect": {"broker_offline_grace_ms": GRACE_MS}, "fleet": {"restart_window_ms": WINDOW_MS}}
    with world.streaming_with(**quiet):
        for broker in BROKERS:
            stop_and_start(world, broker)
        note = world.wait_alert(rule="broker_offline", broker=None, status="firing")
        ended = world.wait_alert(alert_id=note["alert_id"], status="resolved")
        assert ended["reason"] == "over"
    life = world.life(note["alert_id"])
    assert {revision["severity"] for revision in life} == {"info"}
    assert max(revision["evidence"]["restarted_brokers"] for revision in life) == len(BROKERS)
    world.nothing_else()
    assert len(world.alerts()) == 1


def test_a_broker_in_maintenance_is_a_note(world):
    """The tables tell the truth; the alert is a note until the maintenance ends, and what it is then."""
    world.known_topic("served", [MAINTAINED, 0, 1])
    world.expects(of_broker(MAINTAINED))
    of_it = ("--cluster", "local", "--broker", str(MAINTAINED))
    world.decide("maintenance", "start", *of_it, "--for", "1h")
    world.wait(lambda: world.states()[MAINTAINED].get("maintenance_until_ms"), "the maintenance to begin")
    world.cluster.stop(MAINTAINED)
    note = world.wait_alert(rule="broker_offline", broker=MAINTAINED, status="firing")
    assert note["severity"] == "info"
    world.wait_rows("broker_state", lambda rows: [row["status"] for row in rows] == ["offline"], "offline", broker=2)
    world.nothing_else()
    world.decide("maintenance", "end", *of_it)
    alert = world.wait_alert(alert_id=note["alert_id"], severity="critical", status="firing")
    assert alert["revision"] > note["revision"]
    world.cluster.start(MAINTAINED)
    world.wait_alert(alert_id=note["alert_id"], status="resolved")
