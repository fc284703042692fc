"""What a broker's own log says: it stands in the alert, in time or afterwards, and the first action follows it."""

import pytest

from logdirwatch.model.vocabulary import BrokerStatus, LogDirStatus, Rule
from tests.unit.detect.builders import POLL_MS, Driver, log_dir
from tests.unit.plan import builders as b
from tests.unit.situations.broker_logs import START, entry, show_log
from tests.unit.situations.table import Advice, Conclusion, check_advice, check_conclusion

FATAL = "Exiting Kafka due to fatal exception"
FAULT = "Encountered fatal fault: Error starting LogManager"
STARTUP = "[BrokerServer id=7] Fatal error during broker startup. Prepare to shutdown"
JOURNAL = "Mar 08 16:42:33 kafka-3"
KILL = "Main process exited, code=killed, status=9/KILL"
LATE = "[BrokerLifecycleManager id=7] Unable to send a heartbeat because the RPC got timed out before it could be sent."
REFUSED = "[BrokerLifecycleManager id=7] Unable to register broker 7 because the controller returned error"
LONG = 7 * 60_000 // POLL_MS


def systemd(*texts):
    """What systemd says of the unit, as journalctl shows it beside the broker's own lines."""
    return "".join(f"{JOURNAL} systemd[1]: kafka.service: {text}\n" for text in texts)


