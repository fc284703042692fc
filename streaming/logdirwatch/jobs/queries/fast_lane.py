"""The query ``fast_lane``: an event that is itself a transition becomes an alert in milliseconds.

Stateless, with native expressions only, as Spark's real-time mode requires. It reads the same bytes as ``detect`` with
another parser, so it may skip an event it is not sure of, but never alerts on one that ``detect`` rejects: ``detect``
follows every fast alert with a revision of the same alert_id.
"""

from collections.abc import Iterable
from functools import reduce
from operator import and_

import structlog
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it
from pyspark.sql.streaming.query import StreamingQuery

from logdirwatch.jobs.streams import SHORT_FETCHES, Trigger, every, kafka_stream, real_time, start_query, to_kafka
from logdirwatch.model import topics
from logdirwatch.model.identity import ID_LENGTH
from logdirwatch.model.vocabulary import AlertStatus, Cause, EventName, Lane, LogDirStatus, Rule, Severity
from logdirwatch.settings import Settings
from logdirwatch.spark_version import NoRealTimeModeError
from logdirwatch.text.words import until_morning

log = structlog.get_logger(__name__)

NAME = "fast_lane"
REAL_TIME = "REAL_TIME_MODE"
"""A part of the names of Spark's errors that refuse real-time mode."""
TOPICS = (topics.EVENTS,)

MAX_VALUE_BYTES = 65_536
MAX_BRACKETS = 100
_SURROGATE_PAIR = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_SURROGATE = r"\\u[dD][89a-fA-F]"
_MAX_INT = 2**31 - 1
_MAX_MS = 2**53
_COUNTS = ("logs_loaded", "logs_total")
_NULLABLE_STRINGS = ("cluster", "log_dir", "cause", "detail", "collector", "full_by", "device", "reason")


def identity(*parts: Column) -> Column:
    """Return what ``model.identity.identity`` returns, computed by Spark."""
    written = [F.concat(F.octet_length(part).cast("string"), F.lit(":"), part, F.lit(",")) for part in parts]
    return F.substring(F.sha2(F.concat(*written), 256), 1, ID_LENGTH)


def _parsed(text: Column) -> Column:
    """Parse one JSON value strictly: as an object field and as an array element, so that nothing may follow it."""
    in_object = F.try_parse_json(F.concat(F.lit('{"r":'), text, F.lit("}")))
    in_array = F.try_parse_json(F.concat(F.lit("["), text, F.lit("]")))
    is_alone = in_array.isNotNull() & F.try_variant_get(in_array, "$[1]", "variant").isNull()
    return F.when(is_alone, F.try_variant_get(in_object, "$.r", "variant"))


def _is_plain(value: Column, text: Column) -> Column:
    """Tell whether all JSON parsers agree on these bytes."""
    brackets = F.length(text) - F.length(F.translate(text, "[{", ""))
    lone_surrogate = F.regexp_replace(text, _SURROGATE_PAIR, "").rlike(_SURROGATE)
    return (F.length(value) <= MAX_VALUE_BYTES) & F.is_valid_utf8(text) & (brackets <= MAX_BRACKETS) & ~lone_surrogate


def _type(name: str) -> Column:
    return F.coalesce(F.schema_of_variant(F.try_variant_get("event", f"$.{name}", "variant")), F.lit("VOID"))


def _text(name: str) -> Column:
    return F.try_variant_get("event", f"$.{name}", "string").alias(name)


def _number(name: str) -> Column:
    return F.try_variant_get("event", f"$.{name}", "bigint").alias(name)


def _all(conditions: Iterable[Column]) -> Column:
    return reduce(and_, conditions)


def _is_well_typed() -> Column:
    """Tell whether every field has the JSON type of EventRecord; unknown fields may have any."""
    return _all(
        (
            *(_type(name) == "BIGINT" for name in ("version", "broker")),
            _type("event").isin("BIGINT", "STRING"),
            *(_type(name).isin("BIGINT", "VOID") for name in ("timestamp_ms", "partition", *_COUNTS)),
            *(_type(name).isin("STRING", "VOID") for name in (*_NULLABLE_STRINGS, "topic")),
        )
    )


def _is_in_range() -> Column:
    return _all(
        (
            F.col("version") == 1,
            F.col("broker").between(0, _MAX_INT),
            F.coalesce("timestamp_ms", "kafka_ms").between(0, _MAX_MS),
            F.col("cluster").isNull() | (F.col("cluster") != ""),
            F.col("log_dir").isNull() | (F.col("log_dir") != ""),
            F.col("event_topic").isNull() | (F.col("event_topic") != ""),
            *(F.col(name).isNull() | (F.col(name) >= 0) for name in _COUNTS),
            F.col("event_partition").isNull() | F.col("event_partition").between(0, _MAX_INT),
        )
    )


