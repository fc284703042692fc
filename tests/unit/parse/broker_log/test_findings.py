"""What a line of the broker's log means: which directory, why, doing what; or one partition only."""

import pytest

from logdirwatch.collect.host.news import PARTITION_QUIET_MS, NewsDesk
from logdirwatch.model.vocabulary import Cause
from logdirwatch.parse.broker_log.entries import Entries
from logdirwatch.parse.broker_log.failures import BrokerFailed
from logdirwatch.parse.broker_log.findings import (
    DirFailed,
    MarkExplained,
    PartitionBad,
    PartitionUncleanable,
    RemoteCopyFailed,
    Started,
    TaskState,
    dir_of,
    findings,
)
from tests.support.tables import rows
from tests.unit.parse.broker_log.logs import CHANNEL, NOISE, START, failure, fenced, fetcher_error, line, marked

LOG_DIRS = ("/d1", "/d1/nested", "/mnt/disk 2/kafka", "/d10")
CLEANER = "org.apache.kafka.storage.internals.log.LogCleaner"


def findings_of(text, log_dirs=LOG_DIRS):
    cut = Entries()
    entries = [*cut.feed(text.encode()), *cut.end()]
    return [found for entry in entries for found in findings(entry, log_dirs)]


def found_in(text, log_dirs=LOG_DIRS):
    (found,) = findings_of(text, log_dirs)
    return found


def told(*texts, desk=None, now_ms=0):
    desk = desk or NewsDesk()
    found = findings_of("".join(texts))
    return [news for one in found if (news := desk.news(one, now_ms)) is not None]


@pytest.mark.parametrize(("exception", "cause"), rows("broker_log/exceptions"))
def test_the_exception_tells_the_cause(exception, cause):
    assert found_in(failure(exception=exception)).cause == cause


def test_a_cause_of_a_cause_tells_it_too():
    exception = (
        "java.io.IOException: could not write\n\tat x.y(Z.java:1)\nCaused by: java.io.IOException: Input/output error"
    )
    assert found_in(failure(exception=exception)).cause == Cause.FAILED


@pytest.mark.parametrize(("message", "operation", "log_dir"), rows("broker_log/operations"))
def test_the_message_tells_the_directory_and_the_operation(message, operation, log_dir):
    found = found_in(failure(message))
    assert (found.operation, found.log_dir) == (operation, log_dir)
    assert found.detail.startswith(f"{operation} failed: {message}: java.io.IOException: No space left on device")


@pytest.mark.parametrize(
    "message",
    [
        "Error while rolling log segment for t-0 in dir /old/d",
        "Error while flushing log for t-0 in dir /old/d with offset 5 (exclusive) and recovery point 5",
        "Failed to clean up log for t-0 in dir /old/d due to IOException",
        "Exception while deleting Log(dir=/old/d/t-0) in dir /old/d.",
        "Error while writing to checkpoint file /old/d/cleaner-offset-checkpoint",
        "Error while writing to checkpoint file /old/d/t-0/leader-epoch-checkpoint",
        "Disk error while locking directory /old/d",
    ],
)
def test_a_directory_that_the_configuration_does_not_list_is_named_all_the_same(message):
    assert found_in(failure(message)).log_dir == "/old/d"


def test_a_line_that_names_no_directory_is_told_without_one():
    assert found_in(failure("Something else failed")).log_dir is None


def test_a_neighbour_with_a_similar_path_is_not_condemned():
    assert found_in(failure("Error while rolling log segment for t-0 in dir /d10")).log_dir == "/d10"
    assert found_in(failure("Error in dir /d1-old"), ("/d1",)).log_dir == "/d1-old"


@pytest.mark.parametrize(
    ("text", "log_dir"),
    [
        ("Failed to acquire lock on file .lock in /d1. A Kafka instance in another process is using it.", "/d1"),
        ("it is in /d1.", "/d1"),
        ("it is in /d1.bak", None),
        ("it is in /d1..", None),
        ("it is in /d1.-x", None),
    ],
)
def test_a_dot_that_ends_a_sentence_is_no_part_of_a_path(text, log_dir):
    assert dir_of(text, ["/d0", "/d1"]) == log_dir


