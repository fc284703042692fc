"""What operators do to topics and replicas all day: the tables follow, and nothing fires."""

from tests.scenarios.clients import Outcome

# Slowed down, a copy of 15 MB takes three minutes.
MOVED_RECORDS = 1_500


def brokers_of(rows):
    return {(row["partition"], row["broker"]) for row in rows}


def copys_lag(world, topic, holds):
    """Wait until the records that a topic's copy has still to take are such that ``holds``; return how many."""

    def lags(rows):
        return [row["offset_lag"] for row in rows if row["is_future"] and holds(row["offset_lag"] or 0)]

    return lags(world.wait_rows("replica_state", lags, "how far behind the copy is", topic=topic))[0]


def test_kip_112_topic_created_nothing_fires(world):
    assignments = [[0, 1, 2], [1, 2, 3], [2, 3, 0], [3, 0, 1]]
    world.known_topic("created", *assignments)
    replicas = world.rows("replica_state", topic="created")
    assert brokers_of(replicas) == {(n, broker) for n, brokers in enumerate(assignments) for broker in brokers}
    assert all(row["is_listed"] and row["in_isr"] and row["cause"] is None for row in replicas)
    assert {row["log_dir"] for row in replicas} <= {world.log_dir(b, i) for b in range(4) for i in range(3)}
    partitions = world.wait_rows("topic_state", lambda rows: len(rows) == 4, "its four partitions", topic="created")
    assert {row["partition"]: row["replicas"] for row in partitions} == dict(enumerate(assignments))
    assert all(set(row["isr"]) == set(row["replicas"]) and row["offline_replicas"] == [] for row in partitions)
    assert not any(row["is_leaderless"] or row["is_under_min_isr"] or row["is_at_min_isr"] for row in partitions)


def test_kip_112_topic_deletion(world):
    world.topic("deleted", [0, 1, 2], [1, 2, 3])
    world.known_topic("kept", [2, 3, 0])
    world.known("deleted", 6)
    world.delete_topics("deleted")
    world.wait_rows("replica_state", lambda rows: not rows, "no replica of it left", topic="deleted")
    world.wait_rows("topic_state", lambda rows: not rows, "no partition of it left", topic="deleted")
    kept = world.rows("replica_state", topic="kept")
    assert brokers_of(kept) == {(0, 2), (0, 3), (0, 0)}
    assert {row["status"] for row in kept} == {"online"}


def test_kip_113_move_between_directories(world):
    """The copy is a row of its own, ``moving``, until it has taken the original's place."""
    source, target = world.log_dir(0, 0), world.log_dir(0, 1)
    world.known_topic("moved", [0], at=(0, 0))
    world.write("moved", MOVED_RECORDS)
    with world.slow_moves(0):
        world.move("moved", 0, broker=0, to=target)
        rows = world.wait_rows(
            "replica_state",
            lambda rows: {row["is_future"]: row["status"] for row in rows} == {False: "online", True: "moving"},
            "the original online and its copy moving",
            topic="moved",
        )
        copy = next(row for row in rows if row["is_future"])
        assert {row["is_future"]: row["log_dir"] for row in rows} == {False: source, True: target}
        assert (copy["cause"], copy["is_leader"], copy["in_isr"]) == (None, False, False)
        first = copys_lag(world, "moved", lambda lag: lag > 0)
        world.wait_rows(
            "log_dir_state", lambda rows: rows and rows[0]["incoming_bytes"], "bytes still to come", log_dir=target
        )
        world.wait_rows(
            "log_dir_state", lambda rows: rows and rows[0]["outgoing_bytes"], "bytes that will go", log_dir=source
        )
        copys_lag(world, "moved", lambda lag: 0 < lag < first)
        world.nothing_else()
    (row,) = world.wait_rows(
        "replica_state",
        lambda rows: [row["log_dir"] for row in rows] == [target],
        "one row, where the copy was",
        topic="moved",
    )
    assert (row["is_future"], row["status"], row["is_leader"]) == (False, "online", True)


def test_kip_112_reassignment_between_brokers(world):
    world.known_topic("reassigned", [0, 1, 2], [1, 2, 0])
    with world.clients("reassigned", partitions=2) as pair:
        world.flows(pair)
        world.reassign("reassigned", [1, 2, 3], [3, 2, 1])
        rows = world.wait_rows(
            "replica_state",
            lambda rows: (
                brokers_of(rows) == {(n, b) for n in (0, 1) for b in (1, 2, 3)}
                and {row["status"] for row in rows} == {"online"}
            ),
            "its replicas on brokers 1, 2 and 3, all online",
            topic="reassigned",
        )
        assert all(row["is_listed"] and not row["is_future"] for row in rows)
        world.wait_rows(
            "topic_state",
            lambda rows: all(set(row["isr"]) == set(row["replicas"]) == {1, 2, 3} for row in rows) and len(rows) == 2,
            "all three in sync",
            topic="reassigned",
        )
        world.flows(pair)
        assert pair.outcome() == Outcome()
