"""Why a broker refused to start, halted or was fenced, as its log says it."""

import pytest

from logdirwatch.collect.host.news import FAILURE_QUIET_MS, NewsDesk
from logdirwatch.parse.broker_log.entries import Entries
from logdirwatch.parse.broker_log.failures import DETAIL_CHARACTERS, BrokerFailed
from logdirwatch.parse.broker_log.findings import Started, findings
from tests.support.tables import rows
from tests.unit.parse.broker_log.logs import NOISE, START, failure, line

FATAL = "Exiting Kafka due to fatal exception"
FAULT = "Encountered fatal fault: "
STARTUP = "[BrokerServer id=7] Fatal error during broker startup. Prepare to shutdown"
FOREIGN = (
    "org.apache.kafka.common.KafkaException: Found directory /d0/lost+found, 'lost+found' is not in the form of "
    "topic-partition or topic-partition.uniqueId-delete (if marked for deletion)."
)
JAVA = "org.apache.kafka.common."

BARE = rows("broker_log/before_the_log")


def ended(message, exception=""):
    return line(message, "kafka.Kafka$", exception=exception)


def findings_of(text):
    cut = Entries()
    entries = [*cut.feed(text.encode()), *cut.end()]
    return [found for entry in entries for found in findings(entry, ("/d0", "/d1"))]


def told(*texts, desk=None, now_ms=0):
    desk = desk or NewsDesk()
    found = findings_of("".join(texts))
    return [news for one in found if (news := desk.news(one, now_ms)) is not None]


@pytest.mark.parametrize(("message", "exception", "reason"), rows("broker_log/ends"))
def test_the_log_tells_why_a_broker_ends(message, exception, reason):
    (found,) = findings_of(line(message, "kafka.Kafka$", exception=exception))
    assert isinstance(found, BrokerFailed)
    assert found.reason == reason
    assert len(found.detail) <= DETAIL_CHARACTERS
    assert "\n" not in found.detail


@pytest.mark.parametrize(("text", "reason"), BARE)
def test_java_tells_why_it_does_not_start_it(text, reason):
    assert [found.reason for found in findings_of(f"{text}\n")] == [reason]


@pytest.mark.parametrize("first", [text for text, reason in BARE if reason == "java" and "create the" not in text])
def test_what_java_says_first_is_told_and_not_that_it_could_not_be_created(first):
    (news,) = told(f"{first}\n", "Error: Could not create the Java Virtual Machine.\n")
    assert first.removeprefix("[0.001s][error][logging] ")[:60] in news.detail


QUORUM = "java.io.UncheckedIOException: Error while writing the Quorum status from the file /d0/__cluster/quorum-state"
CHECKPOINT = "x.KafkaStorageException: Error while writing to checkpoint file /d1/t-0/leader-epoch-checkpoint"
NO_SPACE = "java.io.IOException: No space left on device"


@pytest.mark.parametrize(
    ("message", "thrown", "names"),
    [
        (
            FAULT + "Unexpected error in raft IO thread",
            [QUORUM, f"Caused by: {NO_SPACE}"],
            "/d0/__cluster/quorum-state",
        ),
        (FATAL, [CHECKPOINT, f"Caused by: {NO_SPACE}"], "/d1/t-0/leader-epoch-checkpoint"),
        (FATAL, [CHECKPOINT, "Caused by: java.io.IOException: Disk quota exceeded"], "/d1/t-0/"),
        (FATAL, [CHECKPOINT, "Caused by: java.io.IOException: Read-only file system"], "/d1/t-0/"),
        (FATAL, [CHECKPOINT, "Caused by: java.io.IOException: Permission denied"], "/d1/t-0/"),
        (FATAL, ["x.Outer: y", f"Caused by: {CHECKPOINT}", f"Caused by: {NO_SPACE}"], "/d1/t-0/"),
        (FATAL, [QUORUM, f"Caused by: {CHECKPOINT}", f"Caused by: {NO_SPACE}"], "/d1/t-0/"),
        (f"{STARTUP} in /d1", ["x.Outer: y", f"Caused by: {NO_SPACE}"], "/d1"),
        (FATAL, ["java.io.FileNotFoundException: /d1/x.tmp (No space left on device)"], "/d1/x.tmp"),
        (FATAL, [CHECKPOINT, "Caused by: java.nio.file.FileSystemException: /d1/y: Read-only file system"], "/d1/y"),
    ],
)
def test_an_error_that_names_no_file_is_told_with_what_names_one(message, thrown, names):
    (found,) = findings_of(line(message, "kafka.Kafka$", exception="\n".join(thrown)))
    assert names in found.detail
    assert thrown[-1].removeprefix("Caused by: ") in found.detail
    assert found.detail.count(" file /") <= 1


def test_an_error_without_any_file_is_told_as_it_is():
    (found,) = findings_of(line(FATAL, "kafka.Kafka$", exception=f"x.Outer: y\nCaused by: {NO_SPACE}"))
    assert found.detail == f"a disk is full, or a quota is used up: Caused by: {NO_SPACE}"


def test_the_detail_is_the_line_that_says_so():
    (found,) = findings_of(line(STARTUP, "x.y.Z", exception=f"java.lang.Exception: x\nCaused by: {FOREIGN}"))
    assert found.detail.startswith("a folder or file in a log directory is not Kafka's own: Caused by: ")
    assert "/d0/lost+found" in found.detail
    assert found.log_dir == "/d0"


