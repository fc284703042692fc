"""Every Delta table by name.

Times are epoch milliseconds in columns ending ``_ms``, sizes are bytes in columns ending ``_bytes``; null means
unknown. Values of varying structure are JSON text. A line ``= NAME NAME`` stands for fields of the table's record.
"""

from logdirwatch.model.records import (
    ActionRecord,
    AlertRecord,
    DecisionRecord,
    ExecutionRecord,
    LogDirView,
    StateRecord,
    Transition,
)
from logdirwatch.store.schema.columns import SOURCE, Table, columns, of

BROKER_STATE = Table(
    "broker_state",
    "Present state of each broker; one row per broker, from the state record with the highest sequence",
    of(StateRecord)("""
        = cluster broker sequence status reason since_ms at_ms last_seen_ms collector host rack is_fenced kafka_version
        = metadata_version metadata_mode not_reported controller_id
        log_dir_count        int     Number of its log directories
        offline_log_dirs     int     How many of them are offline
        leaderless           bigint  Partitions without a leader whose preferred leader it is
        under_min_isr        bigint  Partitions it hosts with fewer in-sync replicas than min.insync.replicas
        at_min_isr           bigint  Partitions it hosts with exactly min.insync.replicas in sync
        sole_replica         bigint  Partitions it hosts with one replica in sync
        internal_leaderless  bigint  Internal partitions among the leaderless
        partition_examples   array<string>       Some partitions at risk
        = maintenance_until_ms maintenance_by maintenance_reason recovering_logs remote_copy_lag_bytes
        configs              map<string,string>  Broker configuration from the last inventory scan
        configs_at_ms        bigint  Time of that scan
        record               string  The state record itself, JSON; detect can start again from it
    """)
    + SOURCE,
    key=("cluster", "broker"),
    clustered_by=("cluster", "broker"),
)

LOG_DIR_STATE = Table(
    "log_dir_state",
    "Present state of each log directory; one row per directory in its broker's newest state record",
    of(LogDirView)("""
        cluster             string  Kafka cluster, by its name in the configuration
        broker              int     Broker id
        log_dir             string  Path of the directory, as log.dirs spells it
        sequence            bigint  Number of the broker's state record
        at_ms               bigint  Time of the newest evidence behind that record
        = status cause reason since_ms sample_at_ms last_seen_ms last_status last_proof_ms error_code total_bytes
        = usable_bytes used_ratio replica_count replica_bytes future_bytes incoming_bytes outgoing_bytes
        = unaccounted_bytes growth_bytes_per_s lasting_growth_bytes_per_s full_at_ms forecast_confidence volume
        = is_cordoned is_metadata_dir strays capacity_source
    """)
    + SOURCE,
    key=("cluster", "broker", "log_dir"),
    clustered_by=("cluster", "broker"),
)

REPLICA_STATE = Table(
    "replica_state",
    "Present state of each replica: last known placement, its directory's status, and its metadata",
    columns("""
        cluster         string  Kafka cluster, by its name in the configuration
        broker          int     Broker id
        topic           string  Topic
        partition       int     Partition
        is_future       boolean Whether this is the copy in progress of a move between directories
        log_dir         string  Last known directory; null when no directory of the broker lists the replica
        size_bytes      bigint  Bytes of its live segments when last listed
        offset_lag      bigint  Lag in records: of a replica to the high watermark, of a copy to its original
        status          string  online, saturated, offline, moving or unknown
        cause           string  Why it is not online: directory, broker, never_listed, lost or unknown
        is_leader       boolean Whether it leads its partition; null: the metadata is unknown
        in_isr          boolean Whether it is in sync
        is_listed       boolean Whether Kafka lists it now; false: this is its last known placement, or it has none
        inventory_at_ms bigint  Scan that first reported these values; log_dir_inventory has the newest scan
        status_at_ms    bigint  When its status began
        was_listed      boolean Whether a directory listed it before, if none does now; null: one does, or unknown
    """)
    + SOURCE,
    key=("cluster", "broker", "topic", "partition", "is_future"),
    clustered_by=("cluster", "broker"),
)