@pytest.mark.parametrize(
    ("text", "logger"),
    [
        ("Error while rolling log segment for t-0 in dir /d1", "kafka.server.LogDirFailureChannel"),
        ("Stopping serving logs in dir /d1", "kafka.log.LogManager"),
        ("Stopping serving replicas in dir /d1 with uuid x because the log directory has failed.", "kafka.server.R"),
    ],
)
def test_older_releases_named_the_channel_differently_and_what_follows_names_the_directory_too(text, logger):
    found = found_in(line(text, logger))
    assert isinstance(found, DirFailed)
    assert found.log_dir == "/d1"


@pytest.mark.parametrize(
    "text", [START, line("[BrokerServer id=1] Transition from SHUTDOWN to STARTING", "x.B", "INFO")]
)
def test_a_start_of_the_broker_is_recognised(text):
    assert found_in(text) == Started()


@pytest.mark.parametrize(
    "text",
    [
        NOISE,
        line(
            "[KafkaApi-1] Produce request with correlation id 5 from client c on partition t-0 failed due to "
            "org.apache.kafka.common.errors.CorruptRecordException",
            "kafka.server.KafkaApis",
            "DEBUG",
        ),
        line("[BrokerServer id=1] Transition from STARTING to STARTED", "kafka.server.BrokerServer", "INFO"),
        line(
            "[ReplicaManager broker=1] Error processing append operation on partition t-0",
            "kafka.server.ReplicaManager",
            exception="org.apache.kafka.common.InvalidRecordException: Compacted topic cannot accept it without key",
        ),
    ],
)
def test_other_lines_and_a_producers_own_mistake_mean_nothing(text):
    assert findings_of(text) == []


@pytest.mark.parametrize(
    "text",
    [
        fetcher_error(
            "Found invalid messages during fetch for partition",
            exception="org.apache.kafka.common.errors.CorruptRecordException: Record is corrupt",
        ),
        line(
            "[ReplicaManager broker=1] Error processing fetch with max size 1 from consumer on partition t-0: x",
            "kafka.server.ReplicaManager",
            exception="org.apache.kafka.common.errors.CorruptRecordException: Record size is less than 14",
        ),
        marked(),
    ],
)
def test_a_bad_record_and_a_partition_given_up_condemn_the_partition_only(text):
    found = found_in(text)
    assert isinstance(found, PartitionBad)
    assert (found.topic, found.partition, found.log_dir) == ("t", 0, None)


def given_up_by_cleaner(exception):
    text = (
        "Unexpected exception thrown when cleaning log Log(dir=/d1/a.b-c-12, topicId=x, topic=a.b-c, partition=12). "
        "Marking its partition (a.b-c-12) as uncleanable"
    )
    return line(text, CLEANER, "WARN", exception)


def test_the_cleaner_tells_the_directory_of_a_bad_partition():
    given_up, bad = findings_of(given_up_by_cleaner("org.apache.kafka.common.errors.CorruptRecordException: size 0"))
    assert isinstance(given_up, PartitionUncleanable)
    assert isinstance(bad, PartitionBad)
    assert {(found.topic, found.partition, found.log_dir) for found in (given_up, bad)} == {("a.b-c", 12, "/d1")}


def cleaner_thread(text, level="INFO", exception=""):
    return line(f"[kafka-log-cleaner-thread-0]: {text}", CLEANER, level, exception)


DIES = cleaner_thread("Error due to", "ERROR", "java.lang.IllegalArgumentException: requirement failed: 3 messages")


def test_a_thread_of_the_cleaner_that_dies_is_told_until_one_starts():
    starts = cleaner_thread("Starting")
    assert [(news.is_failed, "3 messages" in news.detail) for news in told(DIES, DIES)] == [(True, True)]
    assert [news.is_failed for news in told(DIES, starts, starts, DIES)] == [True, False, True]
    assert [news.is_failed for news in told(DIES, START, starts)] == [True, False], (
        "a start of the broker is seen by it"
    )
    assert told(starts, cleaner_thread("Stopped"), START, starts) == []


@pytest.mark.parametrize(("message", "logger", "exception", "task"), rows("broker_log/tasks"))
def test_a_task_or_a_thread_that_fails_is_named(message, logger, exception, task):
    found = findings_of(line(message, logger, exception=exception))
    assert [(one.task, one.is_failed) for one in found] == ([] if task is None else [(task, True)])


