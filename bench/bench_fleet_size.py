"""How many brokers the state machine judges in a batch, beside a query that only parses the same records.

    python bench/bench_fleet_size.py [--brokers 1000 ...] [--rounds 12] [--slots 2] [--heap 2g] [--conf KEY=VALUE ...]

Each round is one poll of every broker, with twelve log directories each, whose use moves; one round is one batch.
The first rounds are not counted: Java and the Python workers are cold, and between them lie hours, so that four days of
every directory are remembered afterwards. Prints the median and the longest batch, the time over that of parsing alone,
the processor time of a batch and the memory (PSS) in all processes, and the state kept for a broker. ``--slots`` are
tasks at a time, and partitions of the input and of the state. ``--conf`` goes over the configuration of the query's
session.
Input is read from files, so no broker is needed.
"""

import argparse
import datetime as dt
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psutil
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it
from pyspark.sql.streaming.query import StreamingQuery

from logdirwatch.config.stream import StreamSettings
from logdirwatch.jobs.queries import detect
from logdirwatch.jobs.session import build_session, without_empty_batches
from logdirwatch.model import topics
from logdirwatch.model.records import LogDirSample, MetricsRecord
from logdirwatch.model.vocabulary import PollStatus
from logdirwatch.parse.records import Accepted, parse
from logdirwatch.settings import Settings

SCHEMA = "key binary, value binary, topic string, partition int, offset long, timestamp timestamp"
T0_MS = 1_700_000_000_000
INTERVAL_MS = 10_000
LOG_DIRS = 12
PARTITIONS = 6
WARM_UP = 8
APART_MS = 14 * 3_600_000
TOTAL_BYTES = 4 << 40
DEADLINE_S = 1_800.0


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--brokers", type=int, nargs="+", default=[1_000, 2_000, 5_000, 10_000])
    arguments.add_argument("--rounds", type=int, default=12)
    arguments.add_argument("--slots", type=int, default=2)
    arguments.add_argument("--heap", default="2g")
    arguments.add_argument("--conf", action="append", default=[])
    chosen = arguments.parse_args()
    home = os.environ.get("LOGDIRWATCH_HOME", ".logdirwatch")
    with tempfile.TemporaryDirectory() as folder:
        stream = StreamSettings(
            master=f"local[{chosen.slots}]",
            driver_memory=chosen.heap,
            shuffle_partitions=chosen.slots,
            extra={"spark.sql.warehouse.dir": f"{folder}/warehouse", **dict(one.split("=", 1) for one in chosen.conf)},
        )
        settings = Settings(home=home, stream=stream)
        spark = without_empty_batches(build_session(settings, "bench"), settings)
        print(f"{os.cpu_count()} cores, {chosen.slots} task slots, heap {stream.driver_memory}, a poll a batch,")
        print(f"{LOG_DIRS} directories a broker; {chosen.rounds} batches after {WARM_UP} that are not counted\n")
        columns = f"{'brokers':>8}{'median s':>10}{'longest s':>11}{'parse s':>9}{'ratio':>7}{'cpu s':>8}"
        print(f"{columns}{'memory MiB':>12}{'state B/broker':>16}")
        for brokers in chosen.brokers:
            row(spark, settings, Path(folder) / str(brokers), brokers, chosen.rounds + WARM_UP)
        spark.stop()


def row(spark: SparkSession, settings: Settings, folder: Path, brokers: int, rounds: int) -> None:
    files = settings.stream.shuffle_partitions
    for number in range(rounds):
        write_round(spark, folder / "in", brokers, number, files)
    records = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", files).parquet(str(folder / "in"))
    parsing = run(parsed(records), folder / "parse", brokers, rounds)
    judging = run(detect.judged(records, settings), folder / "detect", brokers, rounds)
    took, alone = statistics.median(judging.seconds), statistics.median(parsing.seconds)
    columns = f"{brokers:>8}{took:>10.2f}{max(judging.seconds):>11.2f}{alone:>9.2f}{took / alone:>7.1f}"
    used = f"{judging.cpu_s:>8.2f}{judging.memory_bytes / 2**20:>12.0f}"
    print(f"{columns}{used}{judging.state_bytes / brokers:>16.0f}", flush=True)


class Outcome(msgspec.Struct):
    seconds: list[float]
    cpu_s: float
    memory_bytes: int
    state_bytes: int


