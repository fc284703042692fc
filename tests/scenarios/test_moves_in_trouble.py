"""Moves between the directories of a broker whose source, destination or broker goes away in the middle (KIP-113)."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.scenarios.stored import wait_degraded
from tests.scenarios.world import World, of_broker, of_dir

# Slowed down, a copy of 15 MB takes three minutes.
RECORDS = 1_500
BROKER = 2


@contextmanager
def moving(world: World, topic: str, *brokers: int) -> Iterator[tuple[str, str]]:
    """A replica on its way from the first to the second directory, slowed down; the two paths."""
    source, target = world.log_dir(BROKER, 0), world.log_dir(BROKER, 1)
    world.known_topic(topic, list(brokers), at=(BROKER, 0))
    world.write(topic, RECORDS)
    with world.slow_moves(BROKER):
        world.move(topic, 0, broker=BROKER, to=target)
        wait_moving(world, topic)
        yield source, target


def wait_moving(world: World, topic: str) -> None:
    world.wait_rows(
        "replica_state",
        lambda rows: (
            {(row["is_future"], row["status"]) for row in rows if row["broker"] == BROKER}
            == {(False, "online"), (True, "moving")}
        ),
        "the original online and its copy moving",
        topic=topic,
    )


def test_kip_113_destination_fails_in_the_middle(world):
    """The original serves on; the copy is lost with its directory."""
    with moving(world, "to-a-dead-one", BROKER) as (source, target):
        world.expects(of_dir(BROKER, target))
        world.cluster.break_log_dir(BROKER, 1)
        world.wait_alert(rule="log_dir_offline", broker=BROKER, log_dir=target, cause="unknown", status="firing")
        wait_degraded(world, BROKER, target, "unknown")
        rows = world.wait_rows(
            "replica_state",
            lambda rows: not any(row["is_future"] and row["status"] == "moving" for row in rows),
            "no copy moving any more",
            topic="to-a-dead-one",
        )
        (original,) = [row for row in rows if not row["is_future"]]
        assert (original["status"], original["log_dir"], original["is_leader"]) == ("online", source, True)
        world.nothing_else()


def test_kip_113_source_fails_in_the_middle(world):
    """The original is offline with its directory, and the copy never takes its place."""
    with moving(world, "from-a-dead-one", 0, 1, BROKER) as (source, _):
        world.expects(of_dir(BROKER, source))
        world.cluster.break_log_dir(BROKER, 0)
        world.wait_alert(rule="log_dir_offline", broker=BROKER, log_dir=source, cause="unknown", status="firing")
        wait_degraded(world, BROKER, source, "unknown")
        world.wait_rows(
            "replica_state",
            lambda rows: (
                {(row["broker"], row["status"], row["cause"]) for row in rows if not row["is_future"]}
                == {(0, "online", None), (1, "online", None), (BROKER, "offline", "directory")}
                and not any(row["is_future"] and row["status"] == "moving" for row in rows)
            ),
            "the original offline because of its directory, the others online, no copy moving",
            topic="from-a-dead-one",
        )
        world.nothing_else()


def test_kip_113_broker_restarted_in_the_middle(world):
    """The move goes on by itself, and ends once it may be quick again."""
    world.expects(of_broker(BROKER))
    with moving(world, "goes-on", BROKER, 0, 1) as (_, target):
        world.cluster.stop(BROKER)
        world.cluster.start(BROKER)
        world.settle()
        wait_moving(world, "goes-on")
    world.wait_rows(
        "replica_state",
        lambda rows: (
            {(row["broker"], row["is_future"]) for row in rows} == {(0, False), (1, False), (BROKER, False)}
            and {row["log_dir"] for row in rows if row["broker"] == BROKER} == {target}
        ),
        "one replica a broker, the moved one where its copy was",
        topic="goes-on",
    )
