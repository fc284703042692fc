"""The effective time of a record, and the times at which periodic work begins."""

LEAD_MS = 2_000
"""How long before the multiples of an interval periodic work begins."""


def until_round_ms(now_ms: int, interval_ms: int) -> int:
    """Return how long after ``now_ms`` (UTC) work that is done every ``interval_ms`` begins next: at least 1 ms.

    The rounds of all processes begin at the same moments. What they write arrives together, so the stream runs one
    batch for it instead of several. The moments are shortly before the multiples of the interval, at which Spark
    triggers ``fleet`` and ``store``: these read what ``detect`` wrote about the same round.
    """
    return interval_ms - (now_ms + LEAD_MS) % interval_ms


def effective_ms(timestamp_ms: int, kafka_timestamp_ms: int, skew_ms: int) -> tuple[int, bool]:
    """Return the effective time of a record, and whether its own clock was too far ahead.

    Without Kafka's time (-1) that cannot be judged.
    """
    if 0 <= kafka_timestamp_ms < timestamp_ms - skew_ms:
        return kafka_timestamp_ms, True
    return timestamp_ms, False
