"""The log directories of a broker that are cordoned, or will be once open actions are carried out (KIP-1066)."""

import re

from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir, parted

KEY = "cordoned.log.dirs"
ALL = "*"


def cordoned(broker: int, snapshot: ClusterSnapshot) -> list[str]:
    """Return the cordoned directories of a broker, as its configuration spells them.

    What a directory reports itself is newer than the configuration, which only an inventory reads.
    """
    configured = snapshot.configs_of(broker).get(KEY) or ""
    reported = {directory.path: directory.is_cordoned for directory in snapshot.directories_of.get(broker, ())}
    listed = [] if configured.strip() == ALL else parted(configured)
    kept = [path for path in listed if reported.get(path) is not False]
    return [*kept, *(path for path, is_cordoned in reported.items() if is_cordoned and path not in kept)]


def others_cordoned(directory: LogDir, snapshot: ClusterSnapshot) -> list[str]:
    """Return the broker's other directories that are cordoned once all open actions are carried out."""
    wanted = {
        path: is_cordoned for (broker, path), is_cordoned in snapshot.cordoning.items() if broker == directory.broker
    }
    now = [path for path in cordoned(directory.broker, snapshot) if wanted.get(path, True)]
    more = [path for path, is_cordoned in sorted(wanted.items()) if is_cordoned and path not in now]
    return [path for path in [*now, *more] if path != directory.path]


def does_more(directory: LogDir, snapshot: ClusterSnapshot) -> str:
    """Say that the command also applies what other open actions need in the same list."""
    others = sorted(
        path for broker, path in snapshot.cordoning if broker == directory.broker and path != directory.path
    )
    if not others:
        return ""
    return f"; the command sets the broker's whole list, so it includes {', '.join(others)} for other actions"


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
