"""How much arrives is read from the telemetry topic, and decides whether a stream starts as that of a small fleet."""

from logdirwatch.jobs.small_fleet import WINDOW_MS, arriving_per_s, is_small
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


def test_only_a_large_fleet_takes_all():
    assert is_small(29.9)
    assert not is_small(30.0)
