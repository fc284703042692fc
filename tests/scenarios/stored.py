"""What the tables must come to say of one directory that is lost."""


def wait_lost(world, topic, broker):
    """The broker's replicas of a topic are offline because of their directory, and no other one is."""
    world.wait_rows(
        "replica_state",
        lambda rows: (
            {(row["broker"] == broker, row["status"], row["cause"], row["is_listed"]) for row in rows}
            == {(True, "offline", "directory", False), (False, "online", None, True)}
        ),
        f"its replicas of broker {broker} offline, the others online",
        topic=topic,
    )


def wait_degraded(world, broker, path, cause):
    """The tables: that directory offline, the broker's others online, the broker degraded, no other broker."""
    world.wait_rows(
        "log_dir_state",
        lambda rows: (
            {(row["log_dir"], row["status"], row["cause"]) for row in rows}
            == {
                (other, "offline", cause) if other == path else (other, "online", None)
                for other in (world.log_dir(broker, index) for index in range(3))
            }
        ),
        f"{path} offline, cause {cause}, the others online",
        broker=broker,
    )
    world.wait_rows(
        "broker_state",
        lambda rows: (
            {(row["broker"], row["status"], row["offline_log_dirs"]) for row in rows}
            == {(other, "degraded", 1) if other == broker else (other, "online", 0) for other in range(4)}
        ),
        f"broker {broker} degraded, and only that one",
    )
