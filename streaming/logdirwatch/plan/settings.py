"""What recommendations may propose and how their commands are written."""

from pydantic import Field

from logdirwatch.detect.settings import Ms, Ratio, Section


class PlanSettings(Section):
    """Limits of the planner."""

    target_ratio: Ratio = Field(
        0.70, description="Used ratio that a move or a retention cut should bring a directory down to."
    )
    destination_max_ratio: Ratio = Field(
        0.85, description="No plan fills a destination above this, copies in flight counted."
    )
    min_retention_ms: Ms = Field(
        3_600_000, description="History that a retention cut should leave; one that may leave less says so."
    )
    internal_topics: tuple[str, ...] = Field(
        ("__*", "_schemas"), description="Shell patterns of topics that are never candidates for retention or balance."
    )
    never_touch: tuple[str, ...] = Field((), description="Shell patterns of topics that no recommendation names.")
    log_dir_throttle_bytes_per_s: int = Field(
        50_000_000, gt=0, description="Rate of moves between the log directories of one broker."
    )
    replication_throttle_bytes_per_s: int = Field(50_000_000, gt=0, description="Rate of moves between brokers.")
    inventory_max_age_scans: int = Field(
        3, ge=1, description="Facts older than this many inventories, and the delay below, are not planned on."
    )
    inventory_delay_ms: Ms = Field(60_000, description="How long an inventory may take to reach the tables.")
    expires_after_ms: Ms = Field(1_800_000, description="How long a proposed action stays valid.")


class ToolSettings(Section):
    """How a command for one cluster is written."""

    prefix: str = Field("", description="Put before each tool: a folder ending in / or a kubectl exec line.")
    suffix: str = Field(
        ".sh", description="Put behind each tool's name: .sh as in Kafka's tarball, empty as in packages."
    )
    bootstrap_servers: str | None = Field(
        None, description="Address the tools use when it differs from the collector's."
    )
    command_config: str | None = Field(None, description="Path of the tools' --command-config file.")
    timeout_ms: int = Field(60_000, gt=0, description="--timeout of reassignments that place replicas in directories.")
    server_config: str | None = Field(
        None, description="Path of a broker's server.properties on its host; null: the formatting step stays a note."
    )
    stop_command: str | None = Field(
        None, description="Command that stops a broker, {broker} is its id; null: the step stays a note."
    )
    start_command: str | None = Field(
        None, description="Command that starts a broker, {broker} is its id; null: the step stays a note."
    )
