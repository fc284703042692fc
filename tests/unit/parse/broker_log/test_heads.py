"""The first line of an entry: its time, level, logger and message, and the lines that begin none."""

import pytest

from logdirwatch.parse.broker_log.heads import Head, head, head_of

AT = "2026-03-08 16:42:33,730"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (f"[{AT}] ERROR said (a.B)", (AT, "ERROR", "a.B", "said")),
        (f"[{AT}] INFO said (more) (a.B$)", (AT, "INFO", "a.B$", "said (more)")),
        (f"{AT} WARN said (a.B) [thread-1]", (AT, "WARN", "a.B", "said")),
        (f"{AT} ERROR said [a.B] (thread-1)", (AT, "ERROR", "a.B", "said")),
        (f"[{AT}] ERROR [thread-1] a.B - said", (AT, "ERROR", "a.B", "said")),
        (f"{AT} ERROR [thread-1] LogManager:60 - said", (AT, "ERROR", "LogManager:60", "said")),
        (f"{AT} ERROR a.B: said", (AT, "ERROR", "a.B", "said")),
        (f"{AT} ERROR [LogManager] [thread] said", (AT, "ERROR", "LogManager", "said")),
        (f"{AT} ERROR <LogManager:60> [thread] said", (AT, "ERROR", "LogManager:60", "said")),
        (f"{AT} ERROR a.B Said", (AT, "ERROR", "a.B", "Said")),
        (f"{AT} ERROR said", (AT, "ERROR", "", "said")),
        (f"{AT} [error] said", (AT, "ERROR", "", "said")),
        (f"{AT} error said (a.B)", (AT, "ERROR", "a.B", "said")),
        (f"{AT} host-1 (4) ERROR said (a.B)", (AT, "ERROR", "a.B", "said")),
        # A runtime's date in front of the entry's own.
        (f"2026-03-08T16:42:34Z ERROR [{AT}] said (a.B)", (AT, "ERROR", "a.B", "said")),
        # The level first: with a date behind it, or a logger.
        (f"ERROR {AT} said (a.B)", (AT, "ERROR", "a.B", "said")),
        (f"[ERROR] {AT} said", (AT, "ERROR", "", "said")),
        ("ERROR said (a.B)", ("", "ERROR", "a.B", "said")),
        # A logger without a level.
        (f"{AT} said (a.B)", (AT, "", "a.B", "said")),
    ],
)
def test_the_parts_of_an_entry_wherever_its_pattern_puts_them(line, found):
    assert head_of(line) == Head(*found)


@pytest.mark.parametrize(
    "at",
    [
        "2026-03-08 16:42:33",
        "2026-03-08T16:42:33.730Z",
        "2026-03-08T16:42:33.730+0100",
        "2026-03-08T16:42:33.730+01:00",
        "2026/03/08 16:42:33.730",
        "2026-03-08 16:42:33,730 CEST",
        "08 Mar 2026 16:42:33,730",
        "08/Mar/2026:16:42:33 +0000",
        "08.03.2026 16:42:33,730",
        "Mar 8, 2026 16:42:33",
        "Mar 8, 2026 04:42:33 PM",
        "Sun Mar 08 16:42:33 UTC 2026",
        "20260308-164233.730",
        "1772988153730",
        "1772988153.730",
        "16:42:33.730",
    ],
)
def test_a_date_in_any_order(at):
    found = head_of(f"[{at}] ERROR said (a.B)")
    assert (found.level, found.logger, found.message, found.at) == ("ERROR", "a.B", "said", at)


def test_milliseconds_since_the_start():
    assert head_of("4711 [main] ERROR a.B - said") == Head("4711", "ERROR", "a.B", "said")