def test_a_task_that_fails_is_told_again_after_a_while_until_it_runs_again_or_its_broker_starts():
    dies, starts = (
        line(f"[ReplicaAlterLogDirsThread-0]: {text}", "x.y", "ERROR") for text in ("Error due to", "Starting")
    )
    desk = NewsDesk()
    assert [news.is_failed for news in told(dies, dies, desk=desk)] == [True]
    assert [news.is_failed for news in told(dies, desk=desk, now_ms=PARTITION_QUIET_MS)] == [True]
    assert [news.is_failed for news in told(starts, starts, desk=desk)] == [False]
    told(dies, desk=desk)
    restored = NewsDesk(told_tasks=desk.told_tasks)
    (news,) = restored.of_present_run(findings_of(START), 0)
    assert (news.task, news.is_failed) == ("ReplicaAlterLogDirsThread-0", False)
    assert NewsDesk().of_present_run(findings_of(dies + START), 0) == []


def test_a_thread_that_died_in_an_earlier_run_is_history():
    found = findings_of(DIES + START + cleaner_thread("Starting"))
    assert NewsDesk().of_present_run(found, 0) == []


def test_a_cleaner_without_memory_is_dead_beside_its_broker():
    found = findings_of(cleaner_thread("Error due to", "ERROR", "java.lang.OutOfMemoryError: Java heap space"))
    assert [type(one) for one in found] == [TaskState, BrokerFailed]


def test_a_partition_that_the_cleaner_gives_up_is_not_bad_for_it():
    exception = (
        "org.apache.kafka.storage.internals.log.LogCleaningException: y\n\tat x.y(Z.java:1)\n"
        "Caused by: java.lang.IllegalArgumentException: requirement failed: but offset map can fit only 393216"
    )
    found = found_in(given_up_by_cleaner(exception))
    assert (found.topic, found.partition, found.log_dir) == ("a.b-c", 12, "/d1")
    assert "offset map can fit only 393216" in found.detail


@pytest.mark.parametrize(
    ("message", "partition"),
    [
        ("[GroupMetadataManager brokerId=1] Error loading offsets from __consumer_offsets-13", "__consumer_offsets-13"),
        (
            "[Transaction State Manager 1]: Error loading transactions from transaction log __transaction_state-4",
            "__transaction_state-4",
        ),
        (
            (
                "[GroupCoordinator id=1] Failed to load metadata from __consumer_offsets-13 with epoch 5 due to "
                "org.apache.kafka.common.errors.CorruptRecordException."
            ),
            "__consumer_offsets-13",
        ),
        (
            "[ShareCoordinator id=1] Failed to load metadata from __share_group_state-2 with epoch 5 due to x.",
            "__share_group_state-2",
        ),
    ],
)
def test_a_coordinator_that_cannot_load_its_partition_tells_it_with_its_directory(message, partition):
    exception = (
        f"org.apache.kafka.common.errors.CorruptRecordException: Found record size 0 in file /d1/{partition}/0.log."
    )
    found = found_in(line(message, "kafka.coordinator.group.GroupMetadataManager", exception=exception))
    assert (f"{found.topic}-{found.partition}", found.log_dir, found.reason) == (partition, "/d1", "coordinator_load")


@pytest.mark.parametrize("name", ["NotLeaderOrFollowerException", "KafkaStorageException", "NotCoordinatorException"])
def test_a_coordinators_partition_that_went_elsewhere_is_no_news(name):
    message = "[GroupCoordinator id=1] Failed to load metadata from __consumer_offsets-1 with epoch 5 due to x."
    assert (
        findings_of(line(message, "x.y.CoordinatorRuntime", exception=f"org.apache.kafka.common.errors.{name}: x"))
        == []
    )


@pytest.mark.parametrize(
    "text",
    [
        "[UnifiedLog partition=orders-3, dir=/d1] Corruption found in segment 12, truncating to offset 9",
        (
            "[LogLoader partition=orders-3, dir=/d1] Found a corrupted index file of /d1/orders-3/0 "
            "due to CorruptIndexException, recovering segment and rebuilding index files..."
        ),
        "[LogLoader partition=orders-3, dir=/d1] Error when loading producer snapshot: CorruptSnapshotException",
    ],
)
def test_what_recovery_mends_is_no_failure(text):
    assert findings_of(line(text, "org.apache.kafka.storage.internals.log.LogLoader", "WARN")) == []


