"""What else than the operating system's error an exception says, and who wrote a line where no logger is named."""

import pytest

from logdirwatch.parse.broker_log.causes import damaged_file
from logdirwatch.parse.broker_log.entries import Entries
from logdirwatch.parse.broker_log.failures import BrokerFailed
from logdirwatch.parse.broker_log.findings import DirFailed, findings
from tests.unit.parse.broker_log.logs import line

RENAMING = "Error while renaming dir for t-0 in log dir /d1"
CHECKPOINT = "/d1/t-0/leader-epoch-checkpoint"
# The message of the failure, the exception below it, and the cause.
FAILURES = [
    # apache/kafka#6329 and #12331, bitnami/containers#68539: a share refuses the rename of a folder with open files.
    (RENAMING, "java.nio.file.AccessDeniedException: /d1/t-0 -> /d1/t-0.0af-delete", "rename_refused"),
    (
        RENAMING,
        ("java.nio.file.FileSystemException: /d1/t-0 -> /d1/t-0.0af-delete: Device or resource busy"),
        "rename_refused",
    ),
    (
        "Error while writing to checkpoint file /d1/x",
        "java.nio.file.AccessDeniedException: /d1/x.tmp -> /d1/x",
        "rename_refused",
    ),
    (
        "Error while deleting segments for t-0 in dir /d1",
        ("java.nio.file.FileSystemException: /d1/t-0/1.log -> /d1/t-0/1.log.deleted: Операция не позволена"),
        "rename_refused",
    ),
    (RENAMING, ("java.nio.file.FileSystemException: /d1/t-0 -> /d1/t-0.0af-delete: No space left on device"), "full"),
    (RENAMING, "java.nio.file.NoSuchFileException: /d1/t-0 -> /d1/t-0.0af-delete", "unknown"),
    (
        "Error while rolling log segment for t-0 in dir /d1",
        "java.nio.file.AccessDeniedException: /d1/t-0/1.log",
        "permission",
    ),
    # linkedin/kafka#395 and #401, apache/kafka#8070: a power failure damages small files.
    (
        f"Error while reading checkpoint file {CHECKPOINT}",
        (f"java.io.IOException: Malformed line in checkpoint file ({CHECKPOINT}): '3 x'"),
        "damaged_file",
    ),
    (
        f"Error while reading checkpoint file {CHECKPOINT}",
        (f"java.io.IOException: Expected 4 entries in checkpoint file ({CHECKPOINT}), but found only 2"),
        "damaged_file",
    ),
    ("Error while reading checkpoint file /d1/replication-offset-checkpoint", "java.io.EOFException", "damaged_file"),
    (
        "Error while reading checkpoint file /d1/log-start-offset-checkpoint",
        ("java.io.IOException: Unrecognized version of the checkpoint file (/d1/log-start-offset-checkpoint): 17"),
        "damaged_file",
    ),
    (
        "Failed to access checkpoint file cleaner-offset-checkpoint in dir /d1",
        'java.lang.NumberFormatException: For input string: ""',
        "damaged_file",
    ),
    (
        "Error while reading partition metadata file /d1/t-0/partition.metadata",
        ("java.io.IOException: Invalid format of partition metadata file (/d1/t-0/partition.metadata)"),
        "damaged_file",
    ),
    (
        "Error while reading meta.properties file /d1/meta.properties",
        "java.lang.IllegalArgumentException: Malformed \\uxxxx encoding.",
        "damaged_file",
    ),
    (f"Error while reading checkpoint file {CHECKPOINT}", "java.io.IOException: Input/output error", "failed"),
    (
        f"Error while reading checkpoint file {CHECKPOINT}",
        f"java.nio.file.NoSuchFileException: {CHECKPOINT}",
        "unknown",
    ),
    (
        "Error while writing to checkpoint file /d1/recovery-point-offset-checkpoint",
        "java.io.IOException: 设备上没有空间",
        "full",
    ),
]
CALLERS = [
    "2026-10-13 19:12:08,103 ERROR [kafka-scheduler-1] Logging:76 - {}",
    "2026-10-13 19:12:08,103 ERROR kafka-scheduler-1 Logging:76 {}",
    "2026-10-13 19:12:08,103 [ERROR] [kafka-scheduler-1] [Logging:76] {}",
    "2026-10-13 19:12:08,103 | ERROR | kafka-scheduler-1 | Logging:76 | {}",
    "2026-10-13 19:12:08 ERROR kafka.utils.Logging.error(Logging.scala:76) - {}",
    "2026-10-13 19:12:08 ERROR [kafka-scheduler-1] (Logging.scala:error:76) - {}",
    "2026-10-13 19:12:08.103 ERROR 1 --- [kafka-scheduler-1] k.utils.Logging$class                    : {}",
    "2026-10-13 19:12:08 ERROR LogDirFailureChannel.java:63 - {}",
    "2026-10-13 19:12:08 ERROR [kafka-scheduler-1] Logging - {}",
    "2026-10-13 19:12:08 ERROR ?:? - {}",
    "ERROR 2026-10-13 19:12:08,103 Logging:76 {}",
    "[2026-10-13 19:12:08,103] ERROR {} (Logging.scala:76)",
    "[2026-10-13 19:12:08,103] ERROR {} (kafka.utils.Logging$class:76) [kafka-scheduler-1]",
    '{{"@timestamp":"2026-10-13T19:12:08Z","level":"ERROR","source":{{"class":"kafka.utils.Logging","line":76}},"message":"{}"}}',
    '{{"timestamp":"2026-10-13T19:12:08Z","level":"ERROR","class":"kafka.utils.Logging","message":"{}"}}',
    '{{"@timestamp":"2026-10-13T19:12:08Z","log.level":"ERROR","log.origin":{{"file.name":"Logging.scala"}},"message":"{}"}}',
]
OTHERS = [
    "2026-10-13 19:12:08 ERROR RequestHandler: a client says: {}",
    "2026-10-13 19:12:08 ERROR [a] ClientChannelHandler:12 - says {}",
    "[2026-10-13 19:12:08,103] ERROR {} (kafka.network.Processor)",
]
FATAL = "Exiting Kafka due to fatal exception during startup."
# What ends a broker, and the reason that it gives.
ENDS = [
    # KAFKA-14240.
    (
        FATAL,
        (
            "IllegalStateException: Inconsistent snapshot state: there must be a snapshot at an offset larger then the "
            "current log start offset 100, but the latest snapshot is None"
        ),
        "metadata_fault",
    ),
    (
        FATAL,
        "java.lang.IllegalArgumentException: Failed to read snapshot with id OffsetAndEpoch(offset=9, epoch=2)",
        "metadata_fault",
    ),
    (
        FATAL,
        (
            "UncheckedIOException: Error while reading the Quorum status from the file /m/quorum-state: Unexpected "
            "end-of-input, com.fasterxml.jackson.core.io.JsonEOFException"
        ),
        "metadata_fault",
    ),
    (FATAL, f"java.io.IOException: Malformed line in checkpoint file ({CHECKPOINT}): 'x'", "damaged_file"),
    (FATAL, "java.nio.file.AccessDeniedException: /d1/meta.properties.tmp -> /d1/meta.properties", "rename_refused"),
    (FATAL, "java.io.IOException: Input/output error", "disk_failed"),
    (FATAL, "java.io.IOException: Structure needs cleaning", "disk_failed"),
    (FATAL, "java.net.ConnectException: Connection refused", "other"),
    (FATAL, "java.io.IOException: Map failed", "limit"),
    (FATAL, "java.lang.OutOfMemoryError: Map failed", "limit"),
]
HS_ERR = [
    ("INFO: os::commit_memory(0x00007f4e0ff1b000, 65536, 1) failed; error='Not enough space' (errno=12)", "limit"),
    ("INFO: os::commit_memory(0x00007f4e0ff1b000, 16384, 0) failed; error='无法分配内存' (errno=12)", "limit"),
    (
        "INFO: os::commit_memory(0x00000000c0000000, 1073741824, 0) failed; error='Cannot allocate memory' (errno=12)",
        "out_of_memory",
    ),
]


