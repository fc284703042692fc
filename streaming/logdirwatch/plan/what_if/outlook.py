"""The fill of each directory and when it is full, before and after the changes."""

from collections import defaultdict
from collections.abc import Sequence

from msgspec import Struct

from logdirwatch.plan.cluster.layout import LogDirId
from logdirwatch.plan.cluster.ramp import Ramp, full_in_ms
from logdirwatch.plan.cluster.snapshot import LogDir
from logdirwatch.plan.what_if.scenario import Scenario, key_of


class Fill(Struct, frozen=True, kw_only=True):
    """One directory at one time; ``full_in_ms`` null: unknown, or never."""

    used_bytes: int | None
    total_bytes: int | None
    used_ratio: float | None
    growth_bytes_per_s: float | None
    full_in_ms: int | None


class DirectoryOutlook(Struct, frozen=True, kw_only=True):
    """One directory; ``before`` is null for a new one, ``after`` for a lost one."""

    broker: int
    log_dir: str
    before: Fill | None
    after: Fill | None


def outlooks(before: Scenario, after: Scenario) -> list[DirectoryOutlook]:
    """Return every directory of both clusters, those that are full first afterwards at the front."""
    then, now = _fills(after), _fills(before)
    places = sorted({*now, *then})
    found = [DirectoryOutlook(broker=p[0], log_dir=p[1], before=now.get(p), after=then.get(p)) for p in places]
    return sorted(found, key=lambda one: (_soonest(one.after), -_ratio(one.after), one.broker, one.log_dir))


def _soonest(fill: Fill | None) -> float:
    return float("inf") if fill is None or fill.full_in_ms is None else fill.full_in_ms


def _ratio(fill: Fill | None) -> float:
    return 0.0 if fill is None or fill.used_ratio is None else fill.used_ratio


def _fills(scenario: Scenario) -> dict[LogDirId, Fill]:
    growth: defaultdict[LogDirId, float] = defaultdict(float, scenario.other_growth)
    ramps: defaultdict[LogDirId, list[Ramp]] = defaultdict(list)
    unknown: set[LogDirId] = {place for place in scenario.snapshot.directories if place not in scenario.other_growth}
    for replica in scenario.snapshot.layout.assigned:
        key = key_of(replica)
        if replica.is_future:
            continue
        if key in scenario.ramps:
            ramps[replica.place].append(scenario.ramps[key])
        if key in scenario.growth:
            growth[replica.place] += scenario.growth[key]
        elif replica.size_bytes:
            unknown.add(replica.place)
    return {
        place: _fill(directory, None if place in unknown else growth[place], ramps[place])
        for place, directory in scenario.snapshot.directories.items()
    }


def _fill(directory: LogDir, growth: float | None, ramps: Sequence[Ramp]) -> Fill:
    used, total = directory.used_bytes, directory.total_bytes
    left = None if directory.usable_bytes is None else directory.usable_bytes - (directory.incoming_bytes or 0)
    return Fill(
        used_bytes=used,
        total_bytes=total,
        used_ratio=None if used is None or not total else used / total,
        growth_bytes_per_s=None if growth is None else growth + sum(ramp.bytes_per_s for ramp in ramps),
        full_in_ms=None if left is None or growth is None else full_in_ms(left, growth, ramps),
    )
