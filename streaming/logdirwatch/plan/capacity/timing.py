"""How long until a log directory is full, and how long Kafka takes: deletion delay, copies at once."""

from collections import defaultdict
from dataclasses import replace
from typing import Any

from logdirwatch.config.section import HOUR_MS
from logdirwatch.model.times import WEEK_HOURS
from logdirwatch.model.vocabulary import COPY_THREADS
from logdirwatch.plan.cluster.layout import MOST_MS, Ramp, full_in_ms, grown_bytes
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.proposal import Policy, Precondition
from logdirwatch.text.units import human_in, human_ms, human_ratio

REACTION_MS = 600_000
"""What a person needs to read an action, to decide, and to carry it out."""
FORESEEN_MS = WEEK_HOURS * HOUR_MS
"""How far the outlook of ``detect`` sees."""
DELETE_DELAY_MS = 60_000
"""Kafka's default of ``log.segment.delete.delay.ms`` (``ServerLogConfigs``), used if the value is unknown."""


def place_target(directory: LogDir) -> dict[str, Any]:
    """Return the target of an action on one directory."""
    return {"broker": directory.broker, "log_dir": directory.path}


def time_to_full_ms(directory: LogDir, freed_bytes: int = 0) -> int | None:
    """Return the time until the directory is full by its outlook, once ``freed_bytes`` are free; None: no end in sight.

    It includes what running steps free before then, and what running copies still add.
    """
    growth = directory.outlook_bytes_per_s
    if growth is None or growth <= 0 or directory.usable_bytes is None:
        return None
    left_bytes: float = directory.usable_bytes
    if directory.lasting_growth_bytes_per_s is not None:
        if directory.full_at_ms is None or directory.sample_at_ms is None:
            return None
        # The pattern of days and weeks is in the time that is forecast.
        left_bytes = (directory.full_at_ms - directory.sample_at_ms) * growth / 1000
    left_bytes += directory.relief_bytes + freed_bytes - (directory.incoming_bytes or 0)
    return full_in_ms(left_bytes, directory.endless_bytes_per_s, directory.ramps)


def with_growth(directory: LogDir, growth_bytes_per_s: float) -> LogDir:
    """Return a directory with another growth; the pattern of days and weeks in its forecast stays."""
    before = directory.outlook_bytes_per_s or 0.0
    if directory.lasting_growth_bytes_per_s is None:
        return replace(directory, growth_bytes_per_s=growth_bytes_per_s)
    full_at_ms, at_ms, left_bytes = None, directory.sample_at_ms, float(directory.usable_bytes or 0)
    if at_ms is not None and growth_bytes_per_s > 0:
        if directory.full_at_ms is not None:
            left_bytes = (directory.full_at_ms - at_ms) * before / 1000
        full_at_ms = at_ms + int(left_bytes * 1000 / growth_bytes_per_s)
    return replace(directory, lasting_growth_bytes_per_s=growth_bytes_per_s, full_at_ms=full_at_ms)


def growth_until_full(directory: LogDir) -> float:
    """Return the mean growth until a directory is full, 0 if that is not known."""
    left_ms = time_to_full_ms(directory)
    return (directory.outlook_bytes_per_s or 0.0) - sum(_ended(ramp, left_ms) for ramp in directory.ramps)


def deleted_until_full(directory: LogDir) -> dict[str, float]:
    """Return by topic how much less of what is written stays until a directory is full, in bytes per second."""
    left_ms, found = time_to_full_ms(directory), defaultdict[str, float](float)
    for ramp in (one for one in directory.ramps if one.topic):
        found[ramp.topic] += ramp.deleted_bytes_per_s + _ended(ramp, left_ms)
    return found


def _ended(ramp: Ramp, left_ms: int | None) -> float:
    return ramp.bytes_per_s * (1 - min(1.0, ramp.until_ms / left_ms)) if left_ms else 0.0


def is_full_within_the_hour(directory: LogDir) -> bool:
    """Tell whether a directory is known to be full so soon that there is no time for checks first."""
    left_ms = time_to_full_ms(directory)
    return left_ms is not None and left_ms <= HOUR_MS


