"""The target band of each unit, and the fewest bytes that any plan must copy to reach it."""

from dataclasses import dataclass

import numpy as np

from logdirwatch.plan.balance.model.cluster import Numbers, Ratios


@dataclass(frozen=True, eq=False)
class Band:
    """The range of bytes in which each unit (a directory, or a whole broker) should be; whole numbers as floats."""

    low_bytes: Ratios
    high_bytes: Ratios

    def over_bytes(self, used_bytes: Numbers | Ratios) -> Ratios:
        """Return by unit the bytes above the band."""
        found: Ratios = np.maximum(0.0, used_bytes - self.high_bytes)
        return found

    def under_bytes(self, used_bytes: Numbers | Ratios) -> Ratios:
        """Return by unit the bytes missing below the band."""
        found: Ratios = np.maximum(0.0, self.low_bytes - used_bytes)
        return found

    def of(self, units: list[int]) -> "Band":
        """Return the band of some of the units."""
        return Band(self.low_bytes[units], self.high_bytes[units])


def band(mean_ratio: Ratios | float, capacity_bytes: Numbers, tolerance_ratio: float) -> Band:
    """Return the band around a mean fill ratio, by unit or one for all; the tolerance is a share of the mean."""
    mean_bytes = mean_ratio * capacity_bytes
    return Band(np.ceil(mean_bytes * (1 - tolerance_ratio)), np.floor(mean_bytes * (1 + tolerance_ratio)))


def lower_bound_bytes(used_bytes: Numbers, goal: Band, group: Numbers) -> int:
    """Return the fewest bytes that bring all units into their band if replicas stay in their group of units.

    Bytes above a band must leave, bytes missing below one must come, and one copied byte can do both: so the larger of
    the two sums in each group. ``group`` is by unit.
    """
    over, under = (
        np.bincount(group, amounts) for amounts in (goal.over_bytes(used_bytes), goal.under_bytes(used_bytes))
    )
    return int(np.maximum(over, under).sum())
