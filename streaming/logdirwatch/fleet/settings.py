"""How ``fleet`` judges; the thresholds of directories are those of ``detect``."""

from pydantic import Field

from logdirwatch.config.section import Ms, Ratio, Section


class FleetSettings(Section):
    """Thresholds and waiting times for judging clusters."""

    silence_gather_ms: Ms = Field(
        20_000,
        description="How long fleet waits after a broker falls silent to see whether all do: then they get one alert.",
    )
    risk_after_ms: Ms = Field(
        10_000, description="How long partitions must be in danger before partitions_at_risk fires."
    )
    risk_hold_ms: Ms = Field(
        120_000, description="How long no partition must be in danger before partitions_at_risk ends."
    )
    space_brokers_ratio: Ratio = Field(
        0.25, description="Share of a cluster's brokers with a filling directory from which fleet_space may fire."
    )
    space_brokers_min: int = Field(2, ge=1, description="Minimum number of such brokers.")
    space_after_ms: Ms = Field(300_000, description="How long space must be short before fleet_space fires.")
    space_hold_ms: Ms = Field(600_000, description="How long there must be enough space before fleet_space ends.")
    peers_min: int = Field(
        3, ge=2, description="Number of other brokers with a known flush time that it takes for one to stand out."
    )
    peers_after_ms: Ms = Field(180_000, description="How long a broker must stand out before log_dir_suspect fires.")
    peers_hold_ms: Ms = Field(300_000, description="How long no broker must stand out before log_dir_suspect ends.")
    restart_brokers_min: int = Field(
        2, ge=1, description="Number of brokers away and back within the grace period that make a rolling restart."
    )
    restart_window_ms: Ms = Field(
        900_000,
        description="How long after one broker's restart the next still belongs to the same rolling restart; 0: never.",
    )
    update_interval_ms: Ms = Field(
        60_000,
        description="How often an alert is revised for small changes of its numbers; doubled ones count at once.",
    )
