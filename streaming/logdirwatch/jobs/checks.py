"""Checks before the first query starts: task slots, topics, and that telemetry is not on a monitored cluster."""

import re
import time
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import structlog
from kafka.errors import KafkaError, TopicAuthorizationFailedError

from logdirwatch.errors import UserError
from logdirwatch.kafka.clients import admin, one_line, unreachable
from logdirwatch.kafka.cluster_description import describe_cluster
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model import topics
from logdirwatch.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = structlog.get_logger(__name__)

SLOTS_FOR_OTHERS = 2
EXECUTORS_WAIT_S = 120.0
EXECUTORS_LOOK_S = 0.5


def needed_slots(events_partitions: int, *, others: bool) -> int:
    """Return the task slots that ``fast_lane`` and the other queries need."""
    return events_partitions + (SLOTS_FOR_OTHERS if others else 0)


def slots_of(spark: "SparkSession", needed: int) -> int:
    """Return the task slots of a cluster's executors, once there are enough or no more arrive.

    A session exists before its executors, which arrive one after the other.
    """
    deadline_s = time.monotonic() + EXECUTORS_WAIT_S
    while (slots := spark.sparkContext.defaultParallelism) < needed and time.monotonic() < deadline_s:
        time.sleep(EXECUTORS_LOOK_S)
    return int(slots)


def check_slots(slots: int, events_partitions: int, *, others: bool) -> None:
    """Refuse fewer task slots than the real-time query occupies, one per events partition, plus those of the others.

    Spark would start without an error and leave partitions unread.
    """
    needed = needed_slots(events_partitions, others=others)
    if slots < needed:
        raise UserError(
            f"stream: {slots} task slots are too few: fast_lane occupies {events_partitions} "
            f"(one per partition of {topics.EVENTS})"
            + (f" and the other queries need {SLOTS_FOR_OTHERS}" if others else "")
            + f"; give Spark at least {needed}, for example stream.master: local[{max(8, needed)},4]"
        )


def local_slots(master: str) -> int | None:
    """Return the slots of a ``local[N]`` or ``local[N,F]`` master; None for any other master."""
    match = re.fullmatch(r"local(?:\[(\d+|\*)(?:,\s*\d+)?\])?", master)
    if match is None or match[1] == "*":
        return None
    return int(match[1] or 1)


def check_topics(existing: Collection[str], needed: Collection[str]) -> None:
    """Refuse to start while a topic is missing: a query that reads it would fail."""
    missing = sorted(set(needed) - set(existing))
    if missing:
        raise UserError(
            f"stream: the telemetry cluster lacks {', '.join(missing)}; create them with: logdirwatch topics create"
        )


def check_permissions(allowed: Mapping[str, Collection[str] | None], needed: Mapping[str, Collection[str]]) -> None:
    """Refuse to start without a required operation (topics by operation): the query would fail repeatedly.

    ``allowed`` are the user's permitted operations on a topic, None if the cluster does not return them.
    """
    lacking = {
        operation: [name for name in sorted(names) if operation not in _told(allowed.get(name), operation)]
        for operation, names in needed.items()
    }
    if any(lacking.values()):
        acls = "; ".join(f"{operation.title()} on {', '.join(names)}" for operation, names in lacking.items() if names)
        raise UserError(f"stream: its user lacks these ACLs on the telemetry cluster: {acls}; see docs/security.md")


def _told(allowed: Collection[str] | None, operation: str) -> Collection[str]:
    return [operation] if allowed is None else allowed


def check_telemetry(
    settings: Settings, needed: Collection[str], operations: Mapping[str, Collection[str]] | None = None
) -> int:
    """Check the telemetry cluster's topics, the permissions on them, and that it is not a monitored cluster.

    Return the number of partitions of events. Raises UserError if it is unreachable, lacks a topic, or refuses.
    """
    with admin(settings.telemetry) as client:
        try:
            described = {topic["name"]: topic for topic in client.describe_topics(sorted(needed))}
        except KafkaError as error:
            raise unreachable(settings.telemetry, error) from None
        check_topics([name for name, topic in described.items() if _exists(topic)], needed)
        allowed = {name: _operations(topic) for name, topic in described.items()}
        check_permissions(allowed, operations or {})
    _warn_if_monitored(settings)
    return len(described[topics.EVENTS]["partitions"])


def _exists(topic: Mapping[str, Any]) -> bool:
    """Tell whether a topic exists, or is hidden from this user."""
    return topic["error_code"] in (0, TopicAuthorizationFailedError.errno)


def _operations(topic: Mapping[str, Any]) -> Sequence[str] | None:
    return [] if topic["error_code"] else topic.get("authorized_operations")


def _warn_if_monitored(settings: Settings) -> None:
    telemetry_id = cluster_id(settings.telemetry)
    if telemetry_id is None:
        return
    for name, cluster in settings.clusters.items():
        if cluster_id(cluster) == telemetry_id:
            log.warning(
                "telemetry.is_monitored",
                cluster=name,
                meaning="the telemetry topics are on the monitored cluster: when its disks fill, the alerts are lost; "
                "set telemetry.bootstrap_servers to another cluster",
            )


def cluster_id(cluster: KafkaSettings) -> str | None:
    """Return a monitored cluster's id, None if it does not answer: the stream need not wait for it."""
    try:
        with admin(cluster) as client:
            return describe_cluster(client).cluster_id
    except Exception as error:  # one cluster of many that answers oddly must not stop the stream for all
        log.debug("cluster_id.unknown", bootstrap_servers=cluster.bootstrap_servers, error=one_line(error))
        return None
