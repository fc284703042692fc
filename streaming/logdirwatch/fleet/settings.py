"""How ``fleet`` judges; the thresholds of directories are those of ``detect``."""

from pydantic import Field

from logdirwatch.config.section import Ms, Ratio, Section


class FleetSettings(Section):
    """Shares and waiting times of the judgement of clusters."""

    silence_gather_ms: Ms = Field(
        20_000,
        description="How long fleet waits, once a broker is silent, to see whether all are: then it is one alert.",
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
    space_brokers_min: int = Field(2, ge=1, description="Number of such brokers that it takes at least.")
    space_after_ms: Ms = Field(300_000, description="How long space must be short before fleet_space fires.")
    space_hold_ms: Ms = Field(600_000, description="How long space must suffice before fleet_space ends.")
    peers_min: int = Field(
        3, ge=2, description="Number of other brokers that must tell how long they flush before one may stand out."
    )
    peers_after_ms: Ms = Field(180_000, description="How long it must stand out before log_dir_suspect fires.")
    peers_hold_ms: Ms = Field(300_000, description="How long none must stand out before it ends.")
    restart_brokers_min: int = Field(
        2, ge=1, description="Number of brokers away and back within the grace from which it is a rolling restart."
    )
    restart_window_ms: Ms = Field(
        900_000,
        description="How long after one broker's restart the next one belongs to the same rolling restart; 0: never.",
    )
    update_interval_ms: Ms = Field(
        60_000, description="How often an alert tells of numbers that moved a little; doubled ones are told at once."
    )
