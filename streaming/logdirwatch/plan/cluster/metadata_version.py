"""``metadata.version`` levels: the finalized one decides which features a cluster's brokers accept."""

import re

CORDON = "4.3-IV0"
"""KIP-1066: before it, setting ``cordoned.log.dirs`` is refused, and one in server.properties has no effect."""

KEEPS_CLEANING = "4.2-IV0"
"""KAFKA-19458: before it, a cancelled copy between directories ends retention and compaction of its partition."""

_NAME = re.compile(r"(\d+)\.(\d+)-IV(\d+)")
_LEVEL = re.compile(r"level (\d+)")
_NEWEST_NAMED_LEVEL = 30
"""The collector writes the name of every level up to this one (Kafka 4.3 ``MetadataVersion``), ``level N`` above."""


def at_least(version: str | None, wanted: str) -> bool | None:
    """Return whether a finalized version is ``wanted`` or later; None if unknown."""
    if version is None:
        return None
    level = _LEVEL.fullmatch(version)
    if level is not None:
        return int(level[1]) > _NEWEST_NAMED_LEVEL or None
    found, least = _NAME.fullmatch(version), _NAME.fullmatch(wanted)
    if found is None or least is None:
        return None
    return tuple(map(int, found.groups())) >= tuple(map(int, least.groups()))
