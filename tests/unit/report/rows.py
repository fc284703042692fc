"""Rows of the tables with defaults."""

from tests.unit.report.builders import NOW_MS

TIB = 1 << 40


def broker(broker=7, cluster="prod", **fields):
    values = {
        "status": "online",
        "reason": "answers",
        "since_ms": NOW_MS - 3_600_000,
        "at_ms": NOW_MS - 5_000,
        "last_seen_ms": NOW_MS - 5_000,
        "host": f"kafka-{broker}",
        "rack": None,
        "is_fenced": False,
        "kafka_version": "4.3.1",
        "metadata_mode": None,
        "not_reported": None,
    }
    return {"cluster": cluster, "broker": broker, **values, **fields}


def log_dir(broker=7, log_dir="/data/d1", used=0.5, cluster="prod", **fields):
    values = {
        "status": "online",
        "cause": None,
        "reason": "space",
        "since_ms": NOW_MS - 3_600_000,
        "last_status": None,
        "last_seen_ms": NOW_MS - 5_000,
        "used_ratio": used,
        "total_bytes": TIB,
        "usable_bytes": None if used is None else round(TIB * (1 - used)),
        "unaccounted_bytes": None,
        "growth_bytes_per_s": None,
        "replica_count": 3,
        "future_bytes": 0,
        "is_cordoned": False,
        "is_metadata_dir": False,
        "capacity_source": None,
    }
    return {"cluster": cluster, "broker": broker, "log_dir": log_dir, **values, **fields}


def partition(topic="orders", partition=0, cluster="prod", is_internal=False, **dangers):
    flags = dict.fromkeys(("is_leaderless", "is_under_min_isr", "is_at_min_isr", "is_sole_replica"), False)
    place = {"cluster": cluster, "topic": topic, "partition": partition, "is_internal": is_internal}
    return {**place, **flags, **dangers}


def offline(topic="orders", cause="directory", replicas=1, cluster="prod"):
    return {"cluster": cluster, "topic": topic, "cause": cause, "replicas": replicas}


def scan(is_of_topics=False, at_ms=NOW_MS - 10_000, cluster="prod"):
    return {"cluster": cluster, "is_of_topics": is_of_topics, "at_ms": at_ms}