# What the log says, and a word of each: of the broker's alert, and of the first action.
REASONS = {
    "lost+found in a log directory": (
        entry(
            "There was an error in one of the threads during logs loading: x.KafkaException: Found "
            "directory /d0/lost+found, 'lost+found' is not in the form of topic-partition"
        ),
        "/d0/lost+found",
        "move the folder",
    ),
    "another node.id": (
        entry(FATAL, "kafka.common.InconsistentNodeIdException: Configured node.id `7` doesn't match stored `1389'"),
        "1389",
        "node.id",
    ),
    "another cluster.id": (
        entry(FATAL, "java.lang.RuntimeException: Invalid cluster.id in: /d1/meta.properties. Expected k, but read 2"),
        "/d1/meta.properties",
        "mount the disks of this cluster",
    ),
    "no meta.properties": (
        entry(FATAL, "java.lang.RuntimeException: No readable meta.properties files found."),
        "no meta.properties",
        "mounted at all",
    ),
    "no partition.metadata": (
        entry(FAULT, "java.lang.RuntimeException: The log dir Log(dir=/d0/orders-3) does not have a topic ID"),
        "/d0/orders-3",
        "partition's folder",
    ),
    "no usable directory": (
        entry("Shutdown broker because none of the specified log dirs from /d0, /d1 can be created or validated"),
        "none of its log directories",
        "repair the mount",
    ),
    "one replica twice": (
        entry(
            FAULT, "java.lang.IllegalStateException: Duplicate log directories for t-3 are found in both /d0/t-3 and x"
        ),
        "t-3",
        "of the two folders",
    ),
    "a lock": (
        entry(FATAL, "org.apache.kafka.common.KafkaException: Failed to acquire lock on file .lock in /d1. A Kafka"),
        ".lock in /d1",
        "find the process",
    ),
    "the metadata directory failed": (
        entry("Shutdown broker because the metadata log dir /d0 has failed", logger="kafka.server.ReplicaManager"),
        "metadata log dir /d0",
        "halts again",
    ),
    "all directories failed": (
        entry("Shutdown broker because all log dirs in /d0, /d1 have failed", logger="kafka.log.LogManager"),
        "all of its log directories",
        "halts again",
    ),
    "a failure that no controller was told of": (
        entry("[BrokerLifecycleManager id=7] Shutting down because couldn't communicate offline log dirs [3u] with x"),
        "no controller could be notified",
        "connection to the controllers",
    ),
    "a metadata fault": (
        entry(
            "Encountered fatal fault: Unexpected error in raft IO thread", "kafka.x.UnexpectedAppendOffsetException: y"
        ),
        "raft IO thread",
        "copy its metadata directory aside",
    ),
    "a corrupt log": (
        entry(FAULT, "org.apache.kafka.common.errors.CorruptRecordException: in file /d0/t-0/0.log"),
        "cannot be loaded",
        "replace that first",
    ),
    "an older release": (
        entry(FATAL, "java.lang.IllegalArgumentException: No MetadataVersion with feature level 25"),
        "feature level 25",
        "do not downgrade",
    ),
    "a second broker": (
        entry("[BrokerLifecycleManager id=7] Unable to register x: DUPLICATE_BROKER_REGISTRATION"),
        "another broker",
        "stop the other process",
    ),
    "no quorum": (
        entry(
            "[BrokerLifecycleManager id=7] Shutting down because we were unable to register with the controller quorum."
        ),
        "controller quorum",
        "has a leader",
    ),
    "heartbeats that are late": (
        entry("[BrokerLifecycleManager id=7] Unable to send a heartbeat because the RPC got timed out", level="WARN"),
        "heartbeats",
        "do not restart it first",
    ),
    "heartbeats that are late, as Kafka says it": (
        entry(LATE, level="INFO", logger="kafka.server.BrokerLifecycleManager"),
        "heartbeats",
        "do not restart it first",
    ),
    "a session with ZooKeeper that timed out": (
        entry("Client session timed out, have not heard from server in 12007ms for session id 0x1", level="WARN"),
        "have not heard from server",
        "do not restart it first",
    ),
    "no heap, and then no heartbeats": (
        entry("Uncaught exception in x", "java.lang.OutOfMemoryError: Java heap space") + entry(LATE, level="INFO"),
        "Java heap space",
        "more memory",
    ),
    "a second broker, as Kafka says it": (
        entry(f"{REFUSED} DUPLICATE_BROKER_REGISTRATION", level="INFO"),
        "another broker",
        "stop the other process",
    ),
    "a refused registration": (
        entry(f"{REFUSED} INVALID_REGISTRATION", level="INFO"),
        "INVALID_REGISTRATION",
        "has a leader",
    ),
    "a port in use": (entry(FATAL, "java.net.BindException: Address already in use"), "listen", "end the process"),
    "a heap that is too small": (
        entry("Uncaught exception in x", "java.lang.OutOfMemoryError: Java heap space"),
        "Java heap space",
        "more memory",
    ),
    "the kernel's OOM killer, in its journal": (
        systemd("A process of this unit has been killed by the OOM killer.", KILL, "Failed with result 'oom-kill'."),
        "killed for lack of memory",
        "a larger heap makes it worse",
    ),
    "a kill of which only the result says why": (
        systemd(KILL, "Failed with result 'oom-kill'."),
        "killed for lack of memory",
        "a larger heap makes it worse",
    ),
    "a kill at the end of the time to stop": (
        entry("Terminating process due to signal SIGTERM", level="INFO")
        + systemd("State 'stop-sigterm' timed out. Killing.", KILL),
        "stop-sigterm",
        "see who killed it",
    ),
    "a kill that the shell tells": (
        '/opt/kafka/bin/kafka-run-class.sh: line 347:    17 Killed                  "$JAVA" $KAFKA_HEAP_OPTS\n',
        "its process was killed",
        "see who killed it",
    ),
    "a crash of Java": (
        "# A fatal error has been detected by the Java Runtime Environment:\n#\n#  SIGBUS (0x7) at pc=0x7f1b\n#\n",
        "SIGBUS (0x7)",
        "hs_err_pid",
    ),
    "a crash that systemd tells": (
        systemd("Main process exited, code=dumped, status=6/ABRT"),
        "its process crashed",
        "hs_err_pid",
    ),
    "too many threads": (
        entry("Uncaught exception in x", "java.lang.OutOfMemoryError: unable to create native thread"),
        "native thread",
        "raise the limit",
    ),
    "a keystore": (
        entry(FATAL, "x.KafkaException: Failed to load SSL keystore /k.jks of type JKS"),
        "/k.jks",
        "keystore",
    ),
    "a certificate": (
        entry(FATAL, "x.InvalidConfigurationException: No matching CERTIFICATE entries in PEM file"),
        "PEM file",
        "keystore",
    ),
    "a wrong setting": (
        entry(FATAL, "x.config.ConfigException: Missing required configuration `a.b`"),
        "a.b",
        "correct",
    ),
    "an old Java": (
        'Exception in thread "main" java.lang.UnsupportedClassVersionError: kafka/Kafka has been compiled by 61\n',
        "compiled by 61",
        "Java release",
    ),
    "a full disk at the start": (entry(STARTUP, "java.io.IOException: No space left on device"), "full", "make room"),
    "a signal": (entry("Terminating process due to signal SIGTERM", level="INFO"), "signal SIGTERM", "see who"),
    "an error that nobody knows": (
        entry(STARTUP, "java.lang.NullPointerException: why"),
        "why",
        "fix what its log names",
    ),
}


