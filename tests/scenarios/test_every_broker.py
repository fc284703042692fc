"""One directory of every broker, failed or full, while the others serve on."""

from collections.abc import Callable

from kafka.errors import KafkaStorageError

from logdirwatch_lab.fill import FillWith
from tests.scenarios.clients import Outcome
from tests.scenarios.world import BROKERS, World, of_dir

# Slowed down, a copy of 10 MB takes two minutes.
RECORDS = 1_000
BALLAST_RATIO = 0.97
# One and a half segments of 1 MiB: what is freed of two topics leaves the directory saturated.
SMALL_RECORDS = 150
SEGMENT_BYTES = 1 << 20
AT_RISK = {("partitions_at_risk", None, None)}
ONES = ([0, 1, 2], [1, 2, 3], [2, 3, 0], [3, 0, 1])


def wait_all_lost(world: World, index: int, cause: str) -> None:
    """The tables: that directory of every broker offline, every other online, every broker degraded."""
    lost = {world.log_dir(broker, index) for broker in BROKERS}
    world.wait_rows(
        "log_dir_state",
        lambda rows: all(
            (row["status"], row["cause"]) == (("offline", cause) if row["log_dir"] in lost else ("online", None))
            for row in rows
        ),
        f"the directories {index} offline, cause {cause}, and no other",
    )
    world.wait_rows(
        "broker_state",
        lambda rows: (
            {(row["broker"], row["status"], row["offline_log_dirs"]) for row in rows}
            == {(broker, "degraded", 1) for broker in BROKERS}
        ),
        "every broker degraded",
    )


def lose(world: World, brokers: tuple[int, ...], index: int, fail: Callable[[int, int], None], cause: str) -> None:
    """Let a directory of each broker go; each has an alert of its own, and none is lost in the crowd."""
    for broker in brokers:
        world.expects(of_dir(broker, world.log_dir(broker, index)))
        fail(broker, index)
    for broker in brokers:
        path = world.log_dir(broker, index)
        world.wait_alert(rule="log_dir_offline", broker=broker, log_dir=path, cause=cause, status="firing")


def test_kip_112_one_directory_of_every_broker_fails(world):
    """Partitions without a leader page; those on good directories are written and read as if nothing were."""
    world.topic_in("good", 0, *ONES)
    world.topic_in("lost", 2, *ONES)
    world.known("good", 12)
    world.known("lost", 12)
    world.expects(AT_RISK)
    with world.clients("good", partitions=4) as pair:
        world.flows(pair)
        lose(world, BROKERS, 2, world.cluster.break_log_dir, "unknown")
        risk = world.wait_alert(rule="partitions_at_risk", severity="page", status="firing")
        assert risk["affected"]["leaderless"] == 4
        assert {example.rpartition("-")[0] for example in risk["affected"]["examples"]} == {"lost"}
        wait_all_lost(world, 2, "unknown")
        world.wait_rows(
            "replica_state",
            lambda rows: {(row["topic"], row["status"]) for row in rows} == {("good", "online"), ("lost", "offline")},
            "lost offline everywhere, good online everywhere",
        )
        world.flows(pair)
        assert pair.outcome() == Outcome()
    world.nothing_else()


def test_kip_113_second_directories_fail_one_after_the_other(world):
    """Topic 1 lies on first directories and loses nothing; a move between good ones ends, a new one is refused."""
    world.topic_in("topic-1", 0, [0, 1, 2])
    world.topic_in("topic-2", 1, [0, 1, 2])
    world.known("topic-1", 3)
    world.known("topic-2", 3)
    world.write("topic-1", RECORDS)
    world.expects(AT_RISK)
    with world.clients("topic-1") as pair:
        world.flows(pair)
        with world.slow_moves(2):
            world.move("topic-1", 0, broker=2, to=world.log_dir(2, 2))
            world.wait_rows("replica_state", lambda rows: any(r["is_future"] for r in rows), "a copy", topic="topic-1")
            # A follower of topic 2, then its leader, then the last one.
            for broker in (2, 0, 1):
                lose(world, (broker,), 1, world.cluster.break_log_dir, "unknown")
                world.wait_rows(
                    "replica_state",
                    lambda rows, broker=broker: [r["status"] for r in rows if r["broker"] == broker] == ["offline"],
                    f"the replica of broker {broker} offline",
                    topic="topic-2",
                )
                world.flows(pair)
        world.wait_rows(
            "replica_state",
            lambda rows: (
                {(r["broker"], r["log_dir"], r["is_future"], r["status"]) for r in rows}
                == {
                    (0, world.log_dir(0, 0), False, "online"),
                    (1, world.log_dir(1, 0), False, "online"),
                    (2, world.log_dir(2, 2), False, "online"),
                }
            ),
            "the running move ended, all online",
            topic="topic-1",
        )
        assert world.move("topic-1", 0, broker=1, to=world.log_dir(1, 2)) is KafkaStorageError
        world.flows(pair)
        assert pair.outcome() == Outcome()
    world.wait_rows(
        "replica_state",
        lambda rows: {(r["status"], r["cause"]) for r in rows} == {("offline", "directory")} and len(rows) == 3,
        "offline because of their directories",
        topic="topic-2",
    )
    world.nothing_else()