def stays_below_limit(directory: LogDir, policy: Policy) -> bool:
    """Tell whether a directory is known to stay below what plans fill others to for a week, by its outlook.

    What running steps free there in time counts. False while it was not watched for long enough.
    """
    used, total = directory.used_bytes, directory.total_bytes
    if used is None or not total or directory.lasting_growth_bytes_per_s is None:
        return False
    coming = _foreseen_bytes(directory) + (directory.incoming_bytes or 0) - directory.relief_bytes
    return used + coming < policy.limits.destination_max_ratio * total


def outlasts_new_room(directory: LogDir, policy: Policy) -> bool:
    """Tell whether a directory lasts longer than it takes to add room: days, or, by its outlook, without an end."""
    left_ms = time_to_full_ms(directory)
    if left_ms is None:
        return directory.lasting_growth_bytes_per_s is not None
    return left_ms > policy.limits.fleet_cuts_last_ms


def _foreseen_bytes(directory: LogDir) -> float:
    """Return what a week adds; where the forecast has an end, at the pace at which it uses up what is free."""
    grown = grown_bytes(directory.endless_bytes_per_s, directory.ramps, FORESEEN_MS)
    if directory.full_at_ms is None or directory.sample_at_ms is None or not grown:
        return grown
    left_ms = max(1, directory.full_at_ms - directory.sample_at_ms)
    return grown * (directory.usable_bytes or 0) * 1000 / (left_ms * (directory.outlook_bytes_per_s or 1.0))


def end_in_words(directory: LogDir) -> str:
    """Say when a directory is full, or why it is not going to be."""
    left_ms, path = time_to_full_ms(directory), directory.path
    if left_ms is None and directory.ramps:
        ends_ms, topic = max((ramp.until_ms, ramp.topic) for ramp in directory.ramps)
        more = grown_bytes(0.0, directory.ramps, ends_ms)
        why = "when retention begins to delete" if topic else "when its replicas have caught up"
        level = human_ratio(((directory.used_bytes or 0) + more) / (directory.total_bytes or 1))
        return f"{path} stops growing {human_in(ends_ms)}, at {level} or less, {why}"
    if left_ms is None and directory.lasting_growth_bytes_per_s is not None:
        return f"{path} is not going to be full within a week"
    return f"{path} is full {human_in(left_ms)}"


def delete_delay_ms(broker: int, snapshot: ClusterSnapshot) -> int:
    """Return how long a broker keeps deleted files (``file.delete.delay.ms``)."""
    found = snapshot.configs_of(broker).get("log.segment.delete.delay.ms")
    return DELETE_DELAY_MS if found is None else int(found)


def copies_at_once(broker: int, snapshot: ClusterSnapshot) -> int:
    """Return how many copies between its directories a broker runs at once; Kafka's default is one per directory."""
    configured = snapshot.configs_of(broker).get(COPY_THREADS)
    if configured is not None and configured.isdigit():
        return max(1, int(configured))
    return max(1, len(snapshot.directories_of.get(broker, ())))


def in_time(source: LogDir, needs_ms: int, takes: str = "takes effect in") -> Precondition:
    """Return the precondition that the action takes effect before the directory is full.

    Unknown if that depends on how soon a person carries it out.
    """
    duration = "more than a hundred years" if needs_ms >= MOST_MS else human_ms(needs_ms)
    left, text = time_to_full_ms(source), f"{takes} {duration}; {end_in_words(source)}"
    if left is None or left <= needs_ms:
        return Precondition("in_time", text, None if left is None else False)
    if left <= needs_ms + REACTION_MS:
        return Precondition("in_time", f"{text}: only if it begins within {human_ms(left - needs_ms)}", None)
    return Precondition("in_time", text, holds=True)


def room_in_time(directory: LogDir, takes_ms: int | None, what: str) -> tuple[Precondition, ...]:
    """Return whether more room comes in time; unknown unless the time that it takes is configured."""
    left = time_to_full_ms(directory)
    if takes_ms is None:
        if left is None and not directory.ramps:
            return ()
        text = f"{end_in_words(directory)}; how long {what} takes is not configured"
        return (Precondition("in_time", text, None),)
    return (in_time(directory, takes_ms, f"{what} takes"),)
