import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.text.units import (
    bar,
    human_age,
    human_ago,
    human_bytes,
    human_count,
    human_in,
    human_ms,
    human_parts,
    human_rate,
    human_ratio,
    human_s,
    written_bytes,
    written_ms,
)

DAY_MS = 86_400_000
MIB, GIB = 1 << 20, 1 << 30


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
    [
        (None, "-"),
        (0, "0 s"),
        (0.04, "0 s"),
        (4.24, "4.2 ms"),
        (15, "15 ms"),
        (999.6, "1 s"),
        (1500, "1.5 s"),
        (59_999, "1 min"),
        (90_000, "1 min 30 s"),
        (3_599_999, "1 h"),
        (12_000_000, "3 h 20 min"),
        (DAY_MS, "1 d"),
        (1.5 * DAY_MS, "1 d 12 h"),
        (400 * DAY_MS, "400 d"),
        (-90_000, "-1 min 30 s"),
    ],
)
def test_durations_are_read_in_their_two_largest_units(duration_ms, text):
    assert human_ms(duration_ms) == text


def test_seconds_read_as_milliseconds_do():
    assert human_s(900) == human_ms(900_000) == "15 min"


@given(st.integers(0, 20_000 * DAY_MS))
def test_a_duration_that_was_written_is_read_back_nearly_the_same(duration_ms):
    text = human_ms(duration_ms)
    if duration_ms >= 60_000:
        read_ms = written_ms(text)
        assert read_ms is not None
        assert abs(read_ms - duration_ms) <= (DAY_MS / 2 if duration_ms > 9 * DAY_MS else duration_ms / 48)


@given(st.floats(0, 1e15), st.floats(0, 1e15))
def test_a_longer_duration_never_reads_as_a_shorter_one(one_ms, other_ms):
    shorter, longer = (written_ms(human_ms(max(at, 60_000))) for at in sorted((one_ms, other_ms)))
    assert shorter <= longer


@pytest.mark.parametrize(
    ("left_ms", "text"),
    [
        (None, "at an unknown time"),
        (-1, "now"),
        (0, "now"),
        (1, "in about 1 s"),
        (9_400, "in about 9 s"),
        (12_000_000, "in about 3 h 20 min"),
        (70 * DAY_MS, "in about 2 months"),
        (364 * DAY_MS, "in about 12 months"),
        (37_037 * DAY_MS, "in more than a year"),
        (float("inf"), "in more than a year"),
    ],
)
def test_a_forecast_says_no_more_than_it_knows(left_ms, text):
    assert human_in(left_ms) == text


@given(st.floats(-1e18, 1e18))
def test_no_forecast_is_longer_than_a_few_words(left_ms):
    assert len(human_in(left_ms)) <= len("in about 23 h 59 min")


@given(st.floats(-1e18, 1e18))
def test_bytes_take_at_most_one_decimal_and_the_unit_that_fits(size_bytes):
    found = re.fullmatch(r"-?(\d+)(\.[1-9])? (B|KiB|MiB|GiB|TiB|PiB)", human_bytes(size_bytes))
    assert found
    assert int(found[1]) < 1024 or found[3] == "PiB"


def test_terabytes_are_not_written_in_gibibytes():
    assert human_bytes(14901.2 * (1 << 30)) == "14.6 TiB"


def test_a_rate_is_bytes_per_second():
    assert human_rate(10 << 20) == "10 MiB/s"
    assert human_rate(None) == "-"


def test_counts_part_their_thousands():
    assert human_count(1_234_567) == "1,234,567"


def test_what_was_never_seen_is_never_and_a_clock_behind_is_now():
    assert human_ago(None, 10) == "never"
    assert human_ago(20_000, 10_000) == "0 s ago"
    assert human_ago(5_000, 10_000) == "5 s ago"


def test_only_a_full_disk_reads_100_percent():
    assert human_ratio(0.99999) == "99.9 %"
    assert human_ratio(1.0) == "100.0 %"
    assert human_ratio(None) == "-"
    assert human_ratio(0.999, 0) == "99 %"
    assert human_ratio(0.29) == "29.0 %"


@given(st.floats(0, 1, exclude_max=True), st.integers(0, 2))
def test_a_share_below_the_whole_never_reads_100_percent(ratio, decimals):
    text = human_ratio(ratio, decimals)
    read = float(text.removesuffix(" %")) / 100
    assert text != human_ratio(1.0, decimals)
    assert 0 <= ratio - read + 1e-8 <= 10.0 ** -(decimals + 2) + 2e-8


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


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("8TB", 8 * 10**12),
        ("1.5 TiB", 3 * 2**39),
        ("500GB", 5 * 10**11),
        ("1kB", 1000),
        ("1KiB", 1024),
        ("2PB", 2 * 10**15),
        ("8", None),
        ("8T", None),
        ("-8TB", None),
        ("8XB", None),
        ("1e9TB", None),
        ("", None),
    ],
)
def test_sizes_are_read_as_disks_are_sold_and_as_tools_print_them(text, size_bytes):
    assert written_bytes(text) == size_bytes


@pytest.mark.parametrize(("age_ms", "text"), [(None, "-"), (400, "0 s"), (5_700, "6 s"), (59_600, "1 min")])
def test_ages_are_to_the_second(age_ms, text):
    assert human_age(age_ms) == text


@pytest.mark.parametrize(
    ("part", "whole", "texts"),
    [
        (1, 2, ("1 B", "2 B")),
        (1024, 1025, ("1024 B", "1025 B")),
        (1024, 1024, ("1 KiB", "1 KiB")),
        (0, 0, ("0 B", "0 B")),
        (0, 1 << 40, ("0 B", "1 TiB")),
        (214 * GIB, 829 * GIB, ("214 GiB", "829 GiB")),
        (1065 * GIB, 1066 * GIB, ("1065 GiB", "1066 GiB")),
        (1065 * GIB, 1092 * GIB, ("1 TiB", "1.1 TiB")),
        ((1 << 40) - 1, 1 << 40, ("1099511627775 B", "1099511627776 B")),
        ((1 << 40) + MIB, 1 << 40, ("1048577 MiB", "1048576 MiB")),
        (10 * GIB, 10 * GIB + MIB, ("10240 MiB", "10241 MiB")),
    ],
)
def test_a_part_and_its_whole_are_told_apart_unless_they_are_equal(part, whole, texts):
    assert human_parts(part, whole) == texts
