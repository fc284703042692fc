"""The time that a record counts for."""


def effective_ms(timestamp_ms: int, kafka_timestamp_ms: int, skew_ms: int) -> tuple[int, bool]:
    """Return the time a record counts for, and whether its own clock was too far ahead to be believed.

    Where Kafka has no time of it (-1), there is nothing to tell that by.
    """
    if 0 <= kafka_timestamp_ms < timestamp_ms - skew_ms:
        return kafka_timestamp_ms, True
    return timestamp_ms, False