def _serves(driver):
    for _ in range(4):
        driver.poll(log_dir("/d0", 0.5, is_metadata_dir=True), log_dir("/d1", 0.51))
    return driver


def _fenced(driver, polls=LONG):
    for _ in range(polls):
        at_ms = driver.at_ms + POLL_MS
        driver.poll(
            status="timeout", error="connection refused", controller_at_ms=at_ms, is_registered=True, is_fenced=True
        )
    return driver


def _unanswered(driver, polls=LONG):
    for _ in range(polls):
        driver.poll(status="timeout", error="connection refused")
    return driver


def _told_before(text):
    return lambda driver: _fenced(show_log(_serves(driver), START + text))


def _told_after(text):
    return lambda driver: show_log(_fenced(_serves(driver)), START + text)


def _told_of_one_that_nobody_gave_up(text):
    return lambda driver: show_log(_unanswered(_serves(driver)), START + text)


def _came_back(driver):
    _told_before(REASONS["a port in use"][0])(driver)
    return _fenced(_serves(driver))


CONCLUSIONS = [
    *(
        Conclusion(f"{name}, {when}", given(text), {rule: None}, says=("its log says: ", word))
        for name, (text, word, _) in REASONS.items()
        for when, given, rule in (
            ("before the alert", _told_before, "broker_offline"),
            ("after the alert", _told_after, "broker_offline"),
            ("of one that does not answer", _told_of_one_that_nobody_gave_up, "broker_unknown"),
        )
    ),
    Conclusion("a broker that is away once more", _came_back, {"broker_offline": None}, never_says=("listen",)),
    Conclusion("a broker that is away and says nothing", lambda d: _fenced(_serves(d)), {"broker_offline": None},
               never_says=("its log says",)),
]  # fmt: skip


CORRUPT = "org.apache.kafka.common.errors.CorruptRecordException: Found record size 0 in file /d0/{}/0.log."
CLEANER = (
    "Unexpected exception thrown when cleaning log Log(dir=/d0/{0}, topic=t, partition=3). Marking its partition "
    "({0}) as uncleanable"
)
COPY = "[RemoteLogManager=7 partition=x:orders-3] Error occurred while copying log segments of partition: x:orders-3"
CHANNEL = "org.apache.kafka.storage.internals.log.LogDirFailureChannel"
MEMORY_FAULT = "java.lang.InternalError: a fault occurred in a recent unsafe memory access operation"
GAUGES = {"UncleanablePartitionsCount:/d0": 2.0, "UncleanableBytes:/d0": 2.0**40}


def _says(text, polls=2, **fields):
    def given(driver):
        show_log(_serves(driver), text)
        for _ in range(polls):
            driver.poll(log_dir("/d0", 0.5, is_metadata_dir=True), log_dir("/d1", 0.51), **fields)

    return given