def frees_space_while_saturated(world: World) -> None:
    """KIP-928: retention goes on, and a topic that is deleted takes its bytes along."""
    path = world.log_dir(0, 1)
    world.known("aging", 1, status="saturated")
    before = free_bytes(world)
    world.topic_config("aging", "retention.bytes", "1")
    world.wait(lambda: free_bytes(world) > before + SEGMENT_BYTES // 2, "retention to free a segment")
    before = free_bytes(world)
    world.delete_topics("doomed")
    world.wait(lambda: free_bytes(world) > before + SEGMENT_BYTES, "the deletion to free the topic's bytes")
    world.wait_rows("replica_state", lambda rows: not rows, "no replica of it left", topic="doomed")
    world.wait_rows("log_dir_state", lambda rows: rows[0]["status"] == "saturated", "still saturated", log_dir=path)
    world.cluster.fill(0, 1, FillWith.FILE, until_ratio=BALLAST_RATIO)


def frees_nothing_while_offline(world: World, topic: str) -> None:
    """The topic is gone from the tables at once; on the disk it is a stray when the broker starts with it again.

    One of its replicas is online, for Kafka 4.3.1 does not quite forget a topic that is deleted without any leader: its
    controllers fall over it, one by one, when the next directory fails (``generateLeaderAndIsrUpdates``).
    """
    before, kept = free_bytes(world), world.files_of(0, 1, topic)
    world.delete_topics(topic)
    world.wait_rows("replica_state", lambda rows: not rows, "no replica of it left", topic=topic)
    assert kept
    assert (free_bytes(world), world.files_of(0, 1, topic)) == (before, kept)


def free_bytes(world: World) -> int:
    space = world.cluster.space(0, 1)
    assert space is not None
    return space.free_bytes


def test_kip_928_every_broker_full_at_once(world):
    """All of a topic's directories run full; the telemetry cluster lives and tells, and the space comes back."""
    for topic in ("aging", "doomed"):
        world.topic(topic, [0], at=(0, 1), min_isr=1)
        world.write(topic, SMALL_RECORDS)
    world.prefer("half", 3, 2)
    world.topic("half", [0, 3], at=(0, 1), min_isr=1)
    world.known("doomed", 1)
    world.expects(AT_RISK, *({("log_dir_space", broker, world.log_dir(broker, 1))} for broker in BROKERS))
    for broker in BROKERS:
        world.cluster.fill(broker, 1, FillWith.FILE, until_ratio=BALLAST_RATIO)
    for broker in BROKERS:
        path = world.log_dir(broker, 1)
        world.wait_alert(rule="log_dir_space", broker=broker, log_dir=path, to="saturated", status="firing")
    frees_space_while_saturated(world)
    world.topic_in("drowned", 1, *ONES, min_isr=1)
    world.known("drowned", 12, status="saturated")

    def fill(broker: int, index: int) -> None:
        if broker == BROKERS[0]:
            world.write_until_refused("drowned", partitions=len(ONES))

    lose(world, BROKERS, 1, fill, "full")
    world.wait_alert(rule="partitions_at_risk", severity="page", status="firing")
    wait_all_lost(world, 1, "full")
    frees_nothing_while_offline(world, "half")
    world.nothing_else()
    for broker in BROKERS:
        world.restore(broker, 1)
    for broker in BROKERS:
        path = world.log_dir(broker, 1)
        world.wait_alert(rule="log_dir_offline", broker=broker, log_dir=path, status="resolved")
    (left,) = world.files_of(0, 1, "half")
    assert left.endswith("-stray"), "what was deleted meanwhile still lies there"
