"""What is checked before the first query starts: task slots, topics, and whose Kafka the telemetry lies on."""

import re
import time
from collections.abc import Collection
from typing import TYPE_CHECKING

import structlog
from kafka.errors import KafkaError

from logdirwatch.errors import UserError
from logdirwatch.kafka_clients import admin
from logdirwatch.model import topics
from logdirwatch.settings import KafkaSettings, Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = structlog.get_logger(__name__)

SLOTS_FOR_OTHERS = 2
EXECUTORS_WAIT_S = 120.0
EXECUTORS_LOOK_S = 0.5


def needed_slots(events_partitions: int, *, others: bool) -> int:
    """Return the task slots that ``fast_lane`` and the queries beside it take."""
    return events_partitions + (SLOTS_FOR_OTHERS if others else 0)


def slots_of(spark: "SparkSession", needed: int) -> int:
    """Return the task slots of a cluster's executors, once there are as many as needed or none came for long.

    A session is there before its executors are, and they arrive one after the other.
    """
    deadline_s = time.monotonic() + EXECUTORS_WAIT_S
    while (slots := spark.sparkContext.defaultParallelism) < needed and time.monotonic() < deadline_s:
        time.sleep(EXECUTORS_LOOK_S)
    return int(slots)


def check_slots(slots: int, events_partitions: int, *, others: bool) -> None:
    """Refuse fewer task slots than the real-time query holds for good, one an events partition, plus the others' need.

    Spark would start, say nothing and leave partitions unread.
    """
    needed = needed_slots(events_partitions, others=others)
    if slots < needed:
        raise UserError(
            f"stream: {slots} task slots are too few: fast_lane holds {events_partitions} for good "
            f"(one a partition of {topics.EVENTS})"
            + (f" and the other queries need {SLOTS_FOR_OTHERS}" if others else "")
            + f"; give Spark at least {needed}, for example stream.master: local[{max(8, needed)},4]"
        )


def local_slots(master: str) -> int | None:
    """Return the slots of a ``local[N]`` or ``local[N,F]`` master; None for any other, which can tell only itself."""
    match = re.fullmatch(r"local(?:\[(\d+|\*)(?:,\s*\d+)?\])?", master)
    if match is None or match[1] == "*":
        return None
    return int(match[1] or 1)


def check_topics(existing: Collection[str], needed: Collection[str]) -> None:
    """Refuse to start while a topic is missing: a query that reads it would die."""
    missing = sorted(set(needed) - set(existing))
    if missing:
        raise UserError(
            f"stream: the telemetry cluster lacks {', '.join(missing)}; make them with: logdirwatch topics create"
        )


def check_telemetry(settings: Settings, needed: Collection[str]) -> int:
    """Check the telemetry cluster's topics and that it is not a monitored one; return the partitions of events.

    Raises UserError when it cannot be reached or lacks a topic.
    """
    with admin(settings.telemetry) as client:
        check_topics(client.list_topics(), needed)
        partitions = client.describe_topics([topics.EVENTS])[0]["partitions"]
        _warn_if_monitored(settings, client.describe_cluster()["cluster_id"])
        return len(partitions)


def _warn_if_monitored(settings: Settings, telemetry_id: str) -> None:
    for name, cluster in settings.clusters.items():
        if cluster_id(cluster) == telemetry_id:
            log.warning(
                "telemetry.is_monitored",
                cluster=name,
                meaning="the telemetry topics lie on the cluster that is watched: when its disks fill, the alerts go "
                "down with it; set telemetry.bootstrap_servers to another cluster",
            )


def cluster_id(cluster: KafkaSettings) -> str | None:
    """Return a monitored cluster's id, None while it cannot be asked: the stream need not wait for it."""
    try:
        with admin(cluster) as client:
            return str(client.describe_cluster()["cluster_id"])
    except (UserError, KafkaError, OSError):
        # A broker may go between the connection and the question.
        return None
