"""What came out, against what must have: every difference in a line."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.chaos.reference import BROKER, Life, Place, Reference, Step

Record = dict[str, Any]
SHOWN = 8
# What a machine that is stretched to its limits, or whose disk others fill, truly does to the one broker on it.
TRUE_OF_ANY = frozenset(
    {
        "log_dir_space",
        "log_dir_suspect",
        "log_dir_changed",
        "unaccounted_bytes",
        "broker_unknown",
        "broker_offline",
        "partitions_at_risk",
    }
)

NO_CLUSTER = "*"
TRUE_OF_A_STRUCK_STREAM = frozenset({"pipeline_lagging", "pipeline_rejects", "pipeline_data_loss", "data_quality"})


def place_of(record: Record) -> Place:
    """Return what a record speaks of."""
    return record["cluster"], record["broker"], record["log_dir"] or BROKER


def lives(alerts: Iterable[Record]) -> list[Life]:
    """Return the life of every alert that the stateful lane told of, those left out that only answer an event."""
    revisions: dict[str, dict[int, Record]] = defaultdict(dict)
    for record in alerts:
        if record["revision"]:
            revisions[record["alert_id"]][record["revision"]] = record
    found = []
    for told in revisions.values():
        inside = [told[revision] for revision in sorted(told)]
        if inside[0]["status"] == "resolved":
            continue
        firing = [record for record in inside if record["status"] == "firing"]
        severities = [record["severity"] for record in firing]
        changes = [now for before, now in zip([None, *severities], severities, strict=False) if now != before]
        first, last = inside[0], inside[-1]
        is_over = last["status"] == "resolved"
        found.append(
            Life(
                place_of(first),
                first["rule"],
                first["opened_at_ms"],
                changes,
                firing[-1]["cause"],
                last["at_ms"] if is_over else None,
                last["reason"] if is_over else None,
            )
        )
    return found


def differences(what: str, seen: Iterable[Any], expected: Iterable[Any]) -> list[str]:
    """Return what is missing and what is too much, the first of each."""
    have, want = Counter(list(seen)), Counter(list(expected))
    missing, surplus = list((want - have).elements()), list((have - want).elements())
    return [f"{what}: {len(missing)} missing, as {one}" for one in missing[:SHOWN]] + [
        f"{what}: {len(surplus)} invented, as {one}" for one in surplus[:SHOWN]
    ]


def of_detect(reference: Reference, alerts: list[Record], transitions: Iterable[Record]) -> list[str]:
    """Compare alerts and transitions, each given once, with the reference."""
    steps = (Step(place_of(record), record["to"], record["at_ms"]) for record in transitions)
    first = {record["alert_id"]: record for record in alerts if record["revision"] == 1}
    answered = [
        (record["cluster"], record["broker"], record["reason"])
        for record in first.values()
        if record["status"] == "resolved"
    ]
    return [
        *differences("alerts", (life.told() for life in lives(alerts)), (life.told() for life in reference.lives)),
        *differences("transitions", steps, reference.steps),
        *differences("answers to events", answered, reference.answered),
        *_gaps(alerts),
    ]


def _gaps(alerts: list[Record]) -> list[str]:
    """Every alert's revisions run from 1 on without a gap, the fast lane's 0 left out."""
    known = defaultdict(set)
    for record in alerts:
        known[record["alert_id"]].add(record["revision"])
    return [
        f"alert {alert_id}: revisions {sorted(found)}"
        for alert_id, found in known.items()
        if not found - {0} or found - {0} != set(range(1, max(found) + 1))
    ]


def of_watched(alerts: Iterable[Record], cluster: str) -> list[str]:
    """Find what cannot be true of the cluster that is watched for real, or of the stream that is struck."""
    true = {cluster: TRUE_OF_ANY, NO_CLUSTER: TRUE_OF_A_STRUCK_STREAM}
    wrong = (one for one in alerts if one["rule"] not in true.get(one["cluster"], ()))
    return [f"alert of the watched cluster: {line_of(record)}" for record in wrong]


def line_of(record: Record) -> str:
    """Return an alert in a line."""
    place = "/".join(map(str, place_of(record)))
    return f"{record['rule']} of {place} {record['status']} at {record['at_ms']}: {record['summary']}"


def repeats(values: Iterable[bytes]) -> list[str]:
    """Return where two records of one revision of one alert differ in a byte."""
    told: dict[tuple[str, int], set[bytes]] = defaultdict(set)
    for value in values:
        record = json.loads(value)
        told[record["alert_id"], record["revision"]].add(value)
    return [f"alert {key[0]}: revision {key[1]} in {len(found)} forms" for key, found in told.items() if len(found) > 1]


def untold(query: str, lost: Iterable[Any], evidence: Iterable[Record]) -> list[str]:
    """Return how many of the lost records no alert of a query has in its ranges."""
    told = [found for one in evidence if one["query"] == query for found in one["ranges"]]
    missing = [record for record in lost if not any(_holds(found, record) for found in told)]
    if not missing:
        return []
    return [f"{query} does not tell that {len(missing)} records were lost, as {_where(missing[0])}"]


def _holds(found: Record, record: Any) -> bool:
    is_there = (found["topic"], found["partition"]) == (record.topic, record.partition)
    return is_there and found["from_offset"] <= record.offset < found["to_offset"]


def _where(record: Any) -> str:
    return f"{record.topic}/{record.partition} at {record.offset}"


def names(file: Path, log: str) -> bool:
    """Tell whether a line of a log says of a damaged file that it is."""
    return any(file.name in line and str(file.parent.name) in line for line in log.splitlines())


def of_command(words: Iterable[str], exit_code: int, stderr: str, *, may_fail: bool = False) -> list[str]:
    """Find a command that failed though it must not, or that failed without saying why in a line."""
    name, said = " ".join(words), stderr.strip().splitlines()
    if "Traceback" in stderr:
        return [f"{name}: a traceback, {said[-1]}"]
    if exit_code and not said:
        return [f"{name}: exit code {exit_code} without a word"]
    return [f"{name}: exit code {exit_code}, {said[-1]}"] if exit_code and not may_fail else []
