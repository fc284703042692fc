"""Settings of recommendations: their limits, and how commands are written."""

from fnmatch import fnmatchcase
from typing import Literal

from pydantic import Field, model_validator

from logdirwatch.config.section import DAY_MS, Ms, Ratio, Section
from logdirwatch.config.servers import Servers


class TopicRule(Section):
    """Limits for topics, set by their owner; the first rule that matches a topic applies."""

    cluster: str = Field("*", description="Shell pattern of cluster names.")
    topic: str = Field("*", description="Shell pattern of topic names.")
    owner: str | None = Field(None, description="The owner of the topic; every action about it names the owner.")
    never_touch: bool = Field(False, description="Whether no recommendation may name the topic.")
    min_retention_bytes: int | None = Field(
        None, ge=0, description="Bytes of each partition that no cut goes below; null: one segment."
    )
    min_retention_ms: Ms | None = Field(
        None, description="History that no cut goes below, instead of plan.min_retention_ms."
    )


class LogDirRule(Section):
    """Facts about log directories that Kafka does not report; the first rule that matches applies."""

    cluster: str = Field("*", description="Shell pattern of cluster names.")
    broker: int | None = Field(None, ge=0, description="Broker id; null: every broker.")
    log_dir: str = Field("*", description="Shell pattern of log directory paths.")
    destination: bool = Field(
        True,
        description="Whether plans put replicas there; false marks a directory that is not trusted. Kafka itself does "
        "not know of it: cordon the directory as well where that can be.",
    )
    reserve_file: str | None = Field(
        None,
        pattern="^[^/]+$",
        description="Name of a plain file in the directory that only takes up space, to be given up when it is full.",
    )
    reserve_bytes: int | None = Field(None, gt=0, description="Size of that file.")
    max_bytes: int | None = Field(None, gt=0, description="Largest size that the volume can be grown to.")
    growing_takes_ms: Ms | None = Field(
        None,
        description="How long it takes until a bigger volume can be used, or one more, waiting times of the cloud "
        "included.",
    )

    @property
    def reserve(self) -> tuple[str, int] | None:
        """The name and size in bytes of the reserve file; None if there is none."""
        if self.reserve_file is None or self.reserve_bytes is None:
            return None
        return self.reserve_file, self.reserve_bytes

    @model_validator(mode="after")
    def _has_a_size(self) -> "LogDirRule":
        if (self.reserve_file is None) != (self.reserve_bytes is None):
            msg = "reserve_file and reserve_bytes go together"
            raise ValueError(msg)
        return self


