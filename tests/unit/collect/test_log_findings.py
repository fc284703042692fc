"""What a line of the broker's log means: which directory, why, doing what; or one partition only."""

import pytest

from logdirwatch.collect.log_findings import DirFailed, MarkExplained, PartitionBad, Started, finding
from logdirwatch.collect.log_lines import Entries
from logdirwatch.collect.log_news import PARTITION_QUIET_MS, NewsDesk
from logdirwatch.model.vocabulary import Cause
from tests.unit.collect.logs import CHANNEL, NOISE, START, failure, fenced, fetcher_error, line, marked

LOG_DIRS = ("/d1", "/d1/nested", "/mnt/disk 2/kafka", "/d10")
CLEANER = "org.apache.kafka.storage.internals.log.LogCleaner"


def findings_of(text, log_dirs=LOG_DIRS):
    cut = Entries()
    entries = [*cut.feed(text.encode()), *cut.end()]
    return [found for entry in entries if (found := finding(entry, log_dirs)) is not None]


def found_in(text, log_dirs=LOG_DIRS):
    (found,) = findings_of(text, log_dirs)
    return found


def told(*texts, desk=None, now_ms=0):
    desk = desk or NewsDesk()
    found = findings_of("".join(texts))
    return [news for one in found if (news := desk.news(one, now_ms)) is not None]


@pytest.mark.parametrize(
    ("exception", "cause"),
    [
        ("java.io.IOException: No space left on device", Cause.FULL),
        ("java.io.IOException: Disk quota exceeded", Cause.FULL),
        ("java.nio.file.FileSystemException: /d1/t-0/1.log: Too many open files", Cause.LIMIT),
        ("java.io.IOException: Map failed", Cause.LIMIT),
        ("java.io.FileNotFoundException: /d1/x.tmp (Read-only file system)", Cause.READ_ONLY),
        ("java.io.FileNotFoundException: /d1/x.tmp (Permission denied)", Cause.PERMISSION),
        ("java.nio.file.AccessDeniedException: /d1/t-0", Cause.PERMISSION),
        ("java.io.IOException: Input/output error", Cause.FAILED),
        ("java.io.FileNotFoundException: /d1/x.tmp (Not a directory)", Cause.FAILED),
        ("java.io.IOException: Structure needs cleaning", Cause.FAILED),
        ("java.io.IOException: Stale file handle", Cause.FAILED),
        ("java.nio.file.NoSuchFileException: /d1/t-0/1.log", Cause.UNKNOWN),
        ("java.nio.channels.ClosedChannelException", Cause.UNKNOWN),
        ("", Cause.UNKNOWN),
    ],
)
def test_the_exception_tells_the_cause(exception, cause):
    assert found_in(failure(exception=exception)).cause == cause


def test_a_cause_of_a_cause_tells_it_too():
    exception = (
        "java.io.IOException: could not write\n\tat x.y(Z.java:1)\nCaused by: java.io.IOException: Input/output error"
    )
    assert found_in(failure(exception=exception)).cause == Cause.FAILED


@pytest.mark.parametrize(
    ("message", "operation", "log_dir"),
    [
        ("Error while appending records to t-0 in dir /d1", "append", "/d1"),
        ("Failed to append records from position 7 in /d1/t-0/00000000000000000000.log", "append", "/d1"),
        ("Error while rolling log segment for t-0 in dir /d1", "roll", "/d1"),
        (
            "Error while flushing log for t-0 in dir /mnt/disk 2/kafka with offset 5 (exclusive) and recovery point 5",
            "flush",
            "/mnt/disk 2/kafka",
        ),
        ("Error while writing to checkpoint file /d1/recovery-point-offset-checkpoint", "checkpoint", "/d1"),
        ("Error while writing to checkpoint file /d1/t-0/leader-epoch-checkpoint", "checkpoint", "/d1"),
        ("Error while reading partition metadata file /d10/t-0/partition.metadata", "checkpoint", "/d10"),
        ("Error while writing to highwatermark file in directory /d1", "checkpoint", "/d1"),
        ("Failed to clean up log for t-0 in dir /d1 due to IOException", "clean", "/d1"),
        ("Failed to access checkpoint file cleaner-offset-checkpoint in dir /d1", "clean", "/d1"),
        ("Error while deleting segments for t-0 in dir /d1", "delete", "/d1"),
        ("Exception while deleting Log(dir=/d1/t-0.1a-delete, topicId=x, topic=t) in dir /d1.", "delete", "/d1"),
        ("Error while renaming dir for t-0 in log dir /d1", "rename", "/d1"),
        ("Error while truncating log to offset 3 for t-0 in dir /d1", "truncate", "/d1"),
        ("Exception while reading from FileRecords(size= 3, file=x) in dir /d1", "read", "/d1"),
        ("Error while fetching offset by timestamp for t-0 in dir /d1", "read", "/d1"),
        ("Disk error while locking directory /d1", "lock", "/d1"),
        ("Error while loading log dir /d1", "load", "/d1"),
        ("Error while creating log for t-0 in dir /d1", "create", "/d1"),
        ("Failed to create or validate data directory /d1", "create", "/d1"),
        ("Error while rolling log segment for t-0 in dir /d1/nested", "roll", "/d1/nested"),
        ("Something new about /d1", "unknown operation", "/d1"),
    ],
)
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


def test_older_releases_named_the_channel_differently():
    text = line("Error while rolling log segment for t-0 in dir /d1", "kafka.server.LogDirFailureChannel")
    assert isinstance(found_in(text), DirFailed)


@pytest.mark.parametrize(
    "text", [START, line("[BrokerServer id=1] Transition from SHUTDOWN to STARTING", "x.B", "INFO")]
)
def test_a_start_of_the_broker_is_recognised(text):
    assert found_in(text) == Started()


@pytest.mark.parametrize(
    "text",
    [
        NOISE,
        line("Stopping serving logs in dir /d1", "kafka.log.LogManager", "WARN"),
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


def test_the_cleaner_tells_the_directory_of_a_bad_partition():
    text = line(
        "Unexpected exception thrown when cleaning log Log(dir=/d1/a.b-c-12, topicId=x, topic=a.b-c, partition=12). "
        "Marking its partition (a.b-c-12) as uncleanable",
        CLEANER,
        "WARN",
        "org.apache.kafka.common.errors.CorruptRecordException: Found record size 0",
    )
    found = found_in(text)
    assert (found.topic, found.partition, found.log_dir) == ("a.b-c", 12, "/d1")


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
