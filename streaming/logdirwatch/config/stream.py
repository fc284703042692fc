"""How the stream runs, and where its checkpoints are."""

from typing import Literal

from pydantic import Field

from logdirwatch.config.listen import Listen
from logdirwatch.config.section import Section


class StreamSettings(Section):
    """How the Spark application runs."""

    master: str | None = Field("local[8,4]", description="Spark master; null where spark-submit or Databricks sets it.")
    driver_memory: str = Field("2g", description="Heap of the driver when this command starts the JVM itself.")
    driver_java_options: str = Field("", description="Further options of a JVM that this command starts itself.")
    shuffle_partitions: int = Field(
        2, ge=1, description="State partitions of detect and fleet; fixed by the first checkpoint."
    )
    detect_trigger: str = Field("500 milliseconds", description="Trigger of detect.")
    fleet_trigger: str = Field("15 seconds", description="Trigger of fleet.")
    fast_lane_batch: str = Field(
        "5 minutes", description="Batch duration of the real-time fast lane, at least 5 seconds."
    )
    fast_lane_mode: Literal["real_time", "micro_batch"] = Field(
        "real_time",
        description="Spark's real-time mode, or micro-batches, which it falls back to where a platform refuses.",
    )
    fast_lane_trigger: str = Field("0 seconds", description="Trigger of fast_lane in micro-batches.")
    store_trigger: str = Field("30 seconds", description="Trigger of store.")
    store_max_records: int = Field(
        1_000_000, ge=1_000, description="Most records that one batch of store reads; the rest is the next one's."
    )
    store_inventory_trigger: str = Field("60 seconds", description="Trigger of store_inventory.")
    recommend_trigger: str = Field("1 second", description="Trigger of recommend.")
    recommend_interval_ms: int = Field(
        15_000, ge=100, description="Time between two looks at open alerts without new input."
    )
    pipeline_interval_ms: int = Field(
        10_000, ge=0, description="Time between two looks of the stream at its own queries; 0: it takes none."
    )
    listen: Listen | None = Field(
        None, description="host:port of /metrics for Prometheus, /health and /ready; null: none."
    )
    starting_offsets: str = Field(
        "earliest", pattern="^(earliest|latest)$", description="Where a query without checkpoint begins."
    )
    restart_backoff_max_ms: int = Field(60_000, ge=100, description="Longest pause before a failed query starts again.")
    stop_timeout_ms: int = Field(
        10_000,
        ge=100,
        description="How long SIGTERM waits for batches; one that is cut is done anew.",
    )
    extra: dict[str, str] = Field({}, description="Further Spark configuration.")

    @property
    def is_real_time(self) -> bool:
        """Whether fast_lane is to run in real-time mode, in which it never gives its task slots back."""
        return self.fast_lane_mode == "real_time"


class CheckpointSettings(Section):
    """Where the queries keep their checkpoints."""

    path: str = Field("checkpoints", description="Folder or object store URL; one folder a query.")
