"""What a release leaves behind, packed: its telemetry topics, its checkpoints and its tables.

Run in a checkout of the release, with its environment::

    PYTHONPATH=. .venv/bin/python /path/to/tests/data/release.py release-0.2.0.tar.xz

A story of five brokers is written to a real telemetry broker, the release's own stream follows it to ``PACKED_POLLS``,
and is stopped in the middle of everything. ``tests/kafka/test_upgrade.py`` lets the present stream go on from there.
"""

import base64
import json
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

POLL_MS = 5_000
PACKED_POLLS, POLLS = 14, 26
BROKERS = 5
PARTITIONS = 10
SCANS = (4, 12, 20)
FAILED, MENDED = 6, 18
MIB = 1 << 20
TOTAL_BYTES = 1_000 * MIB
METRICS, EVENTS, INVENTORY = "logdir.metrics", "logdir.events", "logdir.inventory"
TELEMETRY = "telemetry.jsonl"
# Of these a release that is packed has at least the first six.
TOPICS = (METRICS, EVENTS, INVENTORY, "logdir.state", "logdir.alerts", "logdir.actions", "logdir.decisions")
QUERIES = ("fast_lane", "detect", "store", "store_inventory", "recommend")
FOLDER = "/elsewhere"
KEPT = ("checkpoints", "tables")


class Message(NamedTuple):
    """One record of a telemetry topic."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int


def story(begin_ms: int, polls: Iterable[int]) -> Iterator[Message]:
    """Yield what collectors wrote: broker 0 fills, a disk of 1 fails with an event, one of 2 without, 3 times out.

    All of them are well again from poll ``MENDED`` on.
    """
    for poll in polls:
        at_ms = begin_ms + poll * POLL_MS
        if poll == FAILED:
            event = {"version": 1, "cluster": "prod", "broker": 1, "event": "LogDirFailure", "log_dir": "/d1"}
            yield _message(EVENTS, 0, at_ms - 1, event | {"timestamp_ms": at_ms - 1})
        for broker in range(BROKERS):
            yield _message(METRICS, broker, at_ms, _metrics(broker, poll, at_ms))
        if poll in SCANS:
            yield from _scan(poll, at_ms + 1)


def last_ms(begin_ms: int, polls: int) -> int:
    """Return the time of the last of so many polls."""
    return begin_ms + (polls - 1) * POLL_MS


def answers(begin_ms: int) -> set[tuple[int, str, int]]:
    """Return broker, directory and time of everything that is told of a directory in the whole story, the event too."""
    found = set()
    for message in story(begin_ms, range(POLLS)):
        record = json.loads(message.value or b"")
        if message.topic == METRICS:
            found |= {(record["broker"], answer["path"], message.timestamp_ms) for answer in record["log_dirs"]}
        elif message.topic == EVENTS:
            found.add((record["broker"], record["log_dir"], message.timestamp_ms))
    return found


def _message(topic: str, partition: int, at_ms: int, record: dict[str, Any]) -> Message:
    key = f"prod/{record.get('broker', record.get('topic', ''))}".encode()
    return Message(topic, partition, key, json.dumps(record).encode(), at_ms)


def _is_failed(broker: int, poll: int) -> bool:
    return broker in {1, 2} and FAILED <= poll < MENDED


def _metrics(broker: int, poll: int, at_ms: int) -> dict[str, Any]:
    record = {
        "version": 1,
        "cluster": "prod",
        "broker": broker,
        "timestamp_ms": at_ms,
        "collector": "c1",
        "interval_ms": POLL_MS,
    }
    if broker == 3 and 8 <= poll < MENDED:
        return record | {"status": "timeout", "error": "no answer", "log_dirs": []}
    used = min(0.97, 0.6 + 0.03 * poll) if broker == 0 and poll < MENDED else 0.5
    whole = {"error_code": 0, "total_bytes": TOTAL_BYTES}
    first = whole | {"path": "/d1", "usable_bytes": round(TOTAL_BYTES * (1 - used))}
    if _is_failed(broker, poll):
        first = {"path": "/d1", "error_code": 56}
    second = whole | {"path": "/d2", "usable_bytes": TOTAL_BYTES // 2}
    return record | {"status": "ok", "log_dirs": [first, second]}


def _scan(poll: int, at_ms: int) -> Iterator[Message]:
    scan = {"version": 1, "cluster": "prod", "timestamp_ms": at_ms, "collector": "c1"}
    replicas = {number: [(number + step) % BROKERS for step in range(3)] for number in range(PARTITIONS)}
    away = {broker for broker in range(BROKERS) if _is_failed(broker, poll)}
    for broker in range(BROKERS):
        if broker == 3 and 8 <= poll < MENDED:
            continue
        for index, log_dir in enumerate(("/d1", "/d2")):
            if broker in away and log_dir == "/d1":
                continue
            placed = [
                {"topic": "orders", "partition": number, "size_bytes": MIB}
                for number, brokers in replicas.items()
                if broker in brokers and number % 2 == index
            ]
            record = scan | {"type": "replicas", "broker": broker, "log_dir": log_dir, "replicas": placed}
            yield _message(INVENTORY, broker, at_ms, record)
    partitions = []
    for number, brokers in replicas.items():
        offline = [broker for broker in brokers if broker in away and number % 2 == 0]
        isr = [broker for broker in brokers if broker not in offline]
        partitions.append(
            {"partition": number, "leader": isr[0], "replicas": brokers, "isr": isr, "offline_replicas": offline}
        )
    yield _message(INVENTORY, 0, at_ms, scan | {"type": "topic", "topic": "orders", "partitions": partitions})
    yield _message(INVENTORY, 0, at_ms, scan | {"type": "scan", "topics": 1, "is_complete": True})


# -- packing and unpacking


def pack(folder: Path, messages: Iterable[Message], archive: Path) -> None:
    """Pack the topics, and the checkpoints and tables of a run's folder."""
    for path in folder.glob("checkpoints/*/state/*/_metadata/v2/[0-9]*"):
        path.write_text(path.read_text().replace(str(folder), FOLDER))
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    with (folder / TELEMETRY).open("w") as file:
        for message in messages:
            file.write(json.dumps(message._replace(key=_text(message.key), value=_text(message.value))) + "\n")
    with tarfile.open(archive, "w:xz") as packed:
        for name in (TELEMETRY, *KEPT):
            packed.add(folder / name, name, filter=_of_nobody)