def _fills_and_says(text, again_ms=None):
    def given(driver):
        for _ in range(3):
            driver.poll(log_dir("/d0", 0.8, is_metadata_dir=True), log_dir("/d1", 0.51))
        show_log(driver, text)
        if again_ms:
            show_log(driver, text, again_ms)
        for _ in range(2):
            driver.poll(log_dir("/d0", 0.8, is_metadata_dir=True), log_dir("/d1", 0.51))

    return given


def _goes_offline(text):
    """/d1 goes offline with half of it free, and the log says this."""

    def given(driver):
        show_log(_serves(driver), text)
        for _ in range(2):
            driver.poll(log_dir("/d0", 0.5, is_metadata_dir=True), log_dir("/d1", error_code=56))

    return given


def _of_coordinator(message, partition):
    return _says(entry(message, CORRUPT.format(partition), "x.y.CoordinatorRuntime"))


UNCLEANABLE = entry(CLEANER.format("__consumer_offsets-20"), "x.LogCleaningException: y", "x.y.LogCleaner", "WARN")
CONCLUSIONS += [
    Conclusion("the cleaner gives up", _says(UNCLEANABLE), {"uncleanable_partitions": None},
               severity={"uncleanable_partitions": "warning"}, says=("__consumer_offsets-20", "/d0")),
    Conclusion("the gauges count what the cleaner gave up", _says("", metrics=GAUGES), {"uncleanable_partitions": None},
               says=("2 partitions with 1 TiB",)),
    Conclusion("the line and the gauges are one alert", _says(UNCLEANABLE, metrics=GAUGES),
               {"uncleanable_partitions": None}),
    Conclusion("the cleaner gives up while the directory fills", _fills_and_says(UNCLEANABLE),
               {"uncleanable_partitions": None, "log_dir_space": None}, severity={"uncleanable_partitions": "critical"},
               says=("can wait until morning: no, because the directory fills",)),
    Conclusion("the cleaner meets a corrupt record",
               _says(entry(CLEANER.format("t-3"), CORRUPT.format("t-3"), "x.y.LogCleaner", "WARN")),
               {"uncleanable_partitions": None, "partition_failed": None}, says=("t-3 in /d0",)),
    Conclusion("a group coordinator cannot load, old wording",
               _of_coordinator("[GroupMetadataManager brokerId=1] Error loading offsets from __consumer_offsets-13",
                               "__consumer_offsets-13"),
               {"partition_failed": None}, severity={"partition_failed": "critical"},
               says=("__consumer_offsets-13 in /d0", "may be blocked")),
    Conclusion("a group coordinator cannot load, new wording",
               _of_coordinator("[GroupCoordinator id=1] Failed to load metadata from __consumer_offsets-13 with epoch "
                               "5 due to x.", "__consumer_offsets-13"),
               {"partition_failed": None}, severity={"partition_failed": "critical"}),
    Conclusion("a transaction coordinator cannot load",
               _of_coordinator("[Transaction State Manager 1]: Error loading transactions from transaction log "
                               "__transaction_state-4", "__transaction_state-4"),
               {"partition_failed": None}, severity={"partition_failed": "critical"}),
    Conclusion("a consumer meets a corrupt record",
               _says(entry("[ReplicaManager broker=1] Error processing fetch from consumer on partition t-3: x",
                           CORRUPT.format("t-3"), "kafka.server.ReplicaManager")),
               {"partition_failed": None}, severity={"partition_failed": "warning"}, says=("t-3 in /d0",)),
    Conclusion("a follower meets a corrupt record",
               _says(entry("[ReplicaFetcher replicaId=1, leaderId=2, fetcherId=0] Found invalid messages during fetch "
                           "for partition t-3 offset 12", CORRUPT.format("t-3"), "kafka.server.ReplicaFetcherThread")),
               {"partition_failed": None}),
    Conclusion("recovery truncates a log",
               _says(entry("[UnifiedLog partition=t-3, dir=/d0] Corruption found in segment 12, truncating to offset 9",
                           "", "x.y.LogLoader", "WARN")), {}),
    Conclusion("recovery builds an index again",
               _says(entry("[LogLoader partition=t-3, dir=/d0] Found a corrupted index file due to CorruptIndexExc",
                           "", "x.y.LogLoader", "WARN")), {}),
    Conclusion("a producer sends a bad batch",
               _says(entry("[ReplicaManager broker=1] Error processing append operation on partition t-3",
                           "x.InvalidRecordException: One or more records", "kafka.server.ReplicaManager")), {}),
    Conclusion("a page of a mapped index cannot be read or written while a producer appends",
               _says(entry("[ReplicaManager broker=1] Error processing append operation on partition t-3",
                           f"{MEMORY_FAULT} in compiled Java code", "kafka.server.ReplicaManager")),
               {"partition_failed": None}, severity={"partition_failed": "warning"}, says=("t-3",)),
    Conclusion("a socket without a file descriptor tells that its directories are next",
               _says(entry("Error while accepting connection", "java.io.IOException: Too many open files",
                           "kafka.network.DataPlaneAcceptor")),
               {"log_dir_suspect": None}, severity={"log_dir_suspect": "warning"}, says=("open files",)),
    Conclusion("a lock that a server does not give is no broken disk",
               _goes_offline(entry("Disk error while locking directory /d1",
                                   "java.nio.file.FileSystemException: /d1/.lock: Invalid argument", CHANNEL)),
               {"log_dir_offline": "unknown"}, says=("Invalid argument",), never_says=("disk failure",)),
    Conclusion("the flush of a replica that is moved away under it is no broken disk",
               _goes_offline(entry("Error while flushing log for t-1 in dir /d1 with offset 39 (exclusive)",
                                   "java.nio.file.NoSuchFileException: /d1/t-1.48ed-future", CHANNEL)),
               {"log_dir_offline": "unknown"}, says=("NoSuchFileException",), never_says=("disk failure",)),
    Conclusion("a copy to remote storage fails once", _says(entry(COPY, "x.RemoteStorageException", "x.y.Rlm")), {}),
    Conclusion("copies to remote storage fail while a directory fills",
               _fills_and_says(entry(COPY, "x.RemoteStorageException: 403", "x.y.Rlm")), {"log_dir_space": None},
               says=("copies to remote storage fail", "403")),
    Conclusion("copies to remote storage go on failing",
               _fills_and_says(entry(COPY, "x.RemoteStorageException: 403", "x.y.Rlm"), again_ms=600_000),
               {"log_dir_space": None, "log_dir_suspect": None}, severity={"log_dir_suspect": "warning"}),
]  # fmt: skip


