import pytest

from logdirwatch.text.units import bar, human_ago, human_bytes, human_ms, human_ratio, written_ms


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (None, "-"),
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (1024**3 - 1, "1 GiB"),
        (400 << 30, "400 GiB"),
        (-2048, "-2 KiB"),
        (1 << 62, "4096 PiB"),
    ],
)
def test_bytes_are_read_in_binary_units(size_bytes, text):
    assert human_bytes(size_bytes) == text


@pytest.mark.parametrize(
    ("duration_ms", "text"),
    [(None, "-"), (0, "0 s"), (15, "15 ms"), (1500, "1.5 s"), (90_000, "1.5 min"), (86_400_000, "1 d")],
)
def test_durations_are_read_in_the_largest_unit_they_fill(duration_ms, text):
    assert human_ms(duration_ms) == text


def test_what_was_never_seen_is_never_and_a_clock_behind_is_now():
    assert human_ago(None, 10) == "never"
    assert human_ago(20_000, 10_000) == "0 s ago"
    assert human_ago(5_000, 10_000) == "5 s ago"


def test_only_a_full_disk_reads_100_percent():
    assert human_ratio(0.99999) == "99.9 %"
    assert human_ratio(1.0) == "100.0 %"
    assert human_ratio(None) == "-"


def test_a_bar_shows_the_ratio_and_question_marks_when_nobody_knows():
    assert bar(0.5) == "█████░░░░░"
    assert bar(1.2) == "██████████"
    assert bar(None) == "??????????"


@pytest.mark.parametrize(
    ("text", "duration_ms"),
    [
        ("2h", 7_200_000),
        ("90m", 5_400_000),
        ("90min", 5_400_000),
        ("1d 12h", 129_600_000),
        ("1h30m", 5_400_000),
        ("45 s", 45_000),
        ("0h", 0),
        *((wrong, None) for wrong in ("", "soon", "2", "2h later", "-2h")),
    ],
)
def test_a_duration_is_read_as_people_write_it(text, duration_ms):
    assert written_ms(text) == duration_ms
