"""What the collector polls, how often, and how long it waits."""

import socket

from pydantic import Field

from logdirwatch.detect.settings import Ms, Section


class CollectSettings(Section):
    """How ``logdirwatch collect`` polls."""

    collector: str = Field(
        default_factory=socket.gethostname,
        min_length=1,
        description="Name of this collector; two may watch one cluster.",
    )
    metrics_interval_ms: int = Field(5_000, ge=100, description="Time between two polls of a broker's directories.")
    inventory_interval_ms: int = Field(
        60_000, ge=100, description="Time between two scans of replicas, topics and configs."
    )
    partitions_interval_ms: int = Field(5_000, ge=100, description="Time between two looks at partition health.")
    request_timeout_ms: int = Field(4_000, ge=100, description="How long one broker may take to answer.")
    inventory_timeout_ms: int = Field(
        30_000, ge=100, description="How long one broker may take to list its replicas, topics or configs."
    )
    heartbeat_interval_ms: int = Field(
        10_000, ge=100, description="Time between two heartbeats through the whole path."
    )
    canary_interval_ms: int = Field(3_600_000, ge=1_000, description="Time between two proofs of the fast lane.")
    buffer_records: int = Field(
        100_000, ge=1, description="Records kept while the telemetry cluster is away; the oldest go first."
    )
    backoff_max_ms: Ms = Field(30_000, description="Longest pause between two attempts at a cluster that is away.")
    record_max_bytes: int = Field(900_000, ge=1_000, description="Inventory records are split before they exceed this.")