@pytest.mark.parametrize(
    "line",
    [
        "",
        "said",
        "java.io.IOException: Map failed",
        "\tat a.B.c(B.java:1)",
        f"{AT} \tat a.B.c(B.java:1)",  # a runtime dates the frames too
        f"{AT}     at a.B.c(B.java:1) ~[kafka.jar:?]",
        f"{AT} said",  # a date alone begins no entry
        "ERROR said",  # and neither does a level alone
        "ERRORS were made (a.B)",
        "12345 said (a.B)",
    ],
)
def test_what_begins_no_entry(line):
    assert head_of(line) is None


@pytest.mark.parametrize(
    ("line", "level", "logger"),
    [
        ('Exception in thread "main" java.lang.OutOfMemoryError', "ERROR", "java"),
        ("Error: Could not find or load main class kafka.Kafka", "ERROR", "java"),
        ("OpenJDK 64-Bit Server VM warning: INFO: os::commit_memory failed", "ERROR", "java"),
        ("# There is insufficient memory for the Java Runtime Environment to continue.", "ERROR", "java"),
        ("Terminating due to java.lang.OutOfMemoryError: Java heap space", "ERROR", "java"),
        ("Invalid maximum heap size: -Xmx999g", "ERROR", "java"),
        ("[0.012s][info][gc] Using G1", "INFO", ""),
        ("SLF4J: Class path contains multiple bindings.", "INFO", ""),
        ("log4j:WARN No appenders could be found", "INFO", ""),
        ("Picked up JAVA_TOOL_OPTIONS: -Xmx1g", "INFO", ""),
        ("Memory cgroup out of memory: Killed process 812 (java)", "ERROR", "host"),
    ],
)
def test_lines_without_a_date_of_the_machine_its_libraries_and_the_host(line, level, logger):
    assert head_of(f"{line}  ") == Head("", level, logger, line)


@pytest.mark.parametrize(
    ("message", "said", "more"),
    [
        ("failed: java.io.IOException: no", "failed", ("java.io.IOException: no",)),
        ("failed: java.io.IOException", "failed", ("java.io.IOException",)),
        ("failed: java.io.IOException occurred", "failed: java.io.IOException occurred", ()),
        ("failed: IOException: no", "failed: IOException: no", ()),
        ("java.io.IOException: no", "java.io.IOException: no", ()),
    ],
)
def test_an_exception_on_the_line_goes_below_it(message, said, more):
    assert head_of(f"[{AT}] ERROR {message} (a.B)") == Head(AT, "ERROR", "a.B", said, more)


def test_an_exception_that_stands_below_already_is_not_told_twice():
    thrown = ("java.io.IOException: no", "Caused by: x")
    assert head(AT, "ERROR", "a.B", "failed: java.io.IOException: no", thrown) == Head(
        AT, "ERROR", "a.B", "failed", thrown
    )
    other = ("java.io.IOException: other",)
    found = head(AT, "ERROR", "a.B", "failed: java.io.IOException: no", other)
    assert found.more == ("java.io.IOException: no", *other)
    assert head(AT, "ERROR", "a.B", "said", other) == Head(AT, "ERROR", "a.B", "said", other)


@pytest.mark.parametrize("between", [" ", " | ", "; ", ";", "\t", "\\n"])
def test_an_entry_on_one_line_has_its_exception_behind_the_logger_without_the_frames(between):
    frames = "\tat a.B.c(B.java:1)\tat d.E.f(E.java:2) ~[kafka.jar:?]"
    thrown = f"java.io.IOException: no{frames} Caused by: x.Y: why\t... 12 more"
    found = head_of(f"[{AT}] ERROR said (a.B){between}{thrown}")
    assert found == Head(AT, "ERROR", "a.B", "said", ("java.io.IOException: no", "Caused by: x.Y: why"))


def test_a_logger_in_the_middle_of_a_long_line_is_a_part_of_the_message():
    message = "x" * 700 + " (a.B) " + "y" * 700
    assert head_of(f"[{AT}] ERROR {message}") == Head(AT, "ERROR", "", message)
    assert head_of(f"[{AT}] ERROR {message} (c.D)").logger == "c.D"