def _of_nobody(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def unpack(archive: Path, folder: Path) -> list[Message]:
    """Unpack checkpoints and tables into a run's folder; return what lay in the topics."""
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    read = (Message(*json.loads(line)) for line in (folder / TELEMETRY).read_text().splitlines())
    return [message._replace(key=_bytes(message.key), value=_bytes(message.value)) for message in read]


def _text(value: bytes | None) -> Any:
    return None if value is None else base64.b64encode(value).decode()


def _bytes(text: Any) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def main() -> None:
    """Make the archive that the command line names."""
    # Of the release that is packed, not of the one that this file belongs to.
    import time

    from logdirwatch import settings as configuration
    from logdirwatch.kafka_clients import producer, read_all
    from logdirwatch.local.config import ClusterSpec
    from tests.kafka.conftest import cluster_in
    from tests.kafka.telemetry import Run, fresh_topics

    begin_ms = int(time.time()) * 1_000 - 3_600_000
    with tempfile.TemporaryDirectory(prefix="logdirwatch-release-") as scratch:
        home = Path(scratch) / "cluster"
        home.mkdir()
        with cluster_in(home, ClusterSpec(brokers=1, log_dirs=1)) as cluster:
            settings = configuration.load(cluster.config_path)
            fresh_topics(settings)
            run = Run(Path(scratch) / "run", settings, queries=QUERIES)
            run.start()
            client = producer(settings.telemetry, acks="all")
            for message in story(begin_ms, range(PACKED_POLLS)):
                client.send(message.topic, message.value, message.key, None, message.partition, message.timestamp_ms)
            client.close(timeout=30)

            def is_done() -> bool:
                states = run.states().values()
                stored = {(row["alert_id"], row["revision"]) for row in run.rows("alerts")}
                actions = {row["action_id"] for row in run.rows("actions")}
                return (
                    len(states) == BROKERS
                    and all(state["at_ms"] == last_ms(begin_ms, PACKED_POLLS) for state in states)
                    and stored == set(run.alerts())
                    and len(run.rows("replica_state")) == 3 * PARTITIONS
                    and bool(actions)
                    and actions == {json.loads(value)["action_id"] for _, value in run.values("logdir.actions")}
                )

            run.wait_for(is_done, "everything judged and stored", 1_500)
            run.stop()
            lying = [
                Message(topic, found.partition, found.key, found.value, found.timestamp)
                for topic in TOPICS
                for found in read_all(settings.telemetry, topic)
            ]
            pack(run.folder, lying, Path(sys.argv[1]))


if __name__ == "__main__":
    main()
