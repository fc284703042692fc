"""``growth=1.5x``: writes grow faster, or slower, everywhere."""

from dataclasses import dataclass, replace

from logdirwatch.plan.proposal import Policy
from logdirwatch.plan.what_if.scenario import Scenario, refused

EXAMPLE = "growth=1.5x"
MOST_TIMES = 1_000.0


@dataclass(frozen=True)
class Growth:
    """Every directory grows ``times`` as fast."""

    written: str
    times: float

    def apply(self, scenario: Scenario, policy: Policy) -> Scenario:
        """Return the cluster with that growth."""
        del policy
        return replace(
            scenario,
            growth={key: self.times * rate for key, rate in scenario.growth.items()},
            other_growth={place: self.times * rate for place, rate in scenario.other_growth.items()},
        )


def parse(value: str, written: str) -> Growth:
    """Read ``1.5x`` or ``1.5``."""
    try:
        times = float(value.removesuffix("x"))
    except ValueError:
        times = -1.0
    if not 0 <= times <= MOST_TIMES:
        raise refused(written, f"{value!r} is not how many times as fast, from 0 to {MOST_TIMES:.0f}; write {EXAMPLE}")
    return Growth(written, times)
