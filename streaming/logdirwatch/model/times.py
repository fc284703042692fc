"""The time that a record counts for."""


def effective_ms(timestamp_ms: int, kafka_timestamp_ms: int, skew_ms: int) -> tuple[int, bool]:
    """Return the effective time of a record, and whether its own clock was too far ahead.

    Without Kafka's time (-1) that cannot be judged.
    """
    if 0 <= kafka_timestamp_ms < timestamp_ms - skew_ms:
        return kafka_timestamp_ms, True
    return timestamp_ms, False