@pytest.mark.parametrize(
    "quoted", ['password="s3cret word"', "password=s3cret", "client.secret: s3cret", "token='s3cret'"]
)
def test_a_secret_that_a_refused_setting_quotes_is_hidden(quoted):
    exception = f"{JAVA}config.ConfigException: Invalid value PlainLoginModule required {quoted}; for configuration x"
    (found,) = findings_of(ended(FATAL, exception))
    assert "s3cret" not in found.detail
    assert found.detail.endswith("[hidden]; for configuration x")


def test_a_signal_is_told_though_it_is_no_error():
    text = line("Terminating process due to signal SIGTERM", "x.y.LoggingSignalHandler", "INFO")
    assert [found.reason for found in findings_of(text)] == ["stopped"]


@pytest.mark.parametrize(
    "text",
    [
        NOISE,
        failure(),
        line("[SocketServer listenerType=BROKER, nodeId=7] Failed authentication", "x.y", "INFO"),
        line(
            "[SocketServer] x", "x.Selector", exception="org.apache.kafka.common.errors.SslAuthenticationException: x"
        ),
        line("[GroupCoordinator 7]: fatal error of member a-1", "x.y", "INFO"),
        line("[ReplicaFetcher replicaId=1] Error", "x.y", exception=f"{JAVA}errors.InconsistentTopicIdException: x"),
        line(
            "[Producer clientId=a] got a fatal error", "x.y", exception=f"{JAVA}errors.TopicAuthorizationException: x"
        ),
        line("Unexpected error in plugin", "x.y", exception="java.lang.NoClassDefFoundError: x"),
        'Exception in thread "jmx" java.net.BindException: Address already in use\n',
        "kafka 12:33:01.30 WARN  ==> Kafka has been configured with a PLAINTEXT listener\n",
        "mkdir: created directory '/d0'\n",
        line("Failed to x", "x.y", "WARN", "java.nio.file.FileSystemException: /d0/t-0: Read-only file system"),
        "OpenJDK 64-Bit Server VM warning: Option UseConcMarkSweepGC was deprecated in version 9.0\n",
        line(
            "[QuorumController id=7] registerBroker: failed",
            "x.y",
            "WARN",
            "org.apache.kafka.common.errors.DuplicateBrokerRegistrationException: Another broker is registered",
        ),
        line("Failed to clean up x", "x.y", "WARN", "java.io.IOException: Too many open files"),
        line(
            "[Broker id=7] Unable to start fetching t-0 with topic ID a due to a storage error x",
            "state.change.logger",
            exception="java.io.IOException: No space left on device",
        ),
        line("[MetadataLoader id=7] initializeNewPublishers: the loader is still catching up", "x.y", "INFO"),
    ],
)
def test_what_a_running_broker_says_of_others_is_no_end_of_its_own(text):
    assert not any(isinstance(found, BrokerFailed) for found in findings_of(text))


def test_the_first_line_that_names_the_reason_is_told_and_its_consequences_are_not():
    first, second = (ended(FATAL, FOREIGN), ended("Shutdown broker because all log dirs in /d0 have failed"))
    assert [news.reason for news in told(first, first, second)] == ["foreign_folder"]


@pytest.mark.parametrize("little", [ended(STARTUP, "java.lang.Exception"), ended("Unable to send a heartbeat x")])
def test_a_line_that_says_more_follows_one_that_says_little(little):
    assert [news.reason for news in told(little, ended(FATAL, FOREIGN))][-1] == "foreign_folder"


def test_each_start_that_fails_is_told_again():
    refused = ended(FATAL, FOREIGN)
    assert len(told(START, refused, START, refused)) == 2


def test_what_failed_before_the_present_run_is_history():
    desk = NewsDesk()
    found = findings_of(ended(FATAL, FOREIGN) + START)
    assert found[-1] == Started()
    assert desk.of_present_run(found, 0) == []


def test_another_reason_is_news_once_the_first_is_no_longer_its_cause():
    desk, halted = NewsDesk(), ended("Shutdown broker because the metadata log dir /d0 has failed")
    memory = line("x", "x.y", exception="java.lang.OutOfMemoryError: Java heap space")
    assert len(told(memory, desk=desk)) == 1
    assert told(halted, desk=desk, now_ms=FAILURE_QUIET_MS - 1) == []
    assert [news.reason for news in told(halted, desk=desk, now_ms=FAILURE_QUIET_MS)] == ["metadata_directory_failed"]


def test_a_halt_for_its_directories_says_why_they_failed():
    news = told(failure("Error in dir /d0"), ended("Shutdown broker because the metadata log dir /d0 has failed"))
    assert news[-1].detail.endswith("has failed (/d0: full)")


@pytest.mark.parametrize(
    ("thrown", "why"),
    [
        ("java.io.IOException: No locks available", "No locks available"),
        ("java.nio.file.FileSystemException: /d0/.lock: Invalid argument", "/d0/.lock: Invalid argument"),
        (f"java.nio.file.FileSystemException: /{'d' * 300}: Some new words", "Some new words"),
        ("java.nio.file.NoSuchFileException: /d0/.lock", "NoSuchFileException: /d0/.lock"),
        ("java.io.IOException: No space left on device", "(/d0: full)"),
    ],
)
def test_a_refused_start_repeats_why_its_directory_was_refused(thrown, why):
    refused = line("Disk error while locking directory /d0", exception=thrown)
    end = ended("Shutdown broker because none of the specified log dirs from /d0 can be created or validated")
    assert why in told(refused, end)[-1].detail
