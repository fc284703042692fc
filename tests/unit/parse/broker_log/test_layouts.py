"""Whatever the layout of a broker's log, it says the same."""

import dataclasses

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from logdirwatch.parse.broker_log.entries import Entries
from logdirwatch.parse.broker_log.findings import findings
from tests.unit.parse.broker_log.layouts import LAYOUTS, PREFIXES, told, translated
from tests.unit.parse.broker_log.logs import CHANNEL, NOISE, START, failure, fenced, fetcher_error, line, marked

LOG_DIRS = ("/d1", "/d10")
EXCEPTION = "java.io.IOException: Map failed\nCaused by: java.lang.OutOfMemoryError: Map failed"
FINDINGS = {
    "a start": START,
    "nothing": NOISE,
    "a full disk": failure(),
    "a limit": failure(
        "Error while flushing log for t-0 in dir /d10 with offset 5 (exclusive) and recovery point 5", EXCEPTION
    ),
    "no exception": line("Error while writing to checkpoint file /d1/t-0/leader-epoch-checkpoint"),
    "a partition given up": marked("a.b_c-d-12"),
    "a new leader": fenced(),
    "a fetcher": fetcher_error("Unexpected error occurred while processing data for partition"),
    "a corrupt record": line(
        "[ReplicaManager broker=1] Error processing fetch with max size 1 from consumer on partition t-0: x",
        "kafka.server.ReplicaManager",
        exception="org.apache.kafka.common.errors.CorruptRecordException: Record size is less than 14",
    ),
}
FINDINGS |= {
    "a refused start": line(
        "Exiting Kafka due to fatal exception",
        "kafka.Kafka$",
        exception="java.lang.RuntimeException: No readable meta.properties files found.",
    ),
    "a foreign folder": line(
        "There was an error in one of the threads during logs loading: org.apache.kafka.common.KafkaException: Found "
        "directory /d1/lost+found, 'lost+found' is not in the form of topic-partition or x.",
        "kafka.log.LogManager",
    ),
    "a halt": line("Shutdown broker because the metadata log dir /d1 has failed", "kafka.log.LogManager", "FATAL"),
    "a fault": line(
        "Encountered fatal fault: Unexpected error in raft IO thread",
        "org.apache.kafka.server.fault.ProcessTerminatingFaultHandler",
        exception="kafka.common.UnexpectedAppendOffsetException: Unexpected offset in append to __cluster_metadata-0.",
    ),
    "a signal": line("Terminating process due to signal SIGTERM", "x.y.LoggingSignalHandler", "INFO"),
    "a heartbeat": line(
        "[BrokerLifecycleManager id=7] Unable to send a heartbeat because the RPC got timed out",
        "kafka.server.BrokerLifecycleManager",
        "WARN",
    ),
    "memory": line(
        "Uncaught exception in scheduled task 'flush-log'",
        "org.apache.kafka.server.util.KafkaScheduler",
        exception="java.lang.OutOfMemoryError: Java heap space",
    ),
    "the cleaner": line(
        "Unexpected exception thrown when cleaning log Log(dir=/d1/t-0, topic=t, partition=0). "
        "Marking its partition (t-0) as uncleanable",
        "org.apache.kafka.storage.internals.log.LogCleaner",
        "WARN",
        "org.apache.kafka.storage.internals.log.LogCleaningException: y\nCaused by: java.lang.IllegalStateException: z",
    ),
    "a coordinator": line(
        "[GroupCoordinator id=1] Failed to load metadata from __consumer_offsets-13 with epoch 5 due to x.",
        "org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime",
        exception="org.apache.kafka.common.errors.CorruptRecordException: in /d10/__consumer_offsets-13/0.log.",
    ),
    "a remote copy": line(
        "[RemoteLogManager=1 partition=X:orders-3] Error occurred while copying log segments of partition: X:orders-3",
        "org.apache.kafka.server.log.remote.storage.RemoteLogManager$RLMCopyTask",
        exception="org.apache.kafka.server.log.remote.storage.RemoteStorageException: 403",
    ),
}


def read(text):
    entries = Entries()
    found = [*entries.feed(text.encode()), *entries.end()]
    assert entries.not_understood_lines == 0
    return found


def meanings(text):
    found = [one for entry in read(text) for one in findings(entry, LOG_DIRS)]
    # The detail names the time in the broker's own words, which its layout decides.
    return [
        dataclasses.replace(one, detail=str(one.detail).partition(" (in the broker's log")[0])
        if hasattr(one, "detail")
        else one
        for one in found
    ]


WANTED = {name: meanings(text) for name, text in FINDINGS.items()}