@pytest.mark.parametrize("row", CONCLUSIONS, ids=lambda row: row.name)
def test_what_is_concluded(row):
    check_conclusion(row)


DAMAGED = entry("Error while reading checkpoint file /d0/recovery-point-offset-checkpoint",
                "java.nio.charset.MalformedInputException: Input length = 1", CHANNEL)  # fmt: skip


def _facts():
    return b.facts(
        b.broker(1, BrokerStatus.OFFLINE),
        b.directory(1, "/d0", status=LogDirStatus.UNKNOWN),
        b.directory(2, used=10 * b.MIB),
        b.topic("t", (1, 2)),
        b.replica(1, "/d0", "t"),
        b.replica(2, "/d1", "t"),
    )


def _alert_of(text, rule=Rule.BROKER_OFFLINE):
    def given():
        driver = Driver()
        (_told_after if rule is Rule.BROKER_OFFLINE else _told_of_one_that_nobody_gave_up)(text)(driver)
        (found,) = (one for one in driver.open_alerts() if one.rule == rule)
        return b.alert(rule, log_dir=None, to="offline", cause=None, evidence=found.evidence), _facts()

    return given


ADVICE = [
    *(
        Advice(f"{name}, {rule}", _alert_of(text, rule), first="investigate", says=(remedy, word), lossless=True)
        for name, (text, word, remedy) in REASONS.items()
        for rule in (Rule.BROKER_OFFLINE, Rule.BROKER_UNKNOWN)
    ),
    Advice(
        "all directories failed for one small file",
        _alert_of(f"{DAMAGED}{REASONS['all directories failed'][0]}"),
        first="investigate",
        says=("move the damaged file /d0/recovery-point-offset-checkpoint aside", "head -n 2 DIR/*-checkpoint"),
        lossless=True,
    ),
    Advice(
        "the broker is started after its remedy",
        _alert_of(REASONS["a lock"][0]),
        order=("investigate", "restart_broker"),
        says=("first fix what its log says",),
    ),
    Advice(
        "without a word of the log the start stands first",
        lambda: (b.alert(Rule.BROKER_OFFLINE, log_dir=None, cause=None), _facts()),
        order=("restart_broker", "investigate"),
        says=("see in its log why it stopped before",),
    ),
]