TOPIC_STATE = Table(
    "topic_state",
    "Present state of each partition, with its topic's configuration; topics missing in a complete scan are removed",
    columns("""
        cluster              string     Kafka cluster, by its name in the configuration
        topic                string     Topic
        partition            int        Partition
        leader               int        Broker that leads it; null when there is none
        replicas             array<int> Brokers it is assigned to, the preferred leader first
        isr                  array<int> Brokers in sync
        offline_replicas     array<int> Brokers whose replica Kafka calls offline, by broker or by directory
        elr                  array<int> Eligible leader replicas (KIP-966)
        last_known_elr       array<int> Last known eligible leader replicas
        adding               array<int> Brokers that a running reassignment adds; null: unknown
        removing             array<int> Brokers that a running reassignment removes; null: unknown
        groups               int        Consumer and share groups that read it; null: unknown
        slowest_group        string     Consumer or share group with the most unread records
        unread_ratio         double     Share of its offsets that this group has not read, in steps of 0.05
        is_leaderless        boolean    Whether it has no leader
        is_under_min_isr     boolean    Whether fewer replicas are in sync than min.insync.replicas
        is_at_min_isr        boolean    Whether exactly min.insync.replicas are in sync
        is_sole_replica      boolean    Whether exactly one replica is in sync
        min_insync_replicas  int        min.insync.replicas of the topic
        is_internal          boolean    Whether Kafka calls the topic internal
        configs              map<string,string>  Topic configuration in effect
        overridden           array<string>       Keys of configs that are set on the topic itself; null: unknown
        topic_id             string     Kafka's id of the topic (KIP-516); null: unknown
        inventory_at_ms      bigint     Scan that first reported these values; log_dir_inventory has the newest scan
    """)
    + SOURCE,
    key=("cluster", "topic", "partition"),
    clustered_by=("cluster", "topic"),
)

LOG_DIR_INVENTORY = Table(
    "log_dir_inventory",
    "Which scan last listed each log directory completely; a row without broker: the last complete scan of topics",
    columns("""
        cluster          string  Kafka cluster, by its name in the configuration
        broker           int     Broker id; null in the row of the cluster's topics
        log_dir          string  Path of the directory; null in the row of the cluster's topics
        inventory_at_ms  bigint  Time of the scan
        listed           bigint  Replicas or topics that it listed
        collector        string  Collector that scanned
    """)
    + SOURCE,
    key=("cluster", "broker", "log_dir"),
    clustered_by=("cluster", "broker"),
)


# The columns of ``log_dir_samples`` that a kind of row fills besides those of its directory; a poll fills the first
# two.
OF_POLL_AND_LOG_DIR = ("cluster", "broker", "collector", "timestamp_ms", "status", "error", "interval_ms")
OF_POLL = (
    "host",
    "rack",
    "is_fenced",
    "is_registered",
    "controller_id",
    "controller_at_ms",
    "kafka_version",
    "metadata_version",
    "metrics",
    "configs",
)
OF_HOST = ("cluster", "broker", "collector", "timestamp_ms", "interval_ms", "host")
OF_EVENT = ("cluster", "broker", "log_dir", "timestamp_ms", "event", "cause", "detail", "topic", "partition")

LOG_DIR_SAMPLES = Table(
    "log_dir_samples",
    "Every input of the state machine: one row per poll, directory of a poll, event, and directory seen by a host",
    columns("""
        cluster             string  Kafka cluster, by its name in the configuration
        broker              int     Broker id
        log_dir             string  Path of the directory; null in a poll's own row and in events that name none
        collector           string  Collector; of an event COLLECTOR/EVENT, or COLLECTOR/EVENT/TOPIC-PARTITION
        timestamp_ms        bigint  Time of the poll or event
        kind                string  poll, log_dir, event, or host: an observation of the source on the broker's host
        status              string  Result of the poll: ok, timeout, unauthorized or error; null in events
        error               string  Error, when the result is not ok
        interval_ms         bigint  Time to the collector's next poll
        host                string  Poll: host that the broker advertises
        rack                string  Poll: rack that the broker names
        is_fenced           boolean Poll: whether the controller fences the broker
        is_registered       boolean Poll: whether the broker is registered
        controller_id       bigint  Poll: the active controller
        controller_at_ms    bigint  Poll: time of the controller's answer
        kafka_version       string  Poll: version of Kafka the broker runs
        metadata_version    string  Poll: metadata.version that the cluster has finalized
        partitions          string  Poll: partitions at risk that the broker hosts, JSON
        metrics             map<string,double>  Poll: broker metrics by name
        configs             map<string,string>  Poll: broker configuration, once per inventory scan
        moves               string  Poll: running moves and the throttles set for them at the last scan, JSON
        error_code          int     Directory: error code of DescribeLogDirs, 0 for none
        total_bytes         bigint  Directory: size of its volume
        usable_bytes        bigint  Directory: bytes that the broker can still write
        is_cordoned         boolean Directory: whether Kafka places no new replicas in it
        is_metadata_dir     boolean Directory: whether the metadata log lies in it
        replica_count       bigint  Directory: replicas in it at the last scan
        replica_bytes       bigint  Directory: bytes of those replicas
        future_bytes        bigint  Directory: bytes of copies in progress
        incoming_bytes      bigint  Directory: bytes that running moves still add
        outgoing_bytes      bigint  Directory: bytes that running moves will remove
        out_of_sync_count   bigint  Directory: replicas that lag behind their leaders at the last scan
        capacity_source     string  Directory: configuration, where Kafka does not report its size; null: Kafka does
        volume              string  Host: name of the file system
        is_root_volume      boolean Host: whether that is the root file system
        is_read_only        boolean Host: whether it is mounted read-only
        total_inodes        bigint  Host: inodes of the file system
        free_inodes         bigint  Host: inodes left
        probe_ms            double  Host: how long writing, syncing and reading 4 KiB took
        probe_error         string  Host: why that failed
        is_reserve_there    boolean Host: whether the configured reserve file has its size
        event               string  Event: its name, such as LogDirFailure, PartitionFailed or BrokerFailure
        cause               string  Event: cause given by its sender
        detail              string  Event: details given by its sender
        topic               string  Event: topic of a failed partition
        partition           int     Event: number of a failed partition
        kafka_timestamp_ms  bigint  Kafka's own time of the record
    """)
    + SOURCE,
    key=("cluster", "broker", "log_dir", "collector", "timestamp_ms"),
    clustered_by=("cluster", "broker", "timestamp_ms"),
    time="timestamp_ms",
)