def found_in(text, log_dirs=("/d1", "/d10")):
    cut = Entries()
    entries = [*cut.feed(text.encode()), *cut.end()]
    return [found for entry in entries for found in findings(entry, log_dirs)]


@pytest.mark.parametrize(("message", "exception", "cause"), FAILURES)
def test_the_exception_tells_why_a_directory_failed(message, exception, cause):
    (found,) = found_in(line(message, exception=exception))
    assert (found.log_dir, found.cause) == ("/d1", cause)
    assert (damaged_file(found.detail) is not None) is (cause == "damaged_file")


@pytest.mark.parametrize("layout", CALLERS)
def test_where_a_pattern_has_the_caller_the_wording_decides(layout):
    text = (
        layout.format("Error while rolling log segment for t-5 in dir /d1")
        + "\njava.io.IOException: Input/output error\n"
    )
    (found,) = found_in(text)
    assert (type(found), found.log_dir, found.cause) == (DirFailed, "/d1", "failed")


@pytest.mark.parametrize("layout", OTHERS)
def test_the_same_words_of_somebody_else_are_no_failure(layout):
    assert found_in(layout.format("Error while rolling log segment for t-5 in dir /d1")) == []


@pytest.mark.parametrize(("message", "exception", "reason"), ENDS)
def test_a_broker_that_ends_says_what_is_damaged_or_refused(message, exception, reason):
    (found,) = found_in(line(message, "kafka.Kafka$", exception=exception))
    assert (type(found), found.reason) == (BrokerFailed, reason)


@pytest.mark.parametrize(("warning", "reason"), HS_ERR)
def test_a_few_pages_that_cannot_be_mapped_are_a_limit_and_a_heap_is_memory(warning, reason):
    (found,) = found_in(f"OpenJDK 64-Bit Server VM warning: {warning}\n")
    assert found.reason == reason
