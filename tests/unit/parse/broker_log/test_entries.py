"""A log comes in any pieces; its entries do not depend on them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.parse.broker_log.entries import ENTRY_LINES, LINE_BYTES, Entries, Entry
from tests.unit.parse.broker_log.layouts import translated
from tests.unit.parse.broker_log.logs import AT, FRAMES, NOISE, START, failure, line, marked

EXCEPTION = "java.io.IOException: No space left on device"
LOG = START + NOISE + failure() + NOISE + marked("töpic-3") + failure("Error while flushing log for t-0 in dir /d1 x")
OBJECTS = translated(LOG, "log4j2's JsonLayout over several lines")


def entries_of(*pieces):
    cut = Entries()
    found = [entry for piece in pieces for entry in cut.feed(piece)]
    return found + list(cut.end())


def test_an_exception_belongs_to_the_line_above_and_its_frames_are_left_out():
    caused = failure(
        exception=f"java.io.IOException: Map failed\n{FRAMES}Caused by: java.lang.OutOfMemoryError: Map failed"
    )
    first, second = entries_of((caused + NOISE).encode())
    assert first.exception.splitlines() == [
        "java.io.IOException: Map failed",
        "Caused by: java.lang.OutOfMemoryError: Map failed",
    ]
    assert first.message == "Error while rolling log segment for t-0 in dir /d1"
    assert first.at == AT
    assert second.more == ()


def test_other_patterns_of_operators_are_read_too():
    for text in (
        "2026-03-01T16:22:07.079Z ERROR Error while x in dir /d1 (kafka.server.LogDirFailureChannel) [scheduler-1]",
        "2026-03-01 16:22:07 ERROR Error while x in dir /d1",
    ):
        (entry,) = entries_of(text.encode())
        assert entry.message == "Error while x in dir /d1"


@given(st.lists(st.integers(0, len(LOG.encode()))))
def test_any_cut_of_the_text_gives_the_same_entries(cuts):
    data = LOG.encode()
    edges = [0, *sorted(cuts), len(data)]
    pieces = [data[start:end] for start, end in pairwise(edges)]
    assert entries_of(*pieces) == entries_of(data)
    assert len(entries_of(data)) == 6


@pytest.mark.parametrize("data", [LOG.encode(), OBJECTS.encode()], ids=["lines", "objects over several lines"])
@given(cuts=st.lists(st.integers(0, len(OBJECTS.encode()))))
def test_what_is_held_back_is_exactly_what_a_restart_must_read_again(data, cuts):
    for cut in (cut % len(data) for cut in cuts):
        before = Entries()
        found = list(before.feed(data[:cut]))
        assert found + entries_of(data[cut - before.held_bytes :]) == entries_of(data)


def test_a_last_line_without_its_end_waits_for_it():
    cut = Entries()
    assert list(cut.feed(f"[{AT}] ERROR Error wh".encode())) == []
    assert list(cut.flush()) == []
    assert list(cut.feed(b"ile x (a.B)\n")) == []
    assert [entry.message for entry in cut.flush()] == ["Error while x"]
    assert cut.held_bytes == 0


def test_lines_before_the_first_entry_belong_to_nothing():
    (entry,) = entries_of(f"rest of a line\n{FRAMES}{EXCEPTION}\n{NOISE}".encode())
    assert entry == Entry(
        AT, "INFO", "state.change.logger", "[Broker id=1] Transitioning 4 partition(s) to local followers."
    )


def test_lines_before_the_first_entry_are_counted_apart_from_those_that_nobody_understands_later():
    cut = Entries()
    list(cut.feed(f"one\ntwo\n{NOISE}".encode() + b"x\n" * (ENTRY_LINES + 3)))
    list(cut.end())
    assert (cut.lines_before_first, cut.not_understood_lines, cut.understood_lines > 0) == (2, 5, True)


def test_endless_lines_and_endless_entries_are_bounded():
    cut = Entries()
    long_line = line("x" * 10 * LINE_BYTES)
    assert list(cut.feed((long_line + "config = value\n" * 10_000).encode())) == []
    assert cut.held_bytes == len(long_line) + 10_000 * len("config = value\n")
    (entry,) = cut.end()
    assert len(entry.message) < LINE_BYTES
    assert len(entry.more) == ENTRY_LINES
    assert cut.not_understood_lines == 10_000 - ENTRY_LINES


def test_zeros_that_a_loss_of_power_left_do_not_hide_the_line_behind_them():
    data = NOISE.encode() + b"\0" * (3 * LINE_BYTES) + failure().encode()
    _, found = entries_of(*(data[start : start + 4_096] for start in range(0, len(data), 4_096)))
    assert found.exception == EXCEPTION
    assert found.level == "ERROR"


@pytest.mark.parametrize(
    "aside",
    [
        "[0.407s][info][gc] GC(3) Pause Young (Normal) 24M->3M(64M) 2.1ms",
        "[2026-03-08T16:42:33.730+0000][gc] GC(3) Pause Young (Normal) 24M->3M(64M) 2.1ms",
        "[2026-03-08T16:42:33.730+0000][812][info ][gc,start     ] GC(3) Pause Young (Normal)",
        "SLF4J: x",
        "Picked up JAVA_TOOL_OPTIONS: z",
    ],
)
def test_a_line_of_the_garbage_collector_within_an_entry_does_not_cut_off_its_exception(aside):
    first, *below = failure().splitlines()
    text = "\n".join([first, aside, *below]) + "\n"
    cut = Entries()
    (entry,) = [*cut.feed(text.encode()), *cut.end()]
    assert entry.exception == EXCEPTION
    assert (cut.understood_lines, cut.not_understood_lines) == (2, 0)


def test_a_warning_of_the_jvm_within_an_entry_stands_alone():
    first, *below = failure().splitlines()
    warning = "OpenJDK 64-Bit Server VM warning: Sharing is only supported for boot loader classes"
    told, entry = entries_of(("\n".join([first, warning, *below]) + "\n").encode())
    assert (told.message, told.exception) == (warning, "")
    assert entry.exception == EXCEPTION


@pytest.mark.parametrize(("one", "other"), [("kafka-1  | ", "kafka-2  | "), ("[pod/k-0/kafka] ", "[pod/k-1/kafka] ")])
def test_an_exception_of_one_container_is_none_of_another_ones_entry(one, other):
    first, thrown, *_ = failure().splitlines()
    lines = [one + first, other + NOISE.strip(), one + thrown, other + "its own line"]
    _, noise = entries_of(("\n".join(lines) + "\n").encode())
    assert noise.exception == "its own line"