TRANSITIONS = Table(
    "transitions",
    "Every change of status of a broker or log directory",
    of(Transition)("""
        = transition_id cluster broker log_dir from_status to_status cause reason at_ms origin
    """)
    + SOURCE,
    key=("transition_id",),
    clustered_by=("cluster", "at_ms"),
    time="at_ms",
)

ALERTS = Table(
    "alerts",
    "Every revision of every alert, without heartbeats",
    of(AlertRecord)("""
        = alert_id revision status rule severity cluster broker log_dir from_status to_status cause opened_at_ms at_ms
        = lane evidence affected summary reason merged_into stale_since_ms
        record          string  The alert record itself, JSON
    """)
    + SOURCE,
    key=("alert_id", "revision"),
    clustered_by=("cluster", "at_ms"),
    time="opened_at_ms",
)

ACTIONS = Table(
    "actions",
    "Every revision of every recommended action",
    of(ActionRecord)("""
        = action_id revision status status_reason kind alert_id alert cluster target reason expected preconditions
        = vetoes data_loss requires_approval expires_at_ms commands reassignment configs undo based_on observed decision
        = position content_hash operations owner at_ms
        record             string  The action record itself, JSON
    """)
    + SOURCE,
    key=("action_id", "revision"),
    clustered_by=("cluster", "at_ms"),
    time="at_ms",
)

EXECUTIONS = Table(
    "executions",
    "Every state of every execution of an action by apply or autopilot",
    of(ExecutionRecord)("""
        = execution_id action_id revision content_hash kind cluster state back
        step           bigint  Number of steps that are done
        planned_bytes  bigint  Bytes that it copies, as planned
        = by reason started_at_ms at_ms
        record         string  The journal's record itself, JSON
    """)
    + SOURCE,
    key=("execution_id", "at_ms", "state", "step"),
    clustered_by=("cluster", "at_ms"),
    time="at_ms",
)

DECISIONS = Table(
    "decisions",
    "Decisions about alerts, actions and brokers",
    of(DecisionRecord)("""
        = id decision by reason at_ms until_ms
        cluster      string Cluster of the alert or action, unknown when neither table has it
        = broker owner severity revision matching content_hash log_dir
    """)
    + SOURCE,
    key=("id", "at_ms"),
    clustered_by=("cluster", "at_ms"),
    time="at_ms",
)

REJECTED_RECORDS = Table(
    "rejected_records",
    "Rejected records, byte for byte",
    columns("""
        topic               string  Kafka topic
        partition           int     Partition
        offset              bigint  Offset
        cluster             string  Cluster that the record names, unknown if it names none
        reason              string  What is wrong, and where
        kafka_timestamp_ms  bigint  Kafka's own time of the record
        key                 binary  Key, unchanged
        value               binary  Value, unchanged
    """)
    + SOURCE,
    key=("topic", "partition", "offset"),
    clustered_by=("cluster", "kafka_timestamp_ms"),
    time="kafka_timestamp_ms",
)

QUALITY_RESULTS = Table(
    "quality_results",
    "Results of each run of the data quality checks",
    columns("""
        run_id       string  Identity of the run
        suite        string  Suite of expectations, named for its table
        expectation  string  Expectation with its arguments
        cluster      string  Kafka cluster checked, * for all
        at_ms        bigint  Time of the run
        success      boolean Whether the table met it
        observed     string  Observed value, JSON
        unexpected   bigint  Rows that did not meet it
        error        string  Why it could not be checked
    """)
    + SOURCE,
    key=("run_id", "suite", "expectation"),
    clustered_by=("cluster", "at_ms"),
    time="at_ms",
)

TABLES: dict[str, Table] = {table.name: table for table in list(vars().values()) if isinstance(table, Table)}