class PlanSettings(Section):
    """Limits of the planner."""

    target_ratio: Ratio = Field(
        0.70, description="Used ratio that moves and bigger volumes should bring a directory down to."
    )
    destination_max_ratio: Ratio = Field(
        0.85, description="No plan fills a destination above this, copies in flight and its own growth counted."
    )
    cut_ratio: Ratio = Field(
        0.85,
        description="Used ratio that a retention cut brings a directory down to where nothing that loses no data is in "
        "time: a cut buys time, the target is for moves and bigger volumes.",
    )
    min_retention_ms: Ms = Field(
        3_600_000,
        description="History that no retention cut goes below where the write rate is known; where it is not, a cut "
        "leaves at least half of the bytes and says so, and all of them where a topic has a minimum of its own.",
    )
    internal_topics: tuple[str, ...] = Field(
        ("__*", "_schemas"), description="Shell patterns of topics that are never candidates for retention or balance."
    )
    never_touch: tuple[str, ...] = Field((), description="Shell patterns of topics that no recommendation names.")
    topics: tuple[TopicRule, ...] = Field((), description="Exceptions for topics, the first that matches holds.")
    log_dirs: tuple[LogDirRule, ...] = Field(
        (), description="Marks, reserve files, limits of volumes; the first that matches a log directory holds."
    )
    spare_unread: bool = Field(
        True,
        description="Whether cuts of retention stop at what a consumer group has still to read; false: they go on, "
        "and have a veto where a group is behind.",
    )
    retention_spread: Literal["proportional", "evenly", "fewest_topics"] = Field(
        "proportional",
        description="Who loses history to a retention cut: proportional (also called evenly): every topic gives the "
        "same share of what it can give; fewest_topics: the topic that has most to give gives first, since every "
        "topic has an owner to be asked. Topics whose local copy alone goes always come first.",
    )
    retention_topics: int = Field(
        10,
        ge=1,
        description="Most topics that the cuts for one alert name, those that can give most. proportional names more "
        "where these would lose more than half of what they can give.",
    )
    fleet_cuts_last_ms: Ms = Field(
        2 * DAY_MS,
        description="The time that it takes to add room. Directories should last as long after the cuts for a whole "
        "cluster that fills, none is emptied below target_ratio for it; and no cut is ready for one that lasts longer "
        "while its volume can grow.",
    )
    log_dir_throttle_bytes_per_s: int = Field(
        50_000_000, gt=0, description="Usual rate of moves between the log directories of one broker."
    )
    replication_throttle_bytes_per_s: int = Field(50_000_000, gt=0, description="Usual rate of moves between brokers.")
    disk_bandwidth_bytes_per_s: int | None = Field(
        None,
        gt=0,
        description="What a disk can write. Moves get what is left of it: more than usual when time is short, never "
        "more than is spare. null: not known, the usual rate holds.",
    )
    network_bandwidth_bytes_per_s: int | None = Field(
        None, gt=0, description="The same for a broker's network, and moves between brokers."
    )
    partitions_per_reassignment: int = Field(
        500, ge=1, description="Most partitions in one plan for lost replicas; the rest follows when these are rebuilt."
    )
    rebuild_after_ms: Ms = Field(
        1_800_000,
        description="How long a broker must be offline before its replicas are rebuilt on others: most brokers return.",
    )
    inventory_max_age_scans: int = Field(
        3, ge=1, description="Facts older than this many inventories, and the delay below, are not planned on."
    )
    inventory_delay_ms: Ms = Field(60_000, description="How long an inventory may take to reach the tables.")
    expires_after_ms: Ms = Field(1_800_000, description="How long a proposed action stays valid.")

    def for_cluster(self, cluster: str) -> "PlanSettings":
        """Return the settings with only the rules of one cluster."""
        return self.model_copy(
            update={
                "topics": tuple(rule for rule in self.topics if fnmatchcase(cluster, rule.cluster)),
                "log_dirs": tuple(rule for rule in self.log_dirs if fnmatchcase(cluster, rule.cluster)),
            }
        )

    def topic_rule(self, topic: str) -> TopicRule:
        """Return the rule that applies to a topic."""
        return next((rule for rule in self.topics if fnmatchcase(topic, rule.topic)), _PLAIN_TOPIC)

    def log_dir_rule(self, broker: int, log_dir: str) -> LogDirRule:
        """Return the rule that applies to a log directory."""
        matching = (
            rule for rule in self.log_dirs if rule.broker in {None, broker} and fnmatchcase(log_dir, rule.log_dir)
        )
        return next(matching, _PLAIN_LOG_DIR)


_PLAIN_TOPIC = TopicRule()
_PLAIN_LOG_DIR = LogDirRule()


class StrimziSettings(Section):
    """Where to find the resources of a cluster whose owner is ``strimzi``."""

    kubectl: str = Field("kubectl", description="Command in place of kubectl, such as kubectl --context prod.")
    namespace: str | None = Field(None, description="Namespace of the Kafka resource; null: commands ask for it.")
    cluster: str | None = Field(None, description="Name of the Kafka resource; null: the name of the cluster here.")


class ToolSettings(Section):
    """How commands for one cluster are written."""

    prefix: str = Field("", description="Put before each tool: a folder ending in / or a kubectl exec line.")
    suffix: str = Field(
        ".sh", description="Put behind each tool's name: .sh as in Kafka's tarball, empty as in packages."
    )
    bootstrap_servers: Servers | None = Field(
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
    host_command: str | None = Field(
        None,
        description="Command that runs the script on its standard input on a broker's host, such as "
        "ssh kafka-{broker} sh -s; {broker} is its id; null: such steps stay notes.",
    )
