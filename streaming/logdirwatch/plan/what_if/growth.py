"""``growth=1.5x``: writes grow faster, or slower, everywhere.

What is written more to a topic that deletes by age stays for its retention: it grows for that long, and then as much
more is deleted as is written. What shrinks for another reason does not shrink faster by it.
"""

from dataclasses import dataclass, replace

from logdirwatch.plan.cluster.layout import Replica
from logdirwatch.plan.cluster.ramp import Ramp
from logdirwatch.plan.proposal import Policy
from logdirwatch.plan.retention.limits import kept_ms
from logdirwatch.plan.what_if.scenario import Key, Scenario, key_of, refused

EXAMPLE = "growth=1.5x"
MOST_TIMES = 1_000.0


@dataclass(frozen=True)
class Growth:
    """Every topic is written ``times`` as fast."""

    written: str
    times: float

    def apply(self, scenario: Scenario, policy: Policy) -> Scenario:
        """Return the cluster with that growth."""
        del policy
        ramps = {key: Ramp(self.times * ramp.bytes_per_s, ramp.until_ms) for key, ramp in scenario.ramps.items()}
        more = {
            key_of(replica): ramp
            for replica in scenario.snapshot.layout.assigned
            if (ramp := self._more(replica, scenario)) is not None
        }
        return replace(
            scenario,
            growth={key: rate if key in more else self._net(rate) for key, rate in scenario.growth.items()},
            other_growth={place: self._net(rate) for place, rate in scenario.other_growth.items()},
            ramps=more | ramps,
        )

    def _net(self, rate: float) -> float:
        return self.times * max(0.0, rate) + min(0.0, rate)

    def _more(self, replica: Replica, scenario: Scenario) -> Ramp | None:
        """Return what a replica whose retention deletes as much as is written gets more, and until when."""
        key: Key = key_of(replica)
        topic, size, net = scenario.snapshot.topics.get(replica.topic), replica.size_bytes, scenario.growth.get(key)
        keeps_ms = None if topic is None else kept_ms(topic)
        if not size or net is None or not keeps_ms or replica.is_future or net * keeps_ms > 1000 * size:
            return None
        return Ramp((self.times - 1) * 1000 * size / keeps_ms, keeps_ms)


def parse(value: str, written: str) -> Growth:
    """Read ``1.5x`` or ``1.5``."""
    try:
        times = float(value.removesuffix("x"))
    except ValueError:
        times = -1.0
    if not 0 <= times <= MOST_TIMES:
        raise refused(written, f"{value!r} is not how many times as fast, from 0 to {MOST_TIMES:.0f}; write {EXAMPLE}")
    return Growth(written, times)