@pytest.mark.parametrize(
    "named",
    [
        "Xc3Rr0aVQ0O2m1T0B9f0hA:orders-3",
        "TopicIdPartition{topicId=zRimZy3gQf-VBdjdqPdgMA, topicPartition=orders-3}",
        "orders-3",
    ],
)
def test_a_copy_to_remote_storage_that_fails_names_its_partition(named):
    message = f"[RemoteLogManager=1 partition={named}] Error occurred while copying log segments of partition: {named}"
    logger = "org.apache.kafka.server.log.remote.storage.RemoteLogManager$RLMCopyTask"
    found = found_in(line(message, logger, exception="org.apache.kafka.RemoteStorageException: 403"))
    assert (type(found), found.topic, found.partition) == (RemoteCopyFailed, "orders", 3)
    assert "403" in found.detail
    assert findings_of(line(message, logger, exception="java.lang.InterruptedException")) == []


@pytest.mark.parametrize(
    ("task", "is_copy"),
    [("RLMCopyTask", True), ("RLMTask", True), ("RLMExpirationTask", False), ("RLMFollowerTask", False)],
)
def test_a_copy_that_fails_before_it_begins_is_one_too(task, is_copy):
    message = (
        "[RemoteLogManager=1 partition=x:t-3] Current task for partition x:t-3 received error but it will be scheduled"
    )
    thrown = "java.lang.IllegalStateException: This instance is in invalid state, initialized: false"
    found = findings_of(line(message, f"kafka.log.remote.RemoteLogManager${task}", "WARN", thrown))
    assert [(one.topic, one.partition) for one in found] == ([("t", 3)] if is_copy else [])


@pytest.mark.parametrize(
    ("exception", "ran_out"),
    [
        ("java.io.IOException: No space left on device", "space"),
        ("java.io.IOException: Disk quota exceeded", "quota"),
        ("java.io.IOException: Input/output error", None),
    ],
)
def test_what_ran_out_is_told(exception, ran_out):
    assert found_in(failure(exception=exception)).full_by == ran_out


@pytest.mark.parametrize(
    "begun",
    [
        "08 Mar 2026 16:42:33,730 ERROR [kafka-request-handler-3] (LogDirFailureChannel:76) - ",
        "2026-03-08T16:42:33.730 [ERROR] [kafka-request-handler-3] [kafka.server.LogDirFailureChannel] ",
        "2026-03-08 16:42:33.730 ERROR k-7 [worker] k.s.LogDirFailureChannel(76) : ",
        "[2026-03-08 16:42:33,730] ERROR worker/LogDirFailureChannel - ",
        "[ERROR] 2026-03-08 16:42:33,730 {worker} (kafka.server.LogDirFailureChannel): ",
        "2026-03-08 16:42:33,730 ERROR kafka.server.LogDirFailureChannel:76 worker ",
        "2026-03-08 16:42:33,730 ERROR [kafka-request-handler-3] ",
    ],
)
def test_a_failure_is_seen_wherever_a_pattern_puts_the_logger(begun):
    text = f"{begun}Error while appending records to t-3 in dir /d1\njava.io.IOException: Input/output error\n"
    found = found_in(text)
    assert (found.log_dir, found.cause) == ("/d1", Cause.FAILED)


@pytest.mark.parametrize(
    "message",
    [
        "Disk error while writing to recovery point file in directory /d1",
        "Error while writing to highwatermark file in directory /d1",
        "Failed to clean up log for t-0 in dir /d1 due to IOException",
        "Exception while deleting Log(dir=/d1/t-0, topic=t) in dir /d1.",
        "Error while reading partition metadata file /d1/t-0/partition.metadata",
    ],
)
def test_the_words_of_older_releases_are_known_without_a_logger(message):
    found = found_in(f"2026-03-08 16:42:33,730 ERROR [worker] {message}\njava.io.IOException: Input/output error\n")
    assert (found.log_dir, found.cause) == ("/d1", Cause.FAILED)


