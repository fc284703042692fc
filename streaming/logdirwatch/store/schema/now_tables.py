"""The tables of the present state: one row per broker, log directory, replica, partition."""

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
