"""Validation of configuration values from the inventory: anyone who may write to its topic may write anything.

A value that should be a number and is not counts as unknown, like a missing key: one odd record must not stop the
advice for all clusters.
"""

import re
from collections.abc import Mapping

from logdirwatch.model.vocabulary import COPY_THREADS, LOG_DIR_THROTTLE, REPLICATION_THROTTLES

NUMBERS = frozenset(
    {
        "retention.ms",
        "retention.bytes",
        "local.retention.ms",
        "local.retention.bytes",
        "remote.copy.lag.ms",
        "remote.copy.lag.bytes",
        "segment.bytes",
        "min.insync.replicas",
        "file.delete.delay.ms",
        "log.segment.delete.delay.ms",
        "log.retention.check.interval.ms",
        COPY_THREADS,
        LOG_DIR_THROTTLE,
        *REPLICATION_THROTTLES,
    }
)
"""The keys that the planner reads as numbers."""
_NUMBER = re.compile(r"-?[0-9]{1,19}")


def known(configs: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return the values that are valid for their key."""
    return {key: value for key, value in configs.items() if key not in NUMBERS or value is None or is_number(value)}


def is_number(text: str) -> bool:
    """Tell whether a text is a number in ASCII digits that Kafka itself could hold."""
    return _NUMBER.fullmatch(text) is not None
