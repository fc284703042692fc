"""Thresholds and waiting times of the state machine."""

from fnmatch import fnmatchcase

from pydantic import Field, model_validator

from logdirwatch.config.section import DAY_MS, GIB, HOUR_MS, MIB, TIB, Ms, Ratio, Section


class Thresholds(Section):
    """When a log directory is filling, critical or saturated, by used ratio; large ones by free bytes."""

    filling_ratio: Ratio = Field(0.75, description="Used ratio from which a log directory is filling.")
    critical_ratio: Ratio = Field(0.85, description="Used ratio from which a log directory is critical.")
    saturated_ratio: Ratio = Field(0.95, description="Used ratio from which a log directory is saturated.")
    back_ratio: Ratio = Field(
        0.05, description="How far below a threshold the ratio must fall before the level goes back."
    )
    large_from_bytes: int = Field(
        4 * TIB,
        gt=0,
        description="Log directories above this size are judged by free bytes if that threshold is reached later.",
    )
    large_critical_free_bytes: int = Field(
        400 * GIB, ge=0, description="Free bytes below which a large one is critical."
    )
    large_saturated_free_bytes: int = Field(
        100 * GIB, ge=0, description="Free bytes below which a large one is saturated."
    )
    filling_within_ms: Ms = Field(
        4 * DAY_MS, description="Time to full, by the forecast, from which a log directory is filling; 0: never."
    )
    critical_within_ms: Ms = Field(
        DAY_MS, description="Time to full, by the forecast, from which a log directory is critical; 0: never."
    )
    page_within_ms: Ms = Field(
        HOUR_MS,
        description="Time to full from which the alert of a filling log directory is a page, at any level: the "
        "time somebody needs to react at night; 0: never.",
    )
    reserve_bytes: int = Field(
        40 * MIB, ge=0, description="Free bytes below which a directory counts as full (KIP-928's reserve)."
    )
    reserve_ratio: Ratio = Field(0.05, description="Upper bound of the reserve as a share of a small directory.")

    @model_validator(mode="after")
    def _ordered(self) -> "Thresholds":
        if not self.filling_ratio < self.critical_ratio < self.saturated_ratio:
            msg = "filling_ratio, critical_ratio and saturated_ratio must rise in this order"
            raise ValueError(msg)
        if self.back_ratio >= self.filling_ratio:
            msg = "back_ratio must be below filling_ratio: no ratio is low enough for a level to go back"
            raise ValueError(msg)
        return self

    def reserve_of(self, total_bytes: int) -> int:
        """Return the free bytes below which a directory of ``total_bytes`` counts as full."""
        return min(self.reserve_bytes, int(total_bytes * self.reserve_ratio))


class ThresholdRule(Section):
    """Other thresholds for the clusters and log directories that match shell patterns."""

    cluster: str = Field("*", description="Shell pattern of cluster names.")
    log_dir: str = Field("*", description="Shell pattern of log directory paths.")
    thresholds: Thresholds


class PipelineSettings(Section):
    """Thresholds for the stream's own queries."""

    lag_ms: int = Field(
        120_000, gt=0, description="How long a query may be behind, beyond its trigger, before pipeline_lagging fires."
    )
    lag_hold_ms: Ms = Field(60_000, description="How long the lag must be below half of that before the alert ends.")
    rejects_limit: int = Field(
        10, ge=1, description="Records that could not be read within the window from which pipeline_rejects fires."
    )
    rejects_window_ms: Ms = Field(300_000, description="Length of that window.")
    loss_hold_ms: Ms = Field(
        HOUR_MS, description="How long no more records must be lost before pipeline_data_loss ends."
    )


