"""Every Delta table by name.

Times are epoch milliseconds in columns ending ``_ms``, sizes are bytes in columns ending ``_bytes``; null means
unknown. Values of varying structure are JSON text.
"""

from logdirwatch.store.schema.columns import SOURCE, Table, columns

BROKER_STATE = Table(
    "broker_state",
    "Present state of each broker; one row per broker, from the state record with the highest sequence",
    columns("""
        cluster              string  Kafka cluster, by its name in the configuration
        broker               int     Broker id
        sequence             bigint  Number of the state record; a lower one never replaces a higher one
        status               string  online, degraded (answers, at least one directory offline), offline or unknown
        reason               string  Why the status is what it is
        since_ms             bigint  When the status began
        at_ms                bigint  Time of the newest evidence behind this row
        last_seen_ms         bigint  When the broker last answered
        collector            string  Collector whose answer is used
        host                 string  Host that the broker advertises
        rack                 string  Rack that the broker names
        is_fenced            boolean Whether the controller fences it
        kafka_version        string  Version of Kafka it runs
        metadata_version     string  metadata.version that the cluster has finalized
        metadata_mode        string  zookeeper, kraft or migrating: where it keeps its metadata; null: not known
        not_reported         array<string>       What its version of Kafka cannot report; null: not known
        controller_id        bigint  Broker or controller id of the active controller
        log_dir_count        int     Number of its log directories
        offline_log_dirs     int     How many of them are offline
        leaderless           bigint  Partitions without a leader whose preferred leader it is
        under_min_isr        bigint  Partitions it hosts with fewer in-sync replicas than min.insync.replicas
        at_min_isr           bigint  Partitions it hosts with exactly min.insync.replicas in sync
        sole_replica         bigint  Partitions it hosts with one replica in sync
        internal_leaderless  bigint  Internal partitions among the leaderless
        partition_examples   array<string>       Some partitions at risk
        maintenance_until_ms bigint  End of its maintenance; null: no maintenance is active
        maintenance_by       string  Who planned that
        maintenance_reason   string  Why
        recovering_logs      bigint  Logs that it still recovers at startup; null: none reported
        remote_copy_lag_bytes bigint Bytes of tiered topics that it leads and has still to copy; null: unknown
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
    columns("""
        cluster             string  Kafka cluster, by its name in the configuration
        broker              int     Broker id
        log_dir             string  Path of the directory, as log.dirs spells it
        sequence            bigint  Number of the broker's state record
        at_ms               bigint  Time of the newest evidence behind that record
        status              string  online, filling, critical, saturated, offline or unknown
        cause               string  Why it is offline, such as full, failed or remount; unknown without evidence
        reason              string  Which rule decided
        since_ms            bigint  When the status began
        sample_at_ms        bigint  Time of the last sample with its space
        last_seen_ms        bigint  When the broker last listed it without an error
        last_status         string  Status before it became unknown
        last_proof_ms       bigint  Time of the last successful write seen
        error_code          bigint  Error code of the last DescribeLogDirs answer
        total_bytes         bigint  Size of its volume
        usable_bytes        bigint  Bytes that the broker can still write
        used_ratio          double  1 - usable_bytes / total_bytes
        replica_count       bigint  Replicas in it, copies in progress left out
        replica_bytes       bigint  Bytes of those replicas
        future_bytes        bigint  Bytes of copies in progress
        incoming_bytes      bigint  Bytes that running moves still add
        outgoing_bytes      bigint  Bytes that running moves will remove
        unaccounted_bytes   bigint  Used bytes that no replica explains
        growth_bytes_per_s  double  Growth of the used bytes, without moved replicas
        lasting_growth_bytes_per_s double Growth that lasts; null: not watched for long enough
        full_at_ms          bigint  When it will be full according to the forecast; null: not within a week
        forecast_confidence double  Confidence of the forecast, from 0 to 1
        volume              string  Name of its file system, which directories may share; null: unknown
        is_cordoned         boolean Whether Kafka places no new replicas in it (KIP-1066)
        is_metadata_dir     boolean Whether the metadata log lies in it: its failure halts the broker
        strays              map<string,bigint>  Replicas in it not assigned to the broker, by name with their bytes
        capacity_source     string  host or configuration: who told its size where Kafka does not; null: Kafka does
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
    columns("""
        transition_id  string  Identity of the transition
        cluster        string  Kafka cluster, by its name in the configuration
        broker         int     Broker id
        log_dir        string  Path of the directory; null: the broker's own status
        from_status    string  Status before; null at first sight
        to_status      string  Status after
        cause          string  Why it is offline, such as full, failed or remount; unknown without evidence
        reason         string  Which rule decided
        at_ms          bigint  Time of the evidence
        origin         string  Record that caused it: topic/partition/offset/Kafka time, or the timer judged
    """)
    + SOURCE,
    key=("transition_id",),
    clustered_by=("cluster", "at_ms"),
    time="at_ms",
)

ALERTS = Table(
    "alerts",
    "Every revision of every alert, without heartbeats",
    columns("""
        alert_id        string  Identity of the alert
        revision        bigint  Number of the revision; 0 is the fast lane's
        status          string  firing or resolved
        rule            string  Rule of the alert
        severity        string  info, warning, critical or page
        cluster         string  Kafka cluster, by its name in the configuration
        broker          int     Broker id; null: the whole cluster
        log_dir         string  Path of the directory; null: the whole broker or cluster
        from_status     string  Status before the transition behind it
        to_status       string  Status after that transition
        cause           string  Why a directory is offline
        opened_at_ms    bigint  When the alert opened
        at_ms           bigint  Time of this revision's evidence
        lane            string  fast or fast_micro_batch (from the event alone), or stateful (from the state machine)
        evidence        string  Numbers and rules behind it, JSON
        affected        string  Impacted partitions, topics and consumer groups, JSON
        summary         string  One sentence for people
        reason          string  Why it resolved or changed
        merged_into     string  Alert that replaced this one
        stale_since_ms  bigint  Since when it is not confirmed
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
    columns("""
        action_id          string  Identity of the action
        revision           bigint  Number of the revision
        status             string  proposed, accepted, rejected, running, done, failed, expired, superseded or withdrawn
        status_reason      string  Why it has that status
        kind               string  Kind of the action
        alert_id           string  Alert that it belongs to
        alert              string  Key fields of that alert, JSON
        cluster            string  Kafka cluster, by its name in the configuration
        target             string  What it acts on, JSON
        reason             string  Why it helps
        expected           string  Expected effect, and when, JSON
        preconditions      string  Preconditions, JSON
        vetoes             string  Reasons why it must not be done now, JSON
        data_loss          boolean Whether it deletes data
        requires_approval  boolean Whether a person must accept it
        expires_at_ms      bigint  End of its validity
        commands           array<string>  Commands ready to paste, in order
        reassignment       string  Reassignment for kafka-reassign-partitions, JSON
        configs            string  Configuration changes, JSON
        undo               string  Rollback, JSON
        based_on           string  Age of its facts, JSON
        observed           string  Observed effect, JSON
        decision           string  Last decision of a person about it, JSON
        position           int     Its position among the actions of its alert, from 0
        content_hash       string  Hash of what it would do; an acceptance is valid only for that
        operations         string  What it does to the cluster, as data, JSON
        owner              string  What declares the configuration of the cluster
        at_ms              bigint  Time of this revision's evidence
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
    columns("""
        execution_id   string  Identity of the execution
        action_id      string  Action that is carried out
        revision       bigint  Revision of the action
        content_hash   string  Hash of what is done
        kind           string  Kind of the action
        cluster        string  Kafka cluster, by its name in the configuration
        state          string  How far it is; done and rolled_back are ends, and stuck needs a person
        back           boolean Whether the operations are undone
        step           bigint  Number of steps that are done
        planned_bytes  bigint  Bytes that it copies, as planned
        by             string  Who started it
        reason         string  Why it is stuck
        started_at_ms  bigint  When it began
        at_ms          bigint  Time of this state
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
    columns("""
        id           string Alert or action that it is about; CLUSTER/BROKER for maintenance, with /LOG_DIR for healthy
        decision     string acknowledge, silence, accept, reject, maintenance or healthy
        by           string Who decided
        reason       string Why
        at_ms        bigint When
        until_ms     bigint Until when it is valid; null: permanently, or as long as the configuration allows
        cluster      string Cluster of the alert or action, unknown when neither table has it
        broker       int    Maintenance: the broker that may be away; healthy: whose disk it is
        owner        string Acknowledgement: owner of the alert; null: who acknowledged it
        severity     string Acknowledgement or silence: the highest severity that it covers; null: all
        revision     bigint Revision of the alert or action that it is about
        matching     string Silence: pattern of the alerts it is about, if not one alert, JSON
        content_hash string Acceptance or rejection: content_hash of the action at that revision
        log_dir      string Healthy: the directory whose disk is healthy; null: none in particular
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