def test_what_quotes_a_failure_is_none_of_its_own():
    assert (
        findings_of("[2026-03-08 16:42:33,730] WARN Retry after Error while appending records to t-3 in dir /d1\n")
        == []
    )


@pytest.mark.parametrize(
    ("message", "logger"),
    [
        ("Error while reading meta.properties file /d1/meta.properties", "o.a.k.metadata.MetaPropertiesEnsemble"),
        ("Failed to read meta.properties file under dir /d1 due to Input/output error", "k.s.BrokerMetadataCheckpoint"),
        ("Fail to read meta.properties under log directory /d1", "kafka.server.KafkaServer"),
    ],
)
def test_why_a_directory_failed_to_load_stands_in_a_line_of_its_own(message, logger):
    loads = failure("Failed to create or validate data directory /d1", "java.io.IOException: Failed to load /d1")
    news = told(line(message, logger, exception="java.io.IOException: Input/output error"), loads)
    assert [(one.log_dir, one.cause, one.operation) for one in news] == [("/d1", Cause.FAILED, "load")]


def test_the_attributes_of_open_telemetry_hold_the_exception():
    text = (
        '{"severityText":"ERROR","body":"Error while appending records to t-3 in dir /d1","attributes":{'
        '"exception.type":"java.io.IOException","exception.message":"No space left on device"},'
        '"instrumentationScope":{"name":"kafka.server.LogDirFailureChannel"}}\n'
    )
    assert found_in(text).cause is Cause.FULL


def test_the_cause_may_stand_in_the_message_only():
    assert (
        found_in(failure("Error while x in dir /d1: (Too many open files)", "java.lang.RuntimeException")).cause
        == "limit"
    )


def test_a_second_line_about_a_directory_is_no_news_until_the_broker_restarts():
    again = failure("Error while flushing log for u-1 in dir /d1 with offset 1 (exclusive) and recovery point 1")
    assert [news.log_dir for news in told(failure(), again)] == ["/d1"]
    assert [news.log_dir for news in told(failure(), again, START, again)] == ["/d1", "/d1"]
    assert [news.log_dir for news in told(failure(), failure("Error in dir /d10"))] == ["/d1", "/d10"]


def test_the_first_line_that_tells_the_cause_is_news_after_one_that_did_not():
    vague = failure(exception="java.nio.channels.ClosedChannelException")
    assert [news.cause for news in told(vague, vague, failure(), vague)] == [Cause.UNKNOWN, Cause.FULL]


def test_what_was_told_before_our_own_restart_is_no_news_after_it():
    desk = NewsDesk()
    told(failure(), desk=desk)
    assert told(failure(), desk=NewsDesk(desk.told_dirs)) == []


def test_a_partition_given_up_says_why():
    why = fetcher_error("Unexpected error occurred while processing data for partition")
    (news,) = told(why, marked())
    assert "IllegalStateException" in news.detail
    assert news.is_mark


@pytest.mark.parametrize(
    "why",
    [
        fenced(),
        fetcher_error(
            "Error while processing data for partition",
            exception="org.apache.kafka.common.errors.KafkaStorageException: Log directory /d1 is offline",
        ),
        fetcher_error(
            "Failed to truncate",
            exception="org.apache.kafka.common.errors.KafkaStorageException: Log directory /d1 is offline",
        ),
    ],
)
def test_a_partition_given_up_for_its_leader_or_its_directory_is_no_news_of_the_partition(why):
    assert isinstance(found_in(why), MarkExplained)
    assert told(why, marked()) == []
    assert len(told(why, marked(), marked())) == 1


def test_a_bad_partition_is_told_once_in_a_while():
    desk = NewsDesk()
    assert len(told(marked(), marked(), marked("t-1"), desk=desk, now_ms=5)) == 2
    assert told(marked(), desk=desk, now_ms=5 + PARTITION_QUIET_MS - 1) == []
    assert len(told(marked(), desk=desk, now_ms=5 + PARTITION_QUIET_MS)) == 1


def test_a_failed_directory_is_never_told_as_partitions():
    text = line("Error while reading checkpoint file /d1/t-0/leader-epoch-checkpoint", CHANNEL)
    assert isinstance(found_in(text), DirFailed)