class DetectSettings(Section):
    """Settings of ``detect``."""

    thresholds: Thresholds = Thresholds()
    pipeline: PipelineSettings = PipelineSettings()
    rules: tuple[ThresholdRule, ...] = Field((), description="Exceptions; the first match applies.")
    debounce_samples: int = Field(
        2, ge=1, description="Samples in a row before a level between online and saturated changes."
    )
    failure_polls: int = Field(3, ge=1, description="Polls in a row without an answer before broker_unknown fires.")
    silence_min_ms: Ms = Field(
        30_000,
        description="Minimum silence (or three polls) after which a broker is unknown because no collector reports it.",
    )
    event_wait_ms: Ms = Field(
        60_000, description="How long a LogDirFailure without a directory waits for one to go offline."
    )
    broker_offline_grace_ms: Ms = Field(
        300_000, description="How long a broker may be away before broker_offline fires."
    )
    recovery_max_ms: Ms = Field(
        HOUR_MS, description="Maximum duration of a broker's log recovery; all progress restarts the grace period."
    )
    maintenance_max_ms: Ms = Field(7 * DAY_MS, description="Maximum duration of a maintenance; a longer one ends then.")
    late_timer_ms: Ms = Field(
        60_000,
        description="A timer this late means that the query itself was down; silence is then counted from the start.",
    )
    state_refresh_ms: Ms = Field(30_000, description="How often an unchanged broker is written to logdir.state again.")
    flapping_times: int = Field(
        3, ge=2, description="Number of ends of one alert within an hour from which it counts as flapping."
    )
    flapping_hold_ms: Ms = Field(
        600_000, description="How long a flapping alert's evidence must stay good before the alert ends."
    )
    unaccounted_ratio: Ratio = Field(
        0.15, description="Share of a volume that no replica accounts for from which unaccounted_bytes fires."
    )
    unaccounted_after_ms: Ms = Field(
        900_000, description="How long that must last: deleted segments and topics are removed with a delay."
    )
    changed_hold_ms: Ms = Field(
        DAY_MS, description="How long a new capacity must last before log_dir_changed ends by itself."
    )
    slow_factor: float = Field(
        5.0, gt=1, description="Factor over its usual duration from which a flush or probe makes a disk suspect."
    )
    slow_min_ms: float = Field(100.0, ge=0, description="A flush or probe shorter than this is never suspect.")
    slow_samples: int = Field(3, ge=1, description="Slow samples in a row before a disk is suspect.")
    kernel_hold_ms: Ms = Field(
        21 * DAY_MS,
        description="How long a kernel error that does not resolve by itself (an unreadable sector, a "
        "corrupt file system) must not occur again before it no longer makes a disk suspect.",
    )
    kernel_calm_ms: Ms = Field(
        2 * HOUR_MS,
        description="How long one that resolves by itself (a lost path, a silent server, a hung task) must not occur "
        "again, while probes pass, before it no longer makes a disk suspect.",
    )
    lagging_ratio: Ratio = Field(
        0.1,
        description="Share of a directory's replicas that must be out of sync for the directory to be suspect, while "
        "those of the broker's other directories keep up.",
    )
    lagging_replicas_min: int = Field(3, ge=1, description="Minimum number of such replicas.")
    placement_queue_ms: Ms = Field(
        60_000,
        description="How long reports of replica placement may wait in a broker (QueuedReplicaToDirAssignments).",
    )
    imbalance_ratio: Ratio = Field(
        0.3,
        description="Minimum difference between the used ratios of a broker's fullest and emptiest directory for "
        "log_dir_imbalance.",
    )
    imbalance_from_ratio: Ratio = Field(
        0.5, description="Minimum used ratio of the fullest directory for log_dir_imbalance."
    )
    imbalance_back_ratio: Ratio = Field(0.05, description="How far below these two limits log_dir_imbalance ends.")
    imbalance_after_ms: Ms = Field(
        HOUR_MS, description="How long that difference must last before log_dir_imbalance fires."
    )
    move_stalled_after_ms: Ms = Field(
        900_000, description="How long running moves to a directory may make no progress before move_stalled fires."
    )
    move_max_ms: Ms = Field(
        DAY_MS, description="Remaining time of running moves, at their present rate, from which move_stalled fires."
    )
    throttle_left_after_ms: Ms = Field(
        1_800_000, description="How long throttles may stay set while nothing moves before throttle_left fires."
    )
    kept_throttles: tuple[str, ...] = Field(
        (),
        description="Throttles that are intentional, by their key, such as leader.replication.throttled.rate; "
        "throttled_replicas means the topics' lists.",
    )
    partition_failed_hold_ms: Ms = Field(
        DAY_MS, description="How long a failed partition must not fail again before partition_failed ends."
    )
    clock_skew_ms: Ms = Field(
        60_000, description="How far a record's time may be ahead of Kafka's before Kafka's replaces it."
    )

    def reserve_of(self, cluster: str, log_dir: str, total_bytes: int) -> int:
        """Return the free bytes below which one log directory of ``total_bytes`` counts as full."""
        return self.thresholds_for(cluster, log_dir).reserve_of(total_bytes)

    def thresholds_for(self, cluster: str, log_dir: str) -> Thresholds:
        """Return the thresholds of one log directory."""
        for rule in self.rules:
            if fnmatchcase(cluster, rule.cluster) and fnmatchcase(log_dir, rule.log_dir):
                return rule.thresholds
        return self.thresholds
