"""What else than the operating system's error an exception says, and who wrote a line where no logger is named."""

import pytest

from logdirwatch.parse.broker_log.causes import damaged_file
from logdirwatch.parse.broker_log.entries import Entries
from logdirwatch.parse.broker_log.failures import BrokerFailed
from logdirwatch.parse.broker_log.findings import DirFailed, findings
from tests.support.tables import rows
from tests.unit.parse.broker_log.logs import line

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


@pytest.mark.parametrize(("message", "exception", "cause"), rows("broker_log/failures"))
def test_the_exception_tells_why_a_directory_failed(message, exception, cause):
    (found,) = found_in(line(message, exception=exception))
    assert (found.log_dir, found.cause) == ("/d1", cause)
    assert (damaged_file(found.detail) is not None) is (cause == "damaged_file")


@pytest.mark.parametrize(("layout", "found"), rows("broker_log/callers"))
def test_where_a_pattern_has_the_caller_the_wording_decides_unless_another_program_says_it(layout, found):
    said = layout.format("Error while rolling log segment for t-5 in dir /d1")
    told = found_in(f"{said}\njava.io.IOException: Input/output error\n")
    expected = [(DirFailed, "/d1", "failed")] if found else []
    assert [(type(one), one.log_dir, one.cause) for one in told] == expected


@pytest.mark.parametrize(("message", "exception", "reason"), rows("broker_log/damaged"))
def test_a_broker_that_ends_says_what_is_damaged_or_refused(message, exception, reason):
    (found,) = found_in(line(message, "kafka.Kafka$", exception=exception))
    assert (type(found), found.reason) == (BrokerFailed, reason)


@pytest.mark.parametrize(("warning", "reason"), HS_ERR)
def test_a_few_pages_that_cannot_be_mapped_are_a_limit_and_a_heap_is_memory(warning, reason):
    (found,) = found_in(f"OpenJDK 64-Bit Server VM warning: {warning}\n")
    assert found.reason == reason
