"""Lines as a broker writes them (Kafka 4.3.1, its own pattern), shortened by frames only."""

AT = "2026-03-01 16:22:07,079"
CHANNEL = "org.apache.kafka.storage.internals.log.LogDirFailureChannel"
FRAMES = (
    "\tat java.base/java.io.FileOutputStream.open0(Native Method)\n"
    "\tat org.apache.kafka.server.common.CheckpointFile.write(CheckpointFile.java:77)\n"
)
START = f"[{AT}] INFO Registered `kafka:type=kafka.Log4jController` MBean (kafka.utils.Log4jControllerRegistration$)\n"
NOISE = f"[{AT}] INFO [Broker id=1] Transitioning 4 partition(s) to local followers. (state.change.logger)\n"


def line(message, logger=CHANNEL, level="ERROR", exception=""):
    """Return one entry; ``exception`` brings its frames."""
    return f"[{AT}] {level} {message} ({logger})\n" + (f"{exception}\n{FRAMES}" if exception else "")


def failure(
    message="Error while rolling log segment for t-0 in dir /d1",
    exception="java.io.IOException: No space left on device",
):
    return line(message, exception=exception)


def marked(partition="t-0"):
    return line(
        f"[ReplicaFetcher replicaId=1, leaderId=3, fetcherId=0] Partition {partition} marked as failed",
        "kafka.server.ReplicaFetcherThread",
        "WARN",
    )


def fetcher_error(text, partition="t-0", exception="java.lang.IllegalStateException: no"):
    return line(
        f"[ReplicaFetcher replicaId=1, leaderId=3, fetcherId=0] {text} {partition} at offset 7",
        "kafka.server.ReplicaFetcherThread",
        exception=exception,
    )


def fenced(partition="t-0"):
    return line(
        f"[ReplicaFetcher replicaId=1, leaderId=3, fetcherId=0] Partition {partition} has an older epoch (4) than the "
        "current leader. Will await the new LeaderAndIsr state before resuming fetching.",
        "kafka.server.ReplicaFetcherThread",
        "INFO",
    )
