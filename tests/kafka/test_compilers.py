"""How much arrives is read from the telemetry topic, and decides which of Java's compilers a stream starts with."""

from logdirwatch.jobs.compilers import FIRST_COMPILER_ONLY, WINDOW_MS, arriving_per_s, java_options
from logdirwatch.kafka.clients import read_all, write
from logdirwatch.model import topics
from tests.kafka.telemetry import fresh_topics


def test_records_of_the_last_minutes_count_and_older_ones_do_not(watched):
    fresh_topics(watched)
    assert arriving_per_s(watched.telemetry, WINDOW_MS) == 0
    write(watched.telemetry, topics.METRICS, [(f"prod/{number}", b"{}") for number in range(300)])
    newest_ms = max(record.timestamp for record in read_all(watched.telemetry, topics.METRICS))
    assert arriving_per_s(watched.telemetry, newest_ms) == 300 / (WINDOW_MS / 1000)
    assert arriving_per_s(watched.telemetry, newest_ms + WINDOW_MS + 1) == 0


def test_only_a_large_fleet_takes_both_compilers():
    assert java_options(29.9) == FIRST_COMPILER_ONLY
    assert java_options(30.0) == ""
