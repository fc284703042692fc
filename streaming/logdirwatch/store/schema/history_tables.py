"""The tables that only grow: samples, transitions, alerts, actions, executions, decisions, rejects, quality results."""

from logdirwatch.store.schema.columns import SOURCE, Table, columns

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
