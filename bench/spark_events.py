"""What Spark did in a span of time, from its event log: batches and jobs of each query."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

ON = {
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.eventLog.rolling.enabled": "false",
}
"""The options of a session that writes its events; ``spark.eventLog.dir`` says where."""
_OTHER = "(no query)"


@dataclass
class Work:
    """Batches of one query, those of them that read records, and jobs."""

    batches: int = 0
    with_input: int = 0
    batch_ms: int = 0
    jobs: int = 0


def work(folder: Path, from_ms: int, until_ms: int) -> dict[str, Work]:
    """Return the work of each query between two times; ``folder`` has the log of one application."""
    (path,) = [found for found in folder.iterdir() if not found.name.startswith(".")]
    events = [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]
    return summed(events, from_ms, until_ms)


def summed(events: Iterable[dict[str, Any]], from_ms: int, until_ms: int) -> dict[str, Work]:
    """Return the work of each query between two times."""
    names: dict[str, str] = {}
    found: dict[str, Work] = {}
    for event in events:
        kind = event["Event"].rpartition(".")[2]
        if kind.endswith("QueryStartedEvent"):
            names[event["id"]] = event["name"]
        elif kind.endswith("QueryProgressEvent"):
            progress = event["progress"]
            if from_ms <= _ms(progress["timestamp"]) < until_ms:
                _add_batch(found.setdefault(progress["name"], Work()), progress)
        elif kind == "SparkListenerJobStart" and from_ms <= event["Submission Time"] < until_ms:
            query = event["Properties"].get("sql.streaming.queryId")
            found.setdefault(names.get(query, _OTHER), Work()).jobs += 1
    return found


def _add_batch(work: Work, progress: dict[str, Any]) -> None:
    # A trigger that finds nothing to do reports too, once in ten seconds.
    if "addBatch" in progress["durationMs"]:
        work.batches += 1
        work.with_input += any(source["numInputRows"] for source in progress["sources"])
        work.batch_ms += progress["durationMs"]["triggerExecution"]


def _ms(timestamp: str) -> int:
    return round(datetime.fromisoformat(timestamp).timestamp() * 1000)
