"""How the stream runs, and where its checkpoints are."""

from typing import Literal

from pydantic import Field

from logdirwatch.config.section import Interval, Section
from logdirwatch.config.servers import Listen


class StreamSettings(Section):
    """How the Spark application runs."""

    master: str | None = Field(
        "local[8,4]",
        pattern=r"^(local(\[.+\])?|local-cluster\[.+\]|spark://.+)$",
        description="Spark master; null if spark-submit or Databricks sets it.",
    )
    driver_memory: str = Field(
        "2g",
        pattern="^[1-9][0-9]*[kmgtKMGT]$",
        description="Heap of the driver when this command starts the JVM itself, such as 2g or 1500m.",
    )
    driver_java_options: str = Field("", description="Further options of a JVM that this command starts itself.")
    shuffle_partitions: int = Field(
        2, ge=1, description="State partitions of detect and fleet; fixed by the first checkpoint."
    )
    detect_trigger: Interval = Field("500 milliseconds", description="Trigger of detect.")
    fleet_trigger: Interval = Field("15 seconds", description="Trigger of fleet.")
    fast_lane_batch: Interval = Field(
        "5 minutes", description="Batch duration of the real-time fast lane, at least 5 seconds."
    )
    fast_lane_mode: Literal["real_time", "micro_batch"] = Field(
        "real_time", description="Spark's real-time mode, or micro-batches, the fallback on platforms that refuse it."
    )
    fast_lane_trigger: Interval = Field("200 milliseconds", description="Trigger of fast_lane in micro-batches.")
    store_trigger: Interval = Field("30 seconds", description="Trigger of store.")
    store_max_records: int = Field(
        1_000_000,
        ge=1_000,
        description="Maximum number of records in one batch of store; the next batch reads the rest.",
    )
    store_inventory_trigger: Interval = Field("60 seconds", description="Trigger of store_inventory.")
    recommend_trigger: Interval = Field("1 second", description="Trigger of recommend.")
    recommend_interval_ms: int = Field(
        15_000, ge=100, description="Interval at which open alerts are planned again without new input."
    )
    pipeline_interval_ms: int = Field(
        10_000,
        ge=0,
        description="Interval at which the stream checks its own queries; 0: never, and detect runs empty batches.",
    )
    listen: Listen | None = Field(
        None, description="host:port of /metrics for Prometheus, /health and /ready; null: none."
    )
    starting_offsets: str = Field(
        "earliest", pattern="^(earliest|latest)$", description="Where a query without a checkpoint begins."
    )
    restart_backoff_max_ms: int = Field(60_000, ge=100, description="Maximum pause before a failed query restarts.")
    stop_timeout_ms: int = Field(
        10_000, ge=100, description="How long SIGTERM waits for batches; an interrupted one runs again."
    )
    extra: dict[str, str] = Field({}, description="Further Spark configuration.")

    @property
    def is_real_time(self) -> bool:
        """Whether fast_lane runs in real-time mode, in which it never releases its task slots."""
        return self.fast_lane_mode == "real_time"


class CheckpointSettings(Section):
    """Where the queries keep their checkpoints."""

    path: str = Field("checkpoints", min_length=1, description="Folder or object store URL; one folder per query.")
