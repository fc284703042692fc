"""One table of the operating system's errors, whoever reads them and whatever language they are in."""

import pytest

from logdirwatch.model.broker_failures import BY_CAUSE
from logdirwatch.model.vocabulary import Cause
from logdirwatch.parse.broker_log.causes import cause_of, full_by
from logdirwatch.parse.broker_log.entries import Entry
from logdirwatch.parse.broker_log.failures import broker_failed
from logdirwatch.parse.broker_log.process_ends import reason_in_log_of_host, reason_of
from logdirwatch.parse.os_errors import ERRORS, decoded_line, os_error_in, words_of
from tests.support.tables import rows

# Those of no space, a limit of files, an I/O error, a mount that is read-only, and a permission.
CAUSES = ("full", "limit", "failed", "read_only", "permission")
ROWS = [(words, cause) for _, *told in rows("os_errors") for words, cause in zip(told, CAUSES, strict=True)]
SCRIPTS = [
    ("mkdir: cannot create directory '/d1': {}", False),
    ("mkdir: 无法创建目录 “/d1”: {}", False),
    ("chown: changing ownership of '/d1': {}", False),
    ("/opt/start.sh: line 47: /d1/x: {}", False),
    ("/opt/start.sh: Zeile 47: /d1/x: {}", False),
    ("/opt/start.sh: 第 47 行：/d1/x: {}", False),
    ("/docker-entrypoint.sh: 12: cannot create /d1/x: {}", False),
    ("curl: (7) Failed to connect: {}", True),
    ("backup finished in /d1: {}", True),
]
BY_NUMBER = [
    ("error='?????' (errno=12)", "ENOMEM"),
    ("OSError: [Errno 28] ????", "ENOSPC"),
    ("write failed (os error 5)", "EIO"),
    ("JBD2: Error -30 detected", "EROFS"),
    ("open: errno: 24", "EMFILE"),
    ("java.io.IOException: Unknown error 117", "EUCLEAN"),
    ("Unknown error: 28", "ENOSPC"),
    ("System error 5 has occurred", None),
    ("Unknown error 524", None),
    ("an unknown error in 5 partitions", None),
    ("errno 999", None),
    ("the directory /EIO/x and the topic a.EIO", None),
    ("KafkaStorageException: error code 56", None),
]


@pytest.mark.parametrize(("words", "cause"), ROWS)
def test_a_directory_a_start_and_a_script_read_the_same_words_alike(words, cause):
    thrown = f"java.io.IOException: {words}"
    assert cause_of(thrown) == cause
    failed = broker_failed(Entry("", "FATAL", "kafka.Kafka$", "Exiting Kafka due to fatal exception", (thrown,)))
    assert failed is not None
    assert failed.reason == BY_CAUSE[Cause(cause)]


@pytest.mark.parametrize(("line", "is_of_others"), SCRIPTS)
@pytest.mark.parametrize(
    "words", ["No space left on device", "只读文件系统", "Keine Berechtigung", "Input/output error"]
)
def test_a_script_or_its_tool_says_what_it_was_refused(line, is_of_others, words):
    expected = None if is_of_others else BY_CAUSE[cause_of(words)]
    assert reason_of(line.format(words)) == expected
    assert reason_in_log_of_host(line.format(words)) is None


@pytest.mark.parametrize(("text", "name"), BY_NUMBER)
def test_a_number_says_more_than_words(text, name):
    error = os_error_in(text)
    assert (error and error.name) == name


@pytest.mark.parametrize("error", [error for error in ERRORS if error.is_translated], ids=lambda error: error.name)
def test_the_words_of_every_language_are_read_as_their_own_class_of_causes(error):
    assert len(words_of(error)) >= 15
    for words in words_of(error):
        found = os_error_in(f"java.io.IOException: {words}")
        assert found is not None
        assert found.cause is error.cause, words


@pytest.mark.parametrize(
    "words", ["Disk quota exceeded", "超出磁盘限额", "Límite de cuota (errno=122)", "Quota exceeded"]
)
def test_a_quota_is_told_from_a_full_disk_in_any_language(words):
    assert full_by(words, Cause.FULL) == "quota"


@pytest.mark.parametrize(
    ("words", "encoding"),
    [
        ("Aucun espace disponible sur le périphérique", "latin-1"),
        ("Auf dem Gerät ist kein Speicherplatz mehr verfügbar", "cp1252"),
        ("Brak miejsca na urządzeniu", "iso8859_2"),
        ("На устройстве не осталось свободного места", "koi8_r"),
        ("设备上没有空间", "gb18030"),
        ("デバイスに空き領域がありません", "euc_jp"),
    ],
)
def test_the_words_are_read_in_the_encoding_of_an_older_locale_too(words, encoding):
    found = os_error_in(decoded_line(f"java.io.IOException: {words}".encode(encoding)))
    assert found is not None
    assert found.name == "ENOSPC"