def run(plan: DataFrame, checkpoint: Path, brokers: int, rounds: int) -> Outcome:
    """Run a query over the rounds, a batch each, and return how long its batches took after the warm-up."""
    query = (
        plan.writeStream.format("noop")
        .outputMode("update")
        .option("checkpointLocation", str(checkpoint))
        .trigger(processingTime="0 seconds")
        .start()
    )
    try:
        warm, began_s = wait_for_rounds(query, brokers, WARM_UP), cpu_seconds()
        full = wait_for_rounds(query, brokers, rounds)
        spent_s = (cpu_seconds() - began_s) / max(1, len(full) - len(warm))
        used_bytes = sum(process.memory_full_info().pss for process in processes())
    finally:
        query.stop()
    seconds = [progress["durationMs"]["triggerExecution"] / 1000 for progress in full[WARM_UP:]]
    kept_bytes = state_bytes(plan.sparkSession, checkpoint) if full[-1]["stateOperators"] else 0
    return Outcome(seconds, spent_s, used_bytes, kept_bytes)


def cpu_seconds() -> float:
    """Return the processor time of this process and of all that it started."""
    return sum(sum(process.cpu_times()[:4]) for process in processes())


def processes() -> list[psutil.Process]:
    """Return this process and all that it started."""
    root = psutil.Process()
    return [root, *root.children(recursive=True)]


def state_bytes(spark: SparkSession, checkpoint: Path) -> int:
    """Return the length of all that the state machine remembers of its brokers, as it stands in the checkpoint."""
    kept = spark.read.format("statestore").option("stateVarName", "memories").load(str(checkpoint))
    return int(kept.agg(F.sum(F.octet_length("value.body"))).first()[0])


def wait_for_rounds(query: StreamingQuery, brokers: int, rounds: int) -> list[dict]:  # type: ignore[type-arg]
    seen: dict[int, dict] = {}  # type: ignore[type-arg]
    ends_s = time.monotonic() + DEADLINE_S
    while len(seen) < rounds:
        if query.exception() is not None or time.monotonic() > ends_s:
            raise SystemExit(f"only {len(seen)} of {rounds} rounds were judged: {query.exception()}")
        seen |= {p["batchId"]: p for p in query.recentProgress if p["numInputRows"] >= brokers}
        # Java makes JSON of every batch for each look, on the cores that are measured.
        time.sleep(2.0)
    return [seen[batch] for batch in sorted(seen)]


def write_round(spark: SparkSession, folder: Path, brokers: int, number: int, files: int) -> None:
    past = min(number, WARM_UP - 1)
    at_ms = T0_MS + past * APART_MS + (number - past) * INTERVAL_MS
    time_of_it = dt.datetime.fromtimestamp(at_ms / 1000, dt.timezone.utc)
    rows = []
    for broker in range(brokers):
        place = broker % PARTITIONS, offset(broker, brokers, number)
        rows.append((None, bytearray(record(broker, number, at_ms)), topics.METRICS, *place, time_of_it))
    spark.createDataFrame(rows, SCHEMA).repartition(files).write.mode("append").parquet(str(folder))


def offset(broker: int, brokers: int, number: int) -> int:
    return number * (brokers // PARTITIONS + 1) + broker // PARTITIONS


def record(broker: int, number: int, at_ms: int) -> bytes:
    """One poll's answer: use that rises by a GiB a poll in some directories and falls in others."""
    return msgspec.json.encode(
        MetricsRecord(
            version=1,
            cluster="bench",
            broker=broker,
            timestamp_ms=at_ms,
            status=PollStatus.OK,
            collector="bench",
            interval_ms=INTERVAL_MS,
            rack=f"r{broker % 3}",
            is_fenced=False,
            is_registered=True,
            log_dirs=[sample(broker, directory, number) for directory in range(LOG_DIRS)],
        )
    )


def sample(broker: int, directory: int, number: int) -> LogDirSample:
    used = TOTAL_BYTES * (40 + (broker * 7 + directory * 13) % 30) // 100 + ((-1) ** directory) * (number << 30)
    return filled(directory, used)


def filled(directory: int, used: int) -> LogDirSample:
    """One directory's answer with so many bytes in use."""
    return LogDirSample(
        path=f"/data/disk{directory:02d}/kafka-logs",
        error_code=0,
        total_bytes=TOTAL_BYTES,
        usable_bytes=TOTAL_BYTES - used,
        is_cordoned=False,
        is_metadata_dir=directory == 0,
        replica_count=120,
        replica_bytes=used - (1 << 30),
        future_bytes=0,
        incoming_bytes=0,
        outgoing_bytes=0,
    )


def parsed(records: DataFrame) -> DataFrame:
    """The records read and parsed by the same parser, and nothing else."""
    return records.select("topic", "value").mapInArrow(parse_batches, "records long")


def parse_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        topic_names, values = (column.to_pylist() for column in batch.columns)
        good = sum(
            isinstance(parse(topic, None, value, T0_MS, "bench"), Accepted)
            for topic, value in zip(topic_names, values, strict=True)
        )
        yield pa.RecordBatch.from_pydict({"records": [good]})


if __name__ == "__main__":
    main()