@given(st.sampled_from(sorted(LAYOUTS)), st.sampled_from(sorted(PREFIXES)), st.lists(st.sampled_from(sorted(FINDINGS))))
@example("ECS", "docker json-file", ["a limit", "a start"])
def test_in_any_layout_behind_any_prefix_a_log_means_the_same(layout, prefix, names):
    text = "".join(translated(FINDINGS[name], layout, prefix) for name in names)
    assert meanings(text) == [found for name in names for found in WANTED[name]]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_failure_is_read_in_every_layout_with_its_exception(layout):
    message = "Error while appending records to orders-0 in dir /d1"
    (entry,) = read(told(layout, "ERROR", CHANNEL, message, "java.io.IOException: No space left on device"))
    assert entry.message == message
    assert "java.io.IOException: No space left on device" in entry.exception
    assert "\tat " not in entry.exception


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("layout", ["Apache", "Strimzi since 4.0", "Cloudera", "no date"])
def test_an_exception_stays_with_its_entry_behind_every_prefix(layout, prefix):
    text = told(layout, "ERROR", CHANNEL, "Error while rolling log segment for t-0 in dir /d1", EXCEPTION, prefix)
    first, _ = read(text + told(layout, "INFO", "kafka.log.LogManager", "next", prefix=prefix))
    assert first.exception.splitlines() == EXCEPTION.splitlines()


@pytest.mark.parametrize(
    "prefix", ["my-cluster-kafka-0 kafka ", "node=7 app=kafka: ", "kafka/0: ", "{broker 7} ", "k8s|prod|kafka-0|812|> "]
)
def test_a_prefix_that_nobody_knows_is_learnt_from_the_line_whose_date_stands_behind_it(prefix):
    lines = failure(exception=EXCEPTION).splitlines()
    (entry,) = read("".join(f"{prefix}{text}\n" for text in lines))
    assert entry.message == "Error while rolling log segment for t-0 in dir /d1"
    assert entry.exception.splitlines() == EXCEPTION.splitlines()


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("what is this\nand this\n\n", 2),
        ("failure|LogDirFailureChannel|/d1\njava.io.IOException: No space left on device\n", 2),
        (NOISE + "a word\n" * 60, 10),
        (NOISE + "\tconfig = value\n" * 500, 0),
        ('{"some": "object"}\n', 1),
        ('{\n  "some": "object"\n}\n', 3),
        ('{\n  "some":\n', 2),
        (NOISE + '{\n  "message": "m",\n  "level": "INFO"\n}\n', 0),
        ("[0.004s][info][gc] Using G1\nSLF4J: x\nlog4j:WARN y\nPicked up JAVA_TOOL_OPTIONS: z\n", 0),
        ("", 0),
    ],
)
def test_lines_that_begin_no_entry_and_belong_to_none_are_counted(text, lines):
    entries = Entries()
    list(entries.feed(text.encode()))
    list(entries.end())
    assert entries.not_understood_lines == lines


@pytest.mark.parametrize(
    "text",
    [
        'Exception in thread "main" java.lang.UnsupportedClassVersionError: kafka/Kafka',
        "Error occurred during initialization of VM",
        "OpenJDK 64-Bit Server VM warning: INFO: os::commit_memory(0x1, 2, 0) failed; error='Not enough space'",
        "Terminating due to java.lang.OutOfMemoryError: Java heap space",
    ],
)
def test_what_the_java_machine_writes_is_an_entry_without_a_date(text):
    (entry,) = read(f"{text}\n\tat x.y(Z.java:1)\n")
    assert (entry.message, entry.at) == (text, "")


def test_a_date_alone_begins_no_entry():
    """A container runtime dates the lines of an exception as well."""
    (entry,) = read(failure().splitlines()[0] + "\n2026-03-08T16:42:33.730Z java.io.IOException: Input/output error\n")
    assert entry.exception == "java.io.IOException: Input/output error"


@pytest.mark.parametrize("text", ["[", "{", "A" * 60_000 + "a" * 5_000, " " * 60_000, "a." * 30_000, "ERROR " * 9_000])
def test_a_strange_line_takes_no_time_and_hurts_nothing(text):
    for begin in ("", "[2026-03-01 16:22:07,079] ERROR ", "2026-03-01 16:22:07 "):
        list(Entries().feed(f"{begin}{text}\n".encode()))


@given(st.text(max_size=200))
def test_any_line_is_read(text):
    entries = Entries()
    assert len([*entries.feed(text.encode(errors="replace")), *entries.end()]) <= text.count("\n") + 1