def _uncleanable(detail, why=("t-0",)):
    def given():
        evidence = {"why": list(why), "detail": detail}
        return b.alert(Rule.UNCLEANABLE_PARTITIONS, log_dir="/d0", to="online", cause=None, evidence=evidence), b.facts(
            b.directory(1, "/d0"),
            b.directory(2, "/d0", used=10 * b.MIB),
            b.topic("t", (1, 2)),
            b.replica(1, "/d0", "t"),
            b.replica(2, "/d0", "t"),
        )

    return given


ADVICE += [
    Advice("the cleaner's buffer is too small",
           _uncleanable("IllegalArgumentException: requirement failed: but offset map can fit only 393216"),
           first="investigate", says=("log.cleaner.dedupe.buffer.size", "restart"), lossless=True),
    Advice("the cleaner meets a corrupt record", _uncleanable("CorruptRecordException: Found record size 0"),
           first="investigate", order=("investigate", "demote_leaders"), says=("copied again",), lossless=True),
    Advice("the cleaner meets a batch of a producer that it does not understand",
           _uncleanable("IllegalStateException: batch with producerId 4012 has invalid next offset"),
           order=("investigate", "demote_leaders"), says=("copied again", "newer release may help"), lossless=True),
    Advice("the cleaner had no room", _uncleanable("IOException: No space left on device"),
           first="investigate", never=("demote_leaders",), says=("room for two segments",), lossless=True),
    Advice("only the gauge tells of it", _uncleanable(None, ()),
           first="investigate", says=("find out in log-cleaner.log",), lossless=True),
]  # fmt: skip


@pytest.mark.parametrize("row", ADVICE, ids=lambda row: row.name)
def test_what_is_advised(row):
    check_advice(row)


@pytest.mark.parametrize(("name", "asked"), [("heartbeats that are late", True), ("a lock", False)])
def test_a_broker_that_only_lost_its_heartbeat_is_started_only_if_it_has_ended(name, asked):
    found = check_advice(Advice(name, _alert_of(REASONS[name][0])))
    (start,) = (action for action in found if action.kind == "restart_broker")
    assert ("process_ended" in {one["name"] for one in start.preconditions}) is asked


def test_without_an_inventory_the_remedy_is_told_all_the_same():
    alert, _ = _alert_of(REASONS["a lock"][0])()
    (found,) = check_advice(Advice("no inventory", lambda: (alert, None), first="investigate"))
    assert "find the process" in found.reason


def test_the_words_of_a_log_are_no_part_of_a_command():
    text = entry(FATAL, "java.lang.RuntimeException: No readable meta.properties files found. $(reboot)")
    alert, facts = _alert_of(text)()
    assert not [command for action in check_advice(Advice("x", lambda: (alert, facts))) for command in action.commands
                if "reboot" in command]  # fmt: skip