def events(records: DataFrame, settings: Settings) -> DataFrame:
    """Return the events that this lane is sure of, one row each, with cluster, at_ms and origin."""
    text = F.col("value").cast("string")
    is_believed = F.col("timestamp_ms") <= F.col("kafka_ms") + settings.detect.clock_skew_ms
    origin = [F.col(name).cast("string") for name in ("topic", "partition", "offset", "kafka_ms")]
    return (
        records.where(_is_plain(F.col("value"), text))
        .withColumn("event", _parsed(text))
        .where(F.col("event").isNotNull() & _is_well_typed())
        .select(
            *map(_number, ("version", "broker", "timestamp_ms", *_COUNTS)),
            *map(_text, (*_NULLABLE_STRINGS, "event")),
            _text("topic").alias("event_topic"),
            _number("partition").alias("event_partition"),
            *("topic", "partition", "offset"),
            F.unix_millis("timestamp").alias("kafka_ms"),
        )
        .where(_is_in_range())
        .select(
            F.coalesce("cluster", F.lit(settings.default_cluster)).alias("cluster"),
            *("broker", "log_dir", "event", "detail", "collector"),
            F.when(is_believed, F.col("timestamp_ms")).otherwise(F.col("kafka_ms")).alias("at_ms"),
            F.concat_ws("/", *origin).alias("origin"),
        )
    )


def _alert(lane: Lane, **fields: Column) -> Column:
    """Return the JSON of an AlertRecord of a lane; ``fields`` are what differs."""
    nothing = F.lit(None).cast("string")
    record = {
        "version": F.lit(1),
        "alert_id": F.col("alert_id"),
        "revision": F.lit(0),
        "cluster": F.col("cluster"),
        "broker": F.lit(None).cast("bigint"),
        "log_dir": nothing,
        "from": nothing,
        "to": nothing,
        "cause": nothing,
        "opened_at_ms": F.col("at_ms"),
        "at_ms": F.col("at_ms"),
        "lane": F.lit(lane.value),
        "affected": F.create_map().cast("map<string,string>"),
        "reason": nothing,
        "merged_into": nothing,
        "stale_since_ms": F.lit(None).cast("bigint"),
    } | fields
    return F.to_json(F.struct(*(column.alias(name) for name, column in record.items())), {"ignoreNullFields": "false"})


def _failure(lane: Lane) -> Column:
    """Return the alert of a LogDirFailure: offline, with a cause not known yet."""
    return _alert(
        lane,
        status=F.lit(AlertStatus.FIRING.value),
        rule=F.lit(Rule.LOG_DIR_OFFLINE.value),
        severity=F.lit(Severity.CRITICAL.value),
        broker=F.col("broker"),
        log_dir=F.col("log_dir"),
        to=F.lit(LogDirStatus.OFFLINE.value),
        cause=F.lit(Cause.UNKNOWN.value),
        evidence=F.struct("event", "origin", "detail", F.lit("event").alias("decided_by")),
        summary=F.format_string(
            "Broker %d %s stopped serving (cause not known yet); "
            + until_morning((False, "it is not known yet which partitions are impacted")),
            "broker",
            F.coalesce("log_dir", F.lit("(log directory not named)")),
        ),
    )


def _canary(lane: Lane) -> Column:
    """Return the alert record of a canary, which proves that this lane runs."""
    return _alert(
        lane,
        status=F.lit(AlertStatus.RESOLVED.value),
        rule=F.lit(Rule.HEARTBEAT.value),
        severity=F.lit(Severity.INFO.value),
        evidence=F.struct("collector", "origin"),
        summary=F.concat(F.lit("Canary through the fast lane for cluster "), F.col("cluster")),
    )


def alerts(records: DataFrame, settings: Settings, lane: Lane = Lane.FAST) -> DataFrame:
    """Return the rows topic, key, value that a lane writes."""
    star = F.lit("*")
    is_failure = F.col("event").isin(EventName.LOG_DIR_FAILURE.value, "1")
    is_canary = F.col("event") == EventName.CANARY.value
    place = (F.col("broker").cast("string"), F.coalesce("log_dir", star))
    failure_id = identity(F.col("cluster"), *place, F.lit(Rule.LOG_DIR_OFFLINE.value), F.col("origin"))
    canary_id = identity(F.col("cluster"), star, star, F.lit(Rule.HEARTBEAT.value), F.col("origin"))
    return (
        events(records, settings)
        .where(is_failure | is_canary)
        .withColumn("alert_id", F.when(is_failure, failure_id).when(is_canary, canary_id))
        .select(
            F.lit(topics.ALERTS).alias("topic"),
            F.concat("alert_id", F.lit("/fast")).alias("key"),
            F.when(is_failure, _failure(lane)).when(is_canary, _canary(lane)).alias("value"),
        )
    )


def start(spark: SparkSession, settings: Settings) -> StreamingQuery:
    """Start the query: in real-time mode, or in micro-batches if configured or if Spark refuses real-time mode."""
    if settings.stream.is_real_time:
        try:
            return _started(spark, settings, Lane.FAST, real_time(settings.stream.fast_lane_batch))
        except PySparkException as error:
            if REAL_TIME not in (error.getCondition() or ""):
                raise
            _tell_micro_batches(error.getCondition() or "")
        except NoRealTimeModeError:
            _tell_micro_batches(f"Spark {spark.version} has no real-time mode")
    return _started(spark, settings, Lane.FAST_MICRO_BATCH, every(settings.stream.fast_lane_trigger))


def _tell_micro_batches(because: str) -> None:
    log.warning("fast_lane.micro_batches", because=because, lane=Lane.FAST_MICRO_BATCH.value)


def _started(spark: SparkSession, settings: Settings, lane: Lane, trigger: Trigger) -> StreamingQuery:
    # In real-time mode a fetch may wait: no request follows it, and it returns as soon as there is a record.
    fetches = {} if lane is Lane.FAST else SHORT_FETCHES
    rows = alerts(kafka_stream(spark, settings, TOPICS, fetches=fetches), settings, lane)
    return start_query(to_kafka(rows, settings), settings, NAME, trigger)
