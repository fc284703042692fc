"""The age of the data behind a status, in words: what is too old or missing stands out. Pure."""

from collections.abc import Iterator
from typing import NamedTuple

from logdirwatch.report.status.cluster import ClusterStatus, Heartbeat
from logdirwatch.text.units import human_ago, human_ms


class Line(NamedTuple):
    """One line; a loud one means that what follows cannot be relied on."""

    text: str
    is_loud: bool = False


def lines(status: ClusterStatus, now_ms: int) -> Iterator[Line]:
    """Yield the age of the data, the inventory, the heartbeats and the fast lane's last canary."""
    yield _data(status, now_ms)
    yield from _inventory(status, now_ms)
    yield heartbeats(status.heartbeats, now_ms)
    yield from _fast_lane(status, now_ms)


def loud(status: ClusterStatus, now_ms: int) -> list[str]:
    """Return the loud lines only."""
    return [line.text for line in lines(status, now_ms) if line.is_loud]


def _data(status: ClusterStatus, now_ms: int) -> Line:
    if status.data_age_ms is None and status.data_at_ms is not None:
        late = human_ms(status.data_at_ms - now_ms)
        return Line(f"THE AGE OF THE DATA IS UNKNOWN: the clock here is {late} behind it. Synchronize the clocks", True)
    age = "never written" if status.data_age_ms is None else f"{human_ms(status.data_age_ms)} old"
    if status.is_stale:
        return Line(f"THE DATA IS STALE: {age}. What follows is the past. Is logdirwatch stream running?", True)
    return Line(f"data       {age}")


def _inventory(status: ClusterStatus, now_ms: int) -> Iterator[Line]:
    if status.inventory_age_ms is None and status.inventory_at_ms is not None:
        late = human_ms(status.inventory_at_ms - now_ms)
        yield Line(f"THE AGE OF THE INVENTORY IS UNKNOWN: the clock here is {late} behind it", True)
        return
    if status.inventory_age_ms is None:
        yield Line("inventory  none stored yet: replicas and partitions are unknown")
        return
    age = f"{human_ms(status.inventory_age_ms)} old"
    if status.is_inventory_stale:
        yield Line(f"THE INVENTORY IS STALE: {age}. Replicas and partitions are from then.", True)
    else:
        yield Line(f"inventory  {age}")


def heartbeats(found: list[Heartbeat] | None, now_ms: int) -> Line:
    """Return the ages of a cluster's heartbeats."""
    if found is None:
        return Line("NO HEARTBEAT CAN BE READ: the telemetry cluster does not answer", True)
    if not found:
        return Line("NO HEARTBEAT YET: are logdirwatch collect and stream running?", True)
    ages = ", ".join(f"{_heard(beat, now_ms)} ({beat.collector})" for beat in found)
    if not found[0].is_stale:
        return Line(f"heartbeat  {ages}")
    if found[-1].age_ms is None:
        return Line(f"THE AGE OF THE HEARTBEAT IS UNKNOWN: {ages}. Synchronize the clocks", True)
    return Line(f"THE HEARTBEAT STOPPED: {ages}. Are logdirwatch collect and stream running?", True)


def _heard(beat: Heartbeat, now_ms: int) -> str:
    if beat.age_ms is None:
        return f"from a clock {human_ms(beat.at_ms - now_ms)} ahead"
    return f"{human_ms(beat.age_ms)} ago"


def _fast_lane(status: ClusterStatus, now_ms: int) -> Iterator[Line]:
    proof = human_ago(status.fast_lane_proof_ms, now_ms)
    if status.is_fast_lane_stale:
        yield Line(f"THE FAST LANE IS NOT PROVEN, last canary: {proof}. Is logdirwatch stream running fast_lane?", True)
    elif status.fast_lane_proof_ms is not None:
        yield Line(f"fast lane  proven {proof}")
